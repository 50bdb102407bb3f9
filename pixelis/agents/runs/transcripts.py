"""Episodes as plain data, for people to read and programs to search; a line of ``trajectories/``."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from pixelis.agents.episodes.episode import Episode


def episode_row(episode: Episode) -> dict[str, Any]:
    """Return what was said and done in an episode, and how it ended; see docs/reference/trajectories.md.

    ``pictures`` are arrays here; `RunFolder.write_rows` stores each different one once, as a file.
    """
    return {
        "seed": episode.seed,
        "group": episode.group,
        "member": episode.member,
        "text": episode.text,
        "reward": episode.reward,
        "reward_terms": episode.reward_terms,
        "reward_parts": episode.reward_parts,
        "success": episode.success,
        "turns": episode.turns,
        "truncated": episode.truncated,
        "tool_calls": episode.tool_calls,
        "task": episode.info.get("task"),
        "failure_reason": episode.failure_reason,
        "failure_place": episode.failure_place,
        "visual_tools": None if episode.visual_tools is None else sorted(episode.visual_tools),
        "env_id": episode.env_id,
        "options": dict(episode.options),
        "asked": episode.asked,
        "exchanges": _exchanges(episode),
        "pictures": episode.pictures if any(each is not None for each in episode.pictures) else [],
    }


def _exchanges(episode: Episode) -> list[dict[str, Any]]:
    """Return one row for each env step.

    ``logprob`` is the sum of the log-probabilities with which the turn's ``tokens`` tokens were sampled; both
    are None where no model sampled.
    """
    sampled = [segment for segment in episode.segments if segment.sampled]
    rows = []
    for each, reward, turn in zip_longest(
        episode.exchanges, episode.turn_rewards, sampled[: len(episode.exchanges)]
    ):
        rows.append(
            {
                "action": each.action,
                "heard": each.heard,
                "calls": each.calls,
                "reward": reward,
                "terms": dict(each.terms),
                "logprob": None if turn is None else float(turn.logprobs.sum()),
                "tokens": None if turn is None else len(turn),
            }
        )
    return rows
