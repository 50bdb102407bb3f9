"""A toy environment: an action lists tool calls, and ``right`` or ``wrong`` answers."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from pixelis.envs.pixel.base.video_tools import VIDEO_TOOLS
from pixelis.envs.spaces import Utf8Text
from pixelis.rewards.terms.traits import RewardTraits


def calls_of(action: str) -> list[dict[str, Any]]:
    """``"ZOOM:a READ_TEXT"``: tools, with an argument after the colon."""
    parts = [word.partition(":") for word in action.split() if word not in ("right", "wrong")]
    return [{"tool": tool, "ok": True, "arguments": {"at": at} if at else {}} for tool, _, at in parts]


class CallingEnv(gym.Env):
    """Reward 1 for ``right``; truncated after ``max_turns``. It declares the tools of the videos.

    Args:
        max_turns: steps of an episode without an answer.
        extra: reward terms of its own, reported at every step.
        paid: paid for every step that does not answer.
        silent: leave ``tool_calls`` out of ``info``.
    """

    def __init__(self, max_turns=4, extra=None, paid=0.0, silent=False):
        self.observation_space = gym.spaces.Dict({"text": Utf8Text(100)})
        self.action_space = Utf8Text(200)
        self.task_gap = 1.0
        tools = {tool.name: tool.traits for tool in VIDEO_TOOLS}
        self.reward_traits = RewardTraits(1.0, None, tools, frozenset({"TRACK"}))
        self.max_turns, self.extra, self.paid, self.silent = max_turns, extra or {}, paid, silent

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.turn = 0
        return {"text": "start"}, self._info("", {})

    def step(self, action):
        self.turn += 1
        terminated = "right" in action or "wrong" in action
        truncated = not terminated and self.turn >= self.max_turns
        reward = float("right" in action) if terminated else self.paid
        terms = {"task": reward} if terminated else {}
        return {"text": f"turn {self.turn}"}, reward, terminated, truncated, self._info(action, terms)

    def _info(self, action, terms):
        info = {"reward_terms": {**terms, **self.extra}}
        return info if self.silent else {**info, "tool_calls": calls_of(action)}


gym.register("Calling-v0", entry_point="calling_env:CallingEnv")
