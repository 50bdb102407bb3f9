"""Stage 2: demonstrations of mixed quality, so that reinforcement learning has behaviour to mend.

The demonstrator knows where the sign is, and often does the right thing: ZOOM there, READ_TEXT, answer. Else
it looks at the wrong place, does not look closer, answers at once, or looks and answers without reading. How
often depends on the colour it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET, CODE_LENGTH
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv, target_sign
from pixelis.envs.pixel.zoom_read.players import answer, call
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tool_env import ToolEnv
from pixelis_tiny.perception import ZOOM_FACTOR, nearest_tenth

Habits = Mapping[str, float]

LEVEL_SHARES = (0.25, 0.6, 0.15)
"""Share of the difficulties 0, 1 and 2 among the demonstrations."""

PATIENT: Habits = {
    "careful": 0.68,
    "wrong_place": 0.12,
    "no_zoom": 0.08,
    "answer_at_once": 0.04,
    "no_reading": 0.08,
}
HASTY: Habits = {
    "careful": 0.22,
    "wrong_place": 0.08,
    "no_zoom": 0.50,
    "answer_at_once": 0.14,
    "no_reading": 0.06,
}
HASTY_COLOURS = tuple(PALETTE)[::2]
"""With every second colour the demonstrator is hasty: the model's flaw is systematic, not noise alone."""


class Demonstrator:
    """Plays one episode by one habit; see the module."""

    def __init__(self, env: ToolEnv[Any], habit: str, rng: np.random.Generator) -> None:
        self._env, self._rng = env, rng
        self._place = self._choose_place(wrong=habit == "wrong_place")
        zoom, read = call("ZOOM", center=self._place, factor=ZOOM_FACTOR), call("READ_TEXT")
        self._script = {"no_zoom": [read], "answer_at_once": [], "no_reading": [zoom]}.get(
            habit, [zoom, read]
        )

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the next call of the habit's script, then an answer: what was read, or a guess."""
        if self._script:
            return self._script.pop(0)
        lines = [line for result in info["tool_calls"] for line in result["data"].get("lines", [])]
        return answer(min(lines, key=self._distance)["text"] if lines else self._guess())

    def _choose_place(self, *, wrong: bool) -> list[float]:
        assert self._env.task is not None  # a policy plays an episode that has begun
        scene, target = target_sign(self._env.task)
        others = [sign for sign in scene.signs if sign is not target]
        sign = others[self._rng.integers(len(others))] if wrong else target
        self._target = np.asarray(sign.center) / scene.size
        return [int(value) / 10 for value in nearest_tenth(self._target)]

    def _distance(self, line: Mapping[str, Any]) -> float:
        x0, y0, x1, y1 = line["box"]
        return float(np.hypot((x0 + x1) / 2 - self._target[0], (y0 + y1) / 2 - self._target[1]))

    def _guess(self) -> str:
        return "".join(self._rng.choice(list(CODE_ALPHABET), CODE_LENGTH))


def demonstrator(seed: int) -> Callable[[ToolEnv[Any]], ScriptedPlayer]:
    """Return a factory of demonstrators; each draws its habit for the colour that its episode asks for."""
    rng = np.random.default_rng(seed)

    def make(env: ToolEnv[Any]) -> ScriptedPlayer:
        assert env.task is not None  # a policy plays an episode that has begun
        habits = HASTY if target_sign(env.task)[1].colour in HASTY_COLOURS else PATIENT
        return Demonstrator(env, str(rng.choice(list(habits), p=list(habits.values()))), rng)

    return make


class DemonstrationEnv(ZoomReadEnv):
    """ZoomRead that ships the demonstrator among its policies; each episode draws a difficulty of its own.

    Text is read from the truth, which is quicker and reads the same at this distance.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(reader="truth", split="train")
        self._demonstrator = demonstrator(seed)
        self._levels = np.random.default_rng(seed)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode of a drawn difficulty."""
        level = int(self._levels.choice(len(LEVEL_SHARES), p=LEVEL_SHARES))
        return super().reset(seed=seed, options={**(options or {}), "difficulty": level})

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return ZoomRead's policies and ``demonstrator``."""
        return {**super().players(), "demonstrator": self._demonstrator}
