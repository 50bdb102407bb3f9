"""Trusted solution texts as functions of this process. What a policy writes belongs in the sandbox."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any


def trusted_function(source: str, entry: str, rule: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return the function that a source text defines, with a rule's values as its globals.

    The text is a family's own. Arguments are copied, so a function that changes them changes no test case.
    """
    namespace: dict[str, Any] = {"__name__": "solution", **copy.deepcopy(dict(rule or {}))}
    exec(_compiled(source), namespace)
    function = namespace[entry]
    return lambda *args, **kwargs: function(*copy.deepcopy(args), **copy.deepcopy(kwargs))


@lru_cache(maxsize=512)
def _compiled(source: str) -> CodeType:
    return compile(source, "<solution>", "exec")
