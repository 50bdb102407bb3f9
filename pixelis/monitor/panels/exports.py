"""What the page gives away as files: rows without what JSON cannot say, and the turns of an episode."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.agents.episode_files.stored import StoredEpisode, StoredToken

_DEEPEST = 50
"""Lists inside lists that are given away; a stranger's call could have any number."""


def json_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as JSON; a number that is not finite is ``null``."""
    return json.dumps(_finite(rows), indent=1, default=str, allow_nan=False)


def exchanges_of(episode: StoredEpisode) -> list[dict[str, Any]] | None:
    """Return an episode's turns as plain data, None where its file holds it as one text."""
    if episode.turns is None:
        return None
    return [
        {
            "action": turn.action,
            "heard": turn.heard,
            "tool_calls": list(turn.calls),
            "reward": turn.reward,
            "terms": dict(turn.terms),
            "sampled": [_token(token) for token in turn.sampled],
        }
        for turn in episode.turns
    ]


def _token(token: StoredToken) -> dict[str, Any]:
    probability = None if token.logprob is None else math.exp(min(token.logprob, 0.0))
    return {"token": token.text, "probability": probability, "entropy": token.entropy}


def _finite(value: Any, depth: int = 0) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {str(name): _finite(each, depth + 1) for name, each in value.items()}
    return [_finite(each, depth + 1) for each in value]
