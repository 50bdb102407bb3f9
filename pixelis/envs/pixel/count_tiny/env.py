"""``Pixelis/CountTiny-v0``: count the pieces of one look among hundreds that are too small to see."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture, no_texts
from pixelis.envs.pixel.base.progress import found, share, way
from pixelis.envs.pixel.count_tiny.paint import count_labels, paint_pieces
from pixelis.envs.pixel.count_tiny.players import count_tiny_players
from pixelis.envs.pixel.count_tiny.scene import LEVELS, CountScene, sample_count_scene
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.rewards.answers import number_matches, parse_quantity
from pixelis.rewards.answers.agreement import AnswerForm


class PieceTables:
    """Task source: a table with small pieces, and the question how many have one look."""

    family = "count_tiny"
    difficulties = range(len(LEVELS))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a scene. The two splits share no scene seed, so no task."""
        scene, colour, kind = sample_count_scene(rng, difficulty, split)
        return Task(
            id=f"{self.family}-{difficulty}-{split}-{scene.seed:08x}-{colour}-{kind or 'any'}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=ask_for(colour, kind),
            answer=str(scene.count(colour, kind)),
            data={"scene": scene.to_json(), "colour": colour, "kind": kind},
        )


def ask_for(colour: str, kind: str | None) -> str:
    """Return the question about a colour, or about a colour and a kind."""
    what = f"{colour} {kind}s are" if kind else f"{colour} pieces are"
    return f"How many {what} on the table? Answer with a number."


def _look(task: Task) -> tuple[str, str | None]:
    """Return the colour and the kind (or None) that a task asks for."""
    return task.data["colour"], task.data["kind"]


def verify_count(task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
    """Judge an answer: 1 for the right number (``number_matches``), else 0; ``count_error`` is how far off.

    ``count_error`` is a metric without weight: |answer - truth| / truth, at most 1, and 1 for no number.
    """
    success = answer is not None and number_matches(answer, task.answer)
    return Verdict(success, {"task": float(success), "count_error": _error(answer, int(task.answer))})


def _error(answer: str | None, truth: int) -> float:
    number = parse_quantity(answer or "")
    return 1.0 if number is None else float(min(1, abs(number.value - truth) / max(1, truth)))


class CountTinyEnv(PixelEnv):
    """Count the pieces of one look among hundreds that are too small for the first look.

    ## Description

    A table of 1536×1536 pixels holds 100 to 400 pieces, 20 to 8 pixels long, in 4 to 12 colours. The question
    names a colour: "How many red pieces are on the table?", from difficulty 3 on a kind too: "How many red
    sticks are on the table?". The first view shows the whole table at 384×384, where a piece is 5 to 2 pixels
    long: too small for SEGMENT to list it. The agent must go over the table with ZOOM, part by part, list
    what is there with SEGMENT (at most 48 regions a view), and count nothing twice.

    ## Rewards

    1 for the right number, else 0; it is read as people write numbers (`16`, `16.0`). No partial credit, and
    nothing for calling tools. `info["success"]` says the same; `info["reward_terms"]["count_error"]` says how
    far off the number was (a metric of weight 0). A guess is right once in 25 (difficulty 0) to 60 times
    (difficulty 4): every number of the level's range is the answer as often.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | 1 | 0: 100 pieces of 20 pixels; 1: 150 of 17; 2: 220 of 14; 3: 300 of 11; 4: 400 of 8 |
    | `split` | `train` | `train` or `test` |
    | `reader` | `ocr` | `ocr` or `truth`; there is no text here |
    | `max_turns` | 24 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |

    Look-alike colours lie among the pieces from difficulty 2 on, pieces of the right colour and another kind
    from difficulty 3 on.

    ```python
    import gymnasium as gym
    import pixelis

    env = gym.make("Pixelis/CountTiny-v0", difficulty=1)
    observation, info = env.reset(seed=0)
    calls = '<tool_call>{"name": "ZOOM", "arguments": {"center": [0.1, 0.1], "factor": 4}}</tool_call>'
    calls += '<tool_call>{"name": "SEGMENT", "arguments": {}}</tool_call>'
    observation, reward, terminated, truncated, info = env.step(calls)
    ```

    ## Version history

    * v0: first version.

    ## Source

    Our own; counting is one of the tasks that Pixel-Reasoner (Su et al. 2025, arXiv:2505.15966) is measured
    on.
    """

    turns = 24
    task_gap = 1.0
    tool_limits = MappingProxyType({"ZOOM": 81, "SEGMENT": 81})  # the hardest table needs 9 by 9 looks

    def task_source(self) -> PieceTables:
        """Return the generator of tasks."""
        return PieceTables()

    def judge(self, task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
        """Judge an answer: see ``verify_count``."""
        return verify_count(task, answer, workspace)

    def open_picture(self, task: Task) -> Picture:
        """Return the table of a task, with its pieces."""
        scene = CountScene.from_json(task.data.get("scene", {}))
        return Picture(paint_pieces(scene)[0], no_texts, partial(count_labels, scene))

    def chance(self, difficulty: int) -> float:
        """Return the success of any one number of the level's range."""
        return 1 / len(LEVELS[difficulty].counts)

    def nearness(self) -> float:
        """Return what is done of this: have SEGMENT list every asked piece in its colour, answer."""
        assert self.task is not None  # asked for in an episode
        scene, colour, kind = CountScene.from_json(self.task.data["scene"]), *_look(self.task)
        right = {i for i, (c, k) in enumerate(scene.looks) if c == colour and kind in (None, k)}
        boxes = [row["box"] for row in found(self.results, "SEGMENT", "regions") if row["colour"] == colour]
        listed = np.array(boxes).reshape(-1, 4) * scene.side
        single = listed[(listed[:, 2:] - listed[:, :2]).max(1, initial=0) < 2 * scene.size]
        pieces = np.array([piece[:2] for piece in scene.pieces if piece[2] in right]).reshape(-1, 1, 2)
        inside = (single[:, :2] <= pieces) & (pieces <= single[:, 2:])
        return way([share(np.any(np.all(inside, axis=2), axis=1).tolist())])

    @property
    def answer_form(self) -> AnswerForm:
        """A number."""
        return AnswerForm("number")

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, the tool-free baselines and the exploits of this environment."""
        return {**super().players(), **count_tiny_players()}
