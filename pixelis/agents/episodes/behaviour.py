"""What a step's episodes did: which actions, how often it looked, how often it went in circles."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.envs.actions import parse_action

BAD_CALL = "bad_call"  # the name under which calls to no known tool are counted

Row = dict[str, float | int | None]


def behaviour_metrics(episodes: Sequence[Episode]) -> Row:
    """Return shares of actions, of visual, new and repeated calls; None where there is no call.

    - ``actions/NAME``: share of a tool, of ``answer`` or of ``none`` (a turn with neither call nor answer) in
      all actions; ``actions/entropy`` in nats.
    - ``visual/episodes``: share of episodes with at least one visual call, ``visual/calls``: share of calls
      that are visual (RaPR), as tools declare of themselves; None where an environment declares no tools.
    - ``exploration/efficiency``: share of calls that succeeded and did something that no earlier successful
      call of their episode did. It is state coverage with calls for states: how much of what was spent went
      to new places (distinct states reached for the steps taken: Dai et al. 2019, "Learning transferable
      graph exploration", arXiv 1910.12980). What it misses from 1 is repeated or failed.
    - ``loops/calls``: share of calls that repeat an earlier call of their episode to the letter,
      ``loops/episodes``: share of episodes with such a call.

    Args:
        episodes: those that count.
    """
    return action_shares(episodes) | call_metrics(
        [episode.tool_calls for episode in episodes], [episode.visual_tools for episode in episodes]
    )


def call_metrics(
    calls: Sequence[Sequence[Mapping[str, Any]]], visual_tools: Sequence[frozenset[str] | None]
) -> Row:
    """Return the shares of visual, new and repeated calls, see `behaviour_metrics`.

    Args:
        calls: the tool calls of each episode.
        visual_tools: each episode's tools that look at pixels; None where that is not known.
    """
    total, known = sum(map(len, calls)), all(tools is not None for tools in visual_tools)
    visual = [
        sum(call.get("tool") in (tools or ()) for call in each)
        for each, tools in zip(calls, visual_tools, strict=True)
    ]
    repeated = [_repeated(each) for each in calls]
    worked = [[call for call in each if call.get("ok", True)] for each in calls]
    new = sum(len(each) - _repeated(each) for each in worked)
    return {
        "visual/episodes": _share(sum(map(bool, visual)), len(calls)) if known else None,
        "visual/calls": _share(sum(visual), total) if known else None,
        "exploration/efficiency": _share(new, total),
        "loops/calls": _share(sum(repeated), total),
        "loops/episodes": _share(sum(map(bool, repeated)), len(calls)),
    }


def action_shares(episodes: Sequence[Episode]) -> Row:
    """Return the distribution of actions, see `behaviour_metrics`."""
    counts: Counter[str] = Counter()
    for episode in episodes:
        counts.update(str(call.get("tool") or BAD_CALL) for call in episode.tool_calls)
        for segment in episode.segments:
            if segment.sampled:
                action = parse_action(segment.text)
                counts["answer"] += action.answer is not None
                counts["none"] += not action.calls and action.answer is None
    total = counts.total()
    shares = {name: count / total for name, count in counts.items() if count}
    row: Row = {f"actions/{name}": shares[name] for name in sorted(shares)}
    entropy = -sum(share * math.log(share) for share in shares.values())
    return row | {"actions/entropy": entropy if total else None}


def tool_scores(episodes: Sequence[Episode]) -> Row:
    """Return ``TOOL/score`` → mean over the calls that have it: how well tools did, apart from the answer.

    Scores come from an environment's ground truth, e.g. ``SEGMENT/iou`` and ``READ_TEXT/cer``.
    """
    found: defaultdict[str, list[float]] = defaultdict(list)
    for call in (call for episode in episodes for call in episode.tool_calls):
        for name, value in call.get("scores", {}).items():
            found[f"{call['tool']}/{name}"].append(float(value))
    return {name: float(np.mean(found[name])) for name in sorted(found)}


def cut_share(episodes: Sequence[Episode]) -> float | None:
    """Return the share of turns that ended at the token limit, None where there is no turn."""
    turns = sum(episode.turns for episode in episodes)
    return sum(episode.cut_turns for episode in episodes) / turns if turns else None


def length_metrics(episodes: Sequence[Episode]) -> Row:
    """Return the distribution of lengths: sampled tokens and turns, quantiles by linear interpolation.

    ``turns/cut`` is the share of turns that ended at the token limit.
    """
    row: Row = {"turns/cut": cut_share(episodes)}
    lengths = {
        "completion": [episode.completion_length for episode in episodes],
        "turns": [episode.turns for episode in episodes],
    }
    for name, values in lengths.items():
        row[f"{name}/mean"] = float(np.mean(values)) if values else None
        row[f"{name}/min"], row[f"{name}/max"] = min(values, default=None), max(values, default=None)
        for percent in (10, 50, 90):
            row[f"{name}/p{percent}"] = float(np.percentile(values, percent)) if values else None
    return row


def group_metrics(episodes: Sequence[Episode]) -> Row:
    """Return how much the members of a group differ, over groups with at least two members.

    ``groups/reward_std`` is the mean of the groups' sample deviations (n - 1); ``groups/all_right`` and
    ``groups/all_wrong`` are the shares of groups in which every, or no, episode was a success.

    Args:
        episodes: those that count.
    """
    groups: defaultdict[int, list[Episode]] = defaultdict(list)
    for episode in episodes:
        if math.isfinite(episode.reward):
            groups[episode.group].append(episode)
    several = [members for members in groups.values() if len(members) > 1]
    spreads = [float(np.std([episode.reward for episode in members], ddof=1)) for members in several]
    told = [m for m in several if all(episode.success is not None for episode in m)]
    return {
        "groups/reward_std": float(np.mean(spreads)) if spreads else None,
        "groups/all_right": _share(sum(all(e.success for e in m) for m in told), len(told)),
        "groups/all_wrong": _share(sum(not any(e.success for e in m) for m in told), len(told)),
    }


def _repeated(calls: Sequence[Mapping[str, Any]]) -> int:
    """Return how many calls have the tool and the arguments of an earlier one."""
    seen = [
        json.dumps([call.get("tool"), call.get("arguments")], sort_keys=True, default=str) for call in calls
    ]
    return len(seen) - len(set(seen))


def _share(count: int, total: int) -> float | None:
    return count / total if total else None
