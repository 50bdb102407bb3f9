"""``DiscreteToolActions``: an environment with pictures for agents that cannot read or write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from pixelis.envs.tool_env import ToolEnv
from pixelis.errors import ActionTypeError, ConfigError, shown
from pixelis.wrappers.discrete.question import (
    listed_choices,
    one_hot,
    words_in,
)
from pixelis.wrappers.discrete.tool_memory import LAST_RESULT, SLOTS, ToolMemory
from pixelis.wrappers.discrete.turns import Choice, TurnBuilder, check_grid, chosen, plan_tools

PICTURE_SIZE = 96
ANSWERS = ("auto", "numbers")


class DiscreteToolActions(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Numbers in, numbers out, over the same tools, limits, verifier and rewards.

    An action becomes a real assistant turn, which the wrapped environment plays; the turn is
    ``info["turn"]``. What is observed comes from the environment's observation and from what its tools
    returned: there is nothing of the task's truth in it.

    Action: ``MultiDiscrete([tool, x, y, scale, answer slot])``, numbers that do not matter are ignored.

    | tool | x, y | scale |
    |---|---|---|
    | ZOOM | the middle of the next view, in the whole scene (the picture ``overview``) | its factor |
    | SEGMENT | a point of the current view | 0: no point, list all regions; else the point |
    | READ_TEXT and others with a box | its middle, in the current view | 0: no box; else view / factor |
    | GET_PROPERTIES, TRACK | the region whose middle is nearest, in the current view | |
    | answer | with ``answers="numbers"``, x + grid · y | |

    The answer slots hold the choices of the task, or those its question lists (``…: red, blue or pink?``), at
    most 8; for other questions the texts that were read, the newest reading first (lines, and the numbers
    in them). So nothing can be answered that has to be worked out: a sum over a receipt, a value between
    two ticks of a chart. With n slots filled, slot k means slot k modulo n; with none, the turn is empty and
    costs one. Tools that need more than a place, a region or one whole number are left out, such as THINK;
    `tool_names` tells which are there.

    What SEGMENT and GET_PROPERTIES measured of a choice that is a colour stands in ``last_result`` as a
    number, so SizeCompare can be solved without looking at the pictures.

    Observation:

    | key | space | meaning |
    |---|---|---|
    | ``overview`` | uint8 [96, 96, 3] | the first view: the whole scene |
    | ``view`` | uint8 [96, 96, 3] | the current view |
    | ``box`` | float32 [4] | where the view is, [x0, y0, x1, y1] in 0-1 of the scene |
    | ``question`` | float32 [words] | 1 for each word of ``words`` in the question |
    | ``last_result`` | float32 [32] | what the tools said, see `ToolMemory.to_vector` |
    | ``steps_left`` | float32 [1] | share of the turns that are left |

    Args:
        env: an environment with pictures and tools, such as ``Pixelis/ZoomRead-v0``.
        grid: cells along a side for x and y, 2-64.
        factors: of the scales, ascending from 1. One alone, such as (4,), leaves no choice: ZOOM takes it,
            SEGMENT lists all regions and READ_TEXT reads the whole view.
        answers: ``auto`` as above, ``numbers`` where the question asks for a count.
        words: what ``question`` stands for; None: the environment's ``vocabulary``.
        tools: names of the tools that may be called, in the order of the action's first number; None: all
            that numbers can call.
        snap: let ZOOM at a scale above 0 go to the region nearest to the place, after SEGMENT has listed
            those of the view; far fewer places have to be tried then.
        flat: make the action one number, ``Discrete``, over all distinct actions (DQN needs that). There are
            about grid² · 3 · scales of them: take a small grid.

    Raises:
        ConfigError: the environment has no pictures, tools or words, or an argument is out of range.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        grid: int = 16,
        factors: Sequence[float] = (1.0, 2.0, 4.0, 8.0),
        answers: str = "auto",
        words: Sequence[str] | None = None,
        tools: Sequence[str] | None = None,
        snap: bool = False,
        flat: bool = False,
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, grid=grid, factors=factors, answers=answers, words=words, tools=tools, snap=snap, flat=flat
        )
        gym.Wrapper.__init__(self, env)
        inner: Any = env.unwrapped
        if not isinstance(inner, ToolEnv) or "image" not in getattr(inner.observation_space, "spaces", ()):
            raise ConfigError(
                f"DiscreteToolActions needs a ToolEnv with an image, got {type(inner).__name__}; "
                "wrap Pixelis/ZoomRead-v0 or another pixel environment"
            )
        if answers not in ANSWERS:
            raise ConfigError(f"answers must be one of {', '.join(ANSWERS)}, got {shown(answers)}")
        if words is None and not inner.vocabulary:
            raise ConfigError(
                f"{type(inner).__name__} declares no vocabulary, so its questions cannot be told apart; set "
                "vocabulary on its class, or give words"
            )
        self._words, self._inner = tuple(inner.vocabulary if words is None else words), inner
        grid, scales = check_grid(grid, factors)
        plans = chosen(plan_tools(inner.toolset.schemas()), tools)
        self._builder = TurnBuilder(plans, grid, scales, answers == "numbers", snap)
        self._table = self._builder.distinct() if flat else ()
        self.action_space = (
            spaces.Discrete(len(self._table)) if flat else spaces.MultiDiscrete(list(self._builder.sizes))
        )
        self.observation_space = _observation_space(len(self._words))
        self._memory: ToolMemory | None = None

    @property
    def tool_names(self) -> tuple[str, ...]:
        """What the action's first number means; the last is the answer."""
        return (*(plan.name for plan in self._builder.tools), "answer")

    @property
    def counted(self) -> np.ndarray:
        """Which of the five numbers matter: bool ``[tools + 1, scales, 5]`` by tool and scale.

        An agent may leave the others out of an action's probability: they change nothing.
        """
        return self._builder.counted()

    @property
    def candidates(self) -> tuple[str, ...]:
        """The answers in the slots now."""
        return tuple(candidate.text for candidate in self._episode().candidates[:SLOTS])

    def turn_of(self, action: Any) -> str:
        """Return the assistant turn that an action stands for in the current state.

        Raises:
            ActionTypeError: it is not in the action space.
            gymnasium.error.ResetNeeded: there is no episode.
        """
        numbers = np.asarray(action)
        if numbers.dtype.kind not in "iu" or not self._contains(numbers):
            raise ActionTypeError(f"expected an action in {self.action_space}, got {shown(action, 80)}")
        memory = self._episode()
        if self._table:
            return self._builder.write(self._table[int(numbers)], memory)
        return self._builder.write(Choice(*(int(number) for number in numbers)), memory)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Start an episode; seed and options are the environment's."""
        observation, info = self.env.reset(seed=seed, options=options)
        question = observation["text"].partition("\n")[0]
        self._question = one_hot(question, self._words)
        self._memory = ToolMemory(self._choices(question), words_in(question, self._inner.vocabulary))
        self._overview = self._view = _small(observation["image"])
        return self._observe(), {**info, "turn": ""}

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Play the turn that an action stands for; raises as `turn_of` does."""
        turn = self.turn_of(action)
        observation, reward, terminated, truncated, info = self.env.step(turn)
        self._episode().note(info["tool_calls"])
        if info.get("view_changed", True):
            self._view = _small(observation["image"])
        return self._observe(), float(reward), terminated, truncated, {**info, "turn": turn}

    # ------------------------------------------------------------------ private

    def _contains(self, numbers: np.ndarray) -> bool:
        if isinstance(self.action_space, spaces.Discrete):
            return numbers.ndim == 0 and self.action_space.contains(int(numbers))
        return self.action_space.contains(numbers.astype(np.int64))

    def _episode(self) -> ToolMemory:
        if self._memory is None:
            raise gym.error.ResetNeeded("there is no episode; call reset() first")
        return self._memory

    def _choices(self, question: str) -> tuple[str, ...]:
        return tuple(self._inner.choices) or listed_choices(question)

    def _observe(self) -> dict[str, np.ndarray]:
        memory = self._episode()
        left = (self._inner.max_turns - self._inner.turn) / self._inner.max_turns
        return {
            "overview": self._overview.copy(),
            "view": self._view.copy(),
            "box": np.array(memory.view, np.float32),
            "question": self._question.copy(),
            "last_result": memory.to_vector(),
            "steps_left": np.array([left], np.float32),
        }


def _observation_space(words: int) -> spaces.Dict:
    picture = (PICTURE_SIZE, PICTURE_SIZE, 3)
    return spaces.Dict(
        {
            "overview": spaces.Box(0, 255, picture, np.uint8),
            "view": spaces.Box(0, 255, picture, np.uint8),
            "box": spaces.Box(0.0, 1.0, (4,), np.float32),
            "question": spaces.Box(0.0, 1.0, (words,), np.float32),
            "last_result": spaces.Box(-1.0, 1.0, (LAST_RESULT,), np.float32),
            "steps_left": spaces.Box(0.0, 1.0, (1,), np.float32),
        }
    )


def _small(image: np.ndarray) -> np.ndarray:
    """Return a square picture at 96 × 96, averaged down."""
    from PIL import Image  # here: importing the wrappers is light

    side = (PICTURE_SIZE, PICTURE_SIZE)
    return np.asarray(Image.fromarray(image).resize(side, Image.Resampling.BOX))
