"""Trying a policy's model out, to see what it can do, without a trace of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixelis.agents.models.policy import Policy


@contextlib.contextmanager
def trial(policy: Policy) -> Iterator[None]:
    """Inside the block a model has no dropout, and what it reads is no work of the policy's.

    Dropout would make two ways to the same numbers differ, and draw from the generators: a resumed run tries
    at another step than the run it goes on with.
    """
    training, read = policy.model.training, policy.tokens_read
    policy.model.eval()
    try:
        yield
    finally:
        policy.model.train(training)
        policy.tokens_read = read
