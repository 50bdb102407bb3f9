"""How episodes go: lengths, tools and what follows on them, coherence, loops, exploration."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.episodes.behaviour import BAD_CALL, call_metrics
from pixelis.rewards.terms.coherence import CoherenceTerm, coherence
from pixelis.rewards.terms.traits import RewardTraits

_MOST_ACTIONS = 2_000  # of an episode, in the search for loops
_PERCENTILES = (10, 50, 90)


def behaviour_of(episodes: Sequence[StoredEpisode], traits: RewardTraits | None) -> dict[str, Any]:
    """Return what the episodes of a subject did, as JSON-able values; None where there is nothing to say.

    Args:
        episodes: at least one.
        traits: what the env says of its tools; without it there is no coherence.
    """
    calls = [episode.calls for episode in episodes]
    tools = Counter(_tool(call) for each in calls for call in each)
    pairs = Counter((_tool(a), _tool(b)) for each in calls for a, b in pairwise(each))
    failed = Counter(_tool(call) for each in calls for call in each if call.get("ok") is False)
    codes = Counter(str(call.get("error_code")) for each in calls for call in each if call.get("error_code"))
    loops = [loop_of(actions_of(episode)) for episode in episodes]
    return {
        "turns": spread([episode.turn_count for episode in episodes]),
        "tokens": spread([tokens for each in episodes if (tokens := tokens_of(each)) is not None]),
        "calls": spread([len(each) for each in calls]),
        "tools": {name: {"calls": count, "failed": failed[name]} for name, count in tools.most_common()},
        "bigrams": {f"{a} → {b}": count for (a, b), count in pairs.most_common()},
        "error_codes": dict(codes.most_common()),
        "coherence": None if traits is None or traits.tools == {} else _coherence(calls, traits),
        "rapr": _rapr(call_metrics(calls, [episode.visual_tools for episode in episodes])),
        "exploration_efficiency": call_metrics(calls, [None] * len(calls))["exploration/efficiency"],
        "loops": {
            "episodes": sum(loop is not None for loop in loops) / len(loops),
            "by_length": {
                str(length): count
                for length, count in sorted(Counter(len(loop[0]) for loop in loops if loop).items())
            },
            "patterns": _patterns(loops),
        },
        "truncated": sum(episode.truncated for episode in episodes) / len(episodes),
    }


def actions_of(episode: StoredEpisode) -> list[str]:
    """Return what was done, in order: each call with its arguments, or each turn where there were none."""
    if episode.calls or episode.turns is None:
        return [
            f"{_tool(call)}{json.dumps(call.get('arguments'), sort_keys=True, default=str)}"
            for call in episode.calls
        ]
    return [turn.action for turn in episode.turns]


def loop_of(actions: Sequence[str]) -> tuple[tuple[str, ...], int] | None:
    """Return a pattern that comes several times in a row, and how often; None where there is none.

    Of all patterns of length 1 and more (AA, ABAB, ABCABC) the one that covers most actions, of these the
    shortest.
    """
    actions = actions[:_MOST_ACTIONS]
    best: tuple[int, int, int] | None = None  # actions covered, minus the length, where it begins
    for length in range(1, len(actions) // 2 + 1):
        run = 0
        for place in range(length, len(actions)):
            run = run + 1 if actions[place] == actions[place - length] else 0
            times = run // length + 1
            if times > 1:
                found = (times * length, -length, place - run - length + 1)
                best = max(best, found) if best is not None else found
    if best is None:
        return None
    covered, negative, start = best
    return tuple(actions[start : start - negative]), covered // -negative


def spread(values: Sequence[float]) -> dict[str, float] | None:
    """Return mean, least, greatest and percentiles (linear interpolation); None without values."""
    if not values:
        return None
    found = {"mean": float(np.mean(values)), "min": float(min(values)), "max": float(max(values))}
    return found | {f"p{percent}": float(np.percentile(values, percent)) for percent in _PERCENTILES}


def tokens_of(episode: StoredEpisode) -> int | None:
    """Return how many tokens the model wrote, None where that was not kept."""
    counts = [turn.tokens for turn in episode.turns or ()]
    return sum(count for count in counts if count) if counts and None not in counts else None


def coherence_of(episode: StoredEpisode, traits: RewardTraits) -> float:
    """Return the coherence of an episode's calls in [-1, 1], by what the env says of its tools."""
    return _coherence_with(traits)(episode.calls)


# ---------------------------------------------------------------------- private


def _tool(call: Mapping[str, Any]) -> str:
    return str(call.get("tool") or BAD_CALL)


def _coherence_with(traits: RewardTraits) -> Any:
    term = CoherenceTerm()
    term.adapt(traits)
    return lambda calls: coherence(calls, settings=term.settings)


def _coherence(calls: Sequence[Sequence[Mapping[str, Any]]], traits: RewardTraits) -> dict[str, float] | None:
    """Return the spread over the episodes with two calls and more, which alone can be coherent."""
    score = _coherence_with(traits)
    return spread([score(each) for each in calls if len(each) > 1])


def _rapr(row: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the share of episodes with a visual call, and of calls that are visual."""
    if row["visual/episodes"] is None:
        return None
    return {"episodes": row["visual/episodes"], "calls": row["visual/calls"]}


def _patterns(loops: Sequence[tuple[tuple[str, ...], int] | None]) -> list[dict[str, Any]]:
    counts = Counter(loop[0] for loop in loops if loop)
    return [
        {"pattern": [action[:200] for action in pattern], "episodes": count}
        for pattern, count in counts.most_common(5)
    ]
