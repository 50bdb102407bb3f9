"""``Pixelis/ZoomRead-v0``: find a sign in a street scene, look closer, read its code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.progress import looked_at, was_read, way
from pixelis.envs.pixel.base.splits import asked_index
from pixelis.envs.pixel.drawing.sign_texts import sign_texts
from pixelis.envs.pixel.drawing.signs import Scene, Sign
from pixelis.envs.pixel.zoom_read.paint import paint, sign_labels
from pixelis.envs.pixel.zoom_read.players import zoom_read_players
from pixelis.envs.pixel.zoom_read.scene import LEVELS, sample_scene
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv

LEGIBLE = 1 / 4
"""Side of the largest view in which codes can be read, share of the scene."""


class StreetSigns:
    """Task source: a street with signs, and a question about one of them."""

    family = "zoom_read"
    difficulties = range(len(LEVELS))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a scene and the sign that is asked for. The two splits share no code, so no task."""
        scene = sample_scene(rng, difficulty, split)
        index = int(rng.integers(len(scene.signs)))
        sign = scene.signs[index]
        return Task(
            id=f"{self.family}-{difficulty}-{split}-{scene.backdrop_seed:08x}-{index}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=ask_for(sign.colour, sign.kind),
            answer=sign.code,
            data={"scene": scene.to_json(), "target": index},
        )


def ask_for(colour: str, kind: str) -> str:
    """Return the question about one sign; in a scene colour and kind together name one sign only."""
    return f"What code is on the {colour} {kind}?"


def target_sign(task: Task) -> tuple[Scene, Sign]:
    """Return the scene of a task and the sign it asks for.

    Raises:
        TaskError: the task's data hold no such scene or sign.
    """
    scene = Scene.from_json(task.data.get("scene", {}))
    return scene, scene.signs[asked_index(task, "target", len(scene.signs), "signs")]


class ZoomReadEnv(PixelEnv):
    """Read a code that is too small for the first look.

    ## Description

    A street of 1536×1536 pixels holds 3 to 40 signs, each in a colour and with a four-character code. The
    question names one of them: "What code is on the green sign?". The first view shows the whole street at
    384×384, where the text is 4 pixels high: too small to be read. The agent must ZOOM to the right
    place, READ_TEXT there, and answer. Every tool sees the current view's pixels, never the scene behind
    them.

    ## Rewards

    1 for the code on the sign that was asked for (letter case, space around it and a final full stop
    ignored), else 0. No partial credit, and nothing for calling tools. `info["success"]` says the same.

    ## Starting state

    The whole scene is the view. The scene, the question and the split are drawn from `reset(seed=…)` alone; a
    code belongs to `train` or to `test`, never to both.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | 1 | 0: 3 signs; 1: 6; 2: 12, look-alike colours; 3: 24 of three kinds; 4: 40, turned |
    | `split` | `train` | `train` or `test` |
    | `reader` | `ocr` | `ocr`: rapidocr on pixels; `truth`: the scene's text as far as it is legible |
    | `max_turns` | 8 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |

    ```python
    import gymnasium as gym
    import pixelis

    env = gym.make("Pixelis/ZoomRead-v0", difficulty=1)
    observation, info = env.reset(seed=0)
    call = '<tool_call>{"name": "ZOOM", "arguments": {"center": [0.3, 0.7], "factor": 4}}</tool_call>'
    observation, reward, terminated, truncated, info = env.step(call)
    ```

    ## Version history

    * v0: first version.

    ## Source

    After Pixel-Reasoner (Su et al. 2025, arXiv:2505.15966), where a model zooms into real photographs; the
    scenes, tools and verification here are our own.
    """

    turns = 8
    task_gap = 1.0

    def task_source(self) -> StreetSigns:
        """Return the generator of tasks."""
        return StreetSigns()

    def open_picture(self, task: Task) -> Picture:
        """Return the street of a task, with its signs and their texts."""
        scene, _ = target_sign(task)
        return Picture(paint(scene), partial(sign_texts, scene), partial(sign_labels, scene))

    def nearness(self) -> float:
        """Return what is done of this: see the sign close enough to read it, read its code, answer."""
        assert self.task is not None  # asked for in an episode
        scene, sign = target_sign(self.task)
        return way(
            (looked_at(self.results, sign.box(scene.size), LEGIBLE), was_read(self.results, sign.code))
        )

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, the tool-free baseline and the exploits of this environment."""
        return {**super().players(), **zoom_read_players()}
