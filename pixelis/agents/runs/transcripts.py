"""Episodes as plain data, for people to read and programs to search; a line of ``trajectories/``."""

from __future__ import annotations

from typing import Any

from pixelis.agents.episodes.episode import Episode


def episode_row(episode: Episode) -> dict[str, Any]:
    """Return what was said and done in an episode, and how it ended."""
    return {
        "seed": episode.seed,
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
    }
