"""``PixelEnv``: what every pixel environment shares, so that a new one is tasks, a painter, a verifier."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Interval

from pixelis.envs.actions import BadCall, ToolCall
from pixelis.envs.keywords import Difficulty, Expected, RenderMode, Split, Turns, Whole, checked_keywords
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.render import Ending, Window, render_episode
from pixelis.envs.pixel.base.tool_scores import score_call
from pixelis.envs.pixel.tools.ocr import Reader, ReaderName, make_reader
from pixelis.envs.pixel.tools.ocr_truth import TruthReader
from pixelis.envs.pixel.tools.toolset import NEED_FRAMES, PIXEL_TOOLS, STILL_IMAGE
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.pixel.tools.words import QUESTION_WORDS
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.tasks import Task, TaskSource
from pixelis.envs.tool_env import ToolEnv
from pixelis.envs.tools import Tool, ToolResult, Toolset
from pixelis.envs.verdict import Verdict, exact_answer
from pixelis.rewards.terms.traits import RewardTraits

ViewSize = Annotated[Whole, Interval(ge=64, le=1024), Expected(advice="384 is usual")]
"""Side of a view in pixels."""


class PixelEnv(ToolEnv[PixelWorkspace]):
    """A picture that is looked at through views of one size with tools that see nothing but the view.

    A subclass says where tasks come from (``task_source``), what a task shows (``open_picture``) and what a
    right answer is (``judge``), where that is not the task's, letter for letter. Its page has the sections
    below, where its own docstring has none of the same name. Where the picture's ground truth is known, the
    records in ``info["tool_calls"]`` have ``scores`` of what SEGMENT and READ_TEXT returned (see
    ``tool_scores``): for metrics, nothing of it is in the observation.

    Args:
        difficulty: see ``ToolEnv``.
        split: see ``ToolEnv``.
        reader: ``ocr`` reads pixels; ``truth`` reads the texts the picture is known to hold, as far as they
            are legible.
        max_turns: see ``ToolEnv``; ``None`` is the environment's own ``turns``.
        view_size: side of the views, 64-1024 pixels.
        render_mode: ``rgb_array``, ``human`` or ``None``.

    Raises:
        ConfigError: an argument is out of range.

    ## Action space

    `Utf8Text(16384)`: one whole assistant turn. Its calls are run in document order; an answer ends the
    episode. What stands in `<think>…</think>`, or before a first `</think>`, is passed over.

    | call | arguments | effect |
    |---|---|---|
    | ZOOM | `center` + `factor` 1–50 (default 4), or `box`, or `region` | the view becomes the square there |
    | READ_TEXT | optional `box` or `region` | text of the current view, with boxes and confidence |
    | SEGMENT | `point`, `box`, `colour`, or nothing | that region; else what stands out, of that colour |
    | GET_PROPERTIES | `region` | colour, area, shape and position of a region of the current view |
    | THINK | `thought` | nothing |

    Coordinates are `[x, y]` and `[x0, y0, x1, y1]` in 0–1 of the scene, whatever the view.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | at reset the question; then what the calls of the last turn said |
    | `image` | `Box(0, 255, (384, 384, 3), uint8)` | the current view, RGB |

    ## Starting state

    The whole scene is the view. The scene, the question and the split are drawn from `reset(seed=…)` alone; a
    scene belongs to `train` or to `test`, never to both.

    ## Episode end

    * Termination: an answer was given.
    * Truncation: `max_turns` turns without an answer.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": 2}  # noqa: RUF012
    vocabulary = QUESTION_WORDS
    plays_in_threads = True
    tools: ClassVar[tuple[Tool[PixelWorkspace], ...]] = PIXEL_TOOLS
    turns: ClassVar[int] = 8
    box_decimals: ClassVar[int] = 2  # of the boxes that an agent is told; more where a pixel counts

    @checked_keywords
    def __init__(
        self,
        *,
        difficulty: Difficulty = 1,
        split: Split = "train",
        reader: ReaderName = "ocr",
        max_turns: Turns | None = None,
        view_size: ViewSize = 384,
        render_mode: RenderMode = None,
    ) -> None:
        self._reader, self.view_size = make_reader(reader), view_size
        self._window: Window | None = None
        super().__init__(
            source=self.task_source(),
            toolset=Toolset(self.tools, self._open_workspace),
            verifier=self.judge,
            max_turns=self.turns if max_turns is None else max_turns,
            difficulty=difficulty,
            split=split,
            image_size=view_size,
            render_mode=render_mode,
        )

    # ------------------------------------------------------------------ for subclasses

    def task_source(self) -> TaskSource:
        """Return where tasks come from; asked for once, at construction."""
        raise NotImplementedError

    def judge(self, task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
        """Judge an answer to a task; ``None`` when the turns ran out without one. See ``exact_answer``."""
        return exact_answer(task, answer, workspace)

    def open_picture(self, task: Task) -> Picture:
        """Return what a task shows, from the task alone.

        Raises:
            TaskError: the task's data describe no picture.
        """
        raise NotImplementedError

    # ------------------------------------------------------------------ ToolEnv

    @property
    def reward_traits(self) -> RewardTraits:
        """What `ToolEnv` says, and that tracking on one picture is a mistake."""
        return replace(super().reward_traits, frame_tools=frozenset({"TRACK"}))

    def observe_image(self) -> np.ndarray:
        """Return a copy of the current view, the caller's to keep."""
        return self.workspace.view.copy()

    def render(self) -> Any:
        """Return (``rgb_array``) or show (``human``) the scene with the view's box, the calls, the answer."""
        if self.render_mode is None or self.task is None:
            return None
        frame = render_episode(self.task, self.workspace, self.results, self._ending())
        if self.render_mode == "rgb_array":
            return frame
        self._window = self._window or Window(f"Pixelis {type(self).__name__.removesuffix('Env')}")
        self._window.show(frame, self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def run_call(self, call: ToolCall | BadCall) -> ToolResult:
        """Carry out a call, and score what it found where the truth is known."""
        if isinstance(call, ToolCall) and call.name in NEED_FRAMES and call.name not in self.toolset.tools:
            text = f"{call.name}: {STILL_IMAGE}"
            return ToolResult(call.name, False, text, error_code="still_image", arguments=call.arguments)
        result = super().run_call(call)
        return replace(result, scores=self._scores(result))

    def view_key(self) -> Any:
        """Return the box of the view."""
        return self.workspace.view_box

    # ------------------------------------------------------------------ private

    def _open_workspace(self, task: Task) -> PixelWorkspace:
        picture = self.open_picture(task)
        reader_of = partial(self._reader_of, picture)
        workspace = PixelWorkspace(picture.image, self.view_size, reader_of, self.box_decimals)
        self._picture = picture
        return workspace

    def _ending(self) -> Ending | None:
        if self.answer is None or self.verdict is None:
            return None
        return Ending(self.answer, self.verdict.success)

    def _scores(self, result: ToolResult) -> dict[str, float]:
        return score_call(self._picture, self.workspace, result)

    def _reader_of(self, picture: Picture, view_box: Box) -> Reader:
        if isinstance(self._reader, TruthReader):
            return TruthReader(picture.texts(view_box, self.view_size) if picture.texts else ())
        return self._reader
