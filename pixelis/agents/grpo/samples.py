"""Sample episodes of a step as plain data, for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pixelis.agents.episode import Episode
from pixelis.agents.grpo.batch import StepBatch


def sample_rows(episodes: Sequence[Episode], batch: StepBatch) -> list[dict[str, Any]]:
    """Return the members of one group as plain data: the first that was trained on, else the first."""
    group = min((episode.group for episode in batch.episodes), default=0)
    advantages = {
        (each.group, each.member): float(value)
        for each, value in zip(batch.episodes, batch.advantages, strict=True)
    }
    return [
        {
            "seed": each.seed,
            "member": each.member,
            "text": each.text,
            "reward": each.reward,
            "advantage": advantages.get((each.group, each.member), 0.0),
            "reward_terms": each.reward_terms,
            "success": each.success,
            "turns": each.turns,
            "truncated": each.truncated,
            "tool_calls": each.tool_calls,
            "task": each.info.get("task"),
            "failure_reason": each.failure_reason,
        }
        for each in episodes
        if each.group == group
    ]
