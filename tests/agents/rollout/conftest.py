"""What tests of samplers share: engines of vLLM servers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pixelis.agents.rollout.vllm.engine import VllmEngine
from pixelis.agents.settings.sampler import Vllm


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Callable[..., VllmEngine]]:
    """Return a maker of engines, which are closed at the end."""
    with contextlib.ExitStack() as opened:

        def make(*urls: str, **settings) -> VllmEngine:
            made = VllmEngine(Vllm(urls=list(urls), **settings), tmp_path / "vllm.log")
            opened.callback(made.close)
            return made

        yield make
