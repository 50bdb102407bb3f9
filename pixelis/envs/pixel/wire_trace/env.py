"""``Pixelis/WireTrace-v0``: follow a cable through a tangle to the port it ends in, and read its label."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.progress import looked_at, share, was_read, way
from pixelis.envs.pixel.base.splits import asked_index
from pixelis.envs.pixel.drawing.sign_texts import sign_texts
from pixelis.envs.pixel.wire_trace.grid import follow, possible_ends
from pixelis.envs.pixel.wire_trace.paint import paint_wires, wire_labels
from pixelis.envs.pixel.wire_trace.players import cable_places, wire_trace_players
from pixelis.envs.pixel.wire_trace.scene import LEVELS, WireScene, sample_wire_scene
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv

TRACEABLE, LEGIBLE = 1 / 3, 1 / 4
"""Sides of the largest views in which cables can be told apart and labels be read, share of the scene."""


class CableBoards:
    """Task source: a board with cables between labelled ports, and the question where one of them ends."""

    family = "wire_trace"
    difficulties = range(len(LEVELS))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a scene and the port that is named. The two splits share neither seeds nor codes."""
        scene, start, end = sample_wire_scene(rng, difficulty, split)
        return Task(
            id=f"{self.family}-{difficulty}-{split}-{scene.seed:08x}-{start}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=ask_for(scene.codes[start]),
            answer=scene.codes[end],
            data={"scene": scene.to_json(), "start": start},
        )


def ask_for(code: str) -> str:
    """Return the question about the cable at a port."""
    return f"In which port does the cable end that starts at port {code}? Answer with the code on its label."


def asked_cable(task: Task) -> tuple[WireScene, int, int]:
    """Return the scene of a task, the port that is named and the port its cable ends in.

    Raises:
        TaskError: the task's data hold no such scene or port.
    """
    scene = WireScene.from_json(task.data.get("scene", {}))
    start = asked_index(task, "start", len(scene.codes), "ports")
    return scene, start, follow(scene.tiles, scene.grid, start)[0]


class WireTraceEnv(PixelEnv):
    """Follow a cable through a tangle of others, and read the label of the port it ends in.

    ## Description

    A board of 1536×1536 pixels has 16 to 32 ports around it, each with a label of four characters, and half
    as many cables between them. The question names one port: "In which port does the cable end that starts
    at port HK7M?". The first view shows the whole board at 384×384: cables are less than two pixels wide
    there, and the labels' text is 4 pixels high, too small to be read. The agent must find the port
    (SEGMENT lists the labels), follow its cable with ZOOM, over and under up to 40 crossings, and READ_TEXT
    where it ends. SEGMENT at a point of a cable gives the piece between two places where others lie over it.

    Every cable can be followed: two of them cross once at a place, at 45 degrees or more, the lower one with
    a gap at each side of the upper one; crossings lie at least 50 pixels apart, and cables that do not cross
    there at least 20.

    ## Rewards

    1 for the code of the port in which the cable ends (letter case, space around it and a final full stop
    ignored), else 0. No partial credit, and nothing for calling tools. `info["success"]` says the same. The
    two ports are drawn before the cables, every pair as often: whoever has read all labels, but followed
    nothing, is right once in 19 to 31 times (difficulty 0: once in 8, since without crossings a cable ends an
    odd number of ports further).

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | 1 | 0: 16 ports, no crossing; 1: 20, 8; 2: 24, 16; 3: 28, 28; 4: 32 ports, 40 crossings |
    | `split` | `train` | `train` or `test` |
    | `reader` | `ocr` | `ocr`: rapidocr on pixels; `truth`: the labels' text as far as it is legible |
    | `max_turns` | 32 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |

    Cables have six colours at difficulty 0, then four, three and two; at 4 all have the same one.

    ```python
    import gymnasium as gym
    import pixelis

    env = gym.make("Pixelis/WireTrace-v0", difficulty=1)
    observation, info = env.reset(seed=0)
    calls = '<tool_call>{"name": "ZOOM", "arguments": {"center": [0.2, 0.2], "factor": 6}}</tool_call>'
    calls += '<tool_call>{"name": "READ_TEXT", "arguments": {}}</tool_call>'
    observation, reward, terminated, truncated, info = env.step(calls)
    ```

    ## Version history

    * v0: first version.

    ## Source

    Our own. Following one curve among others is a classic of the psychology of vision (Jolicoeur, Ullman and
    Mackay 1986, "Curve tracing"), and long-range path following a test of networks (Linsley et al. 2018,
    Pathfinder, arXiv:1805.08315). The tangles are random tilings after Truchet (1704).
    """

    turns = 32
    task_gap = 1.0
    tool_limits = MappingProxyType({"ZOOM": 65, "SEGMENT": 64})  # one look a tile of the largest board

    def task_source(self) -> CableBoards:
        """Return the generator of tasks."""
        return CableBoards()

    def open_picture(self, task: Task) -> Picture:
        """Return the board of a task, with the labels' texts, the pieces of cables and the labels."""
        scene, *_ = asked_cable(task)
        return Picture(
            paint_wires(scene)[0], partial(sign_texts, scene.labels()), partial(wire_labels, scene)
        )

    def chance(self, difficulty: int) -> float:
        """Return the success of any one of the ports a cable can end in."""
        level = LEVELS[difficulty]
        return 1 / len(possible_ends(level.grid, level.crossings, 0))

    def nearness(self) -> float:
        """Return what is done of this: follow the cable, see the label at its end, read it, answer."""
        assert self.task is not None  # asked for in an episode
        scene, start, end = asked_cable(self.task)
        places = cable_places(scene, start)
        followed = [looked_at(self.results, (x, y, x, y), TRACEABLE) for x, y in places]
        board = scene.labels()
        label = board.signs[end].box(board.size)
        return way(
            (
                share(followed),
                looked_at(self.results, label, LEGIBLE),
                was_read(self.results, self.task.answer),
            )
        )

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, the baselines and the exploits of this environment."""
        return {**super().players(), **wire_trace_players()}
