"""``Pixelis/TrackRead-v0``: follow a car through a video, and read its plate where it can be read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pixelis.envs.pixel.base.progress import closeness, was_read, way, with_views
from pixelis.envs.pixel.base.splits import asked_index
from pixelis.envs.pixel.base.tool_scores import box_iou
from pixelis.envs.pixel.base.video import Film
from pixelis.envs.pixel.base.video_env import VideoEnv
from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET, CODE_LENGTH
from pixelis.envs.pixel.track_read.paint import track_film
from pixelis.envs.pixel.track_read.players import track_read_players
from pixelis.envs.pixel.track_read.sample import LEVELS, sample_track_scene
from pixelis.envs.pixel.track_read.scene import CLEAR, TrackScene, Vehicle
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv

LEGIBLE = 1 / 4
"""Side of the largest view in which plates can be read, share of the scene."""


class StreetVideos:
    """Task source: a street through some frames, and a question about one of the cars."""

    family = "track_read"
    difficulties = range(len(LEVELS))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a scene. The two splits share no code, so no task."""
        scene, index = sample_track_scene(rng, difficulty, split)
        return Task(
            id=f"{self.family}-{difficulty}-{split}-{scene.seed:08x}-{index}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=ask_for(scene, scene.vehicles[index]),
            answer=scene.vehicles[index].code,
            data={"scene": scene.to_json(), "target": index},
        )


def ask_for(scene: TrackScene, car: Vehicle) -> str:
    """Return the question about a car, pointed at by its box in frame 0 (0-1, three decimals)."""
    box = [round(value / scene.size, 3) for value in car.box(0)]
    return (
        f"What code is on the plate of the {car.colour} car at {box} in frame 0? "
        f"Frames are 0 to {scene.frames - 1}."
    )


def target_car(task: Task) -> tuple[TrackScene, Vehicle]:
    """Return the scene of a task and the car it asks for.

    Raises:
        TaskError: the task's data hold no such scene or car.
    """
    scene = TrackScene.from_json(task.data.get("scene", {}))
    return scene, scene.vehicles[asked_index(task, "target", len(scene.vehicles), "vehicles")]


def _is_at(scene: TrackScene, car: Vehicle, row: Mapping[str, Any]) -> bool:
    """Return whether a row of TRACK's says where a car is in a frame in which its plate is legible."""
    frame = row["frame"]
    if row["box"] is None or car.states[frame] != CLEAR:
        return False
    return box_iou([value / scene.size for value in car.box(frame)], row["box"]) >= 0.5


class TrackReadEnv(VideoEnv):
    """Follow one car among look-alikes through a video, and read its plate where it can be read.

    ## Description

    A video of 32 to 64 frames of 1536×1536 pixels shows two roads. Cars drive at changing speeds, from
    difficulty 3 on they change lanes, and trees, lorries and a footbridge hide them for a time. The question
    points at one car: "What code is on the plate of the red car at [0.31, 0.26, 0.434, 0.302] in frame 0?".
    Each car has a four-character code on the plate on its side, which can be read in two or three frames
    only; elsewhere the sun washes it out or motion smears it. Up to 8 cars look exactly like the one that is
    asked for, so it must be followed from frame 0 on: TRACK it, SELECT_FRAME, ZOOM to where it is then, and
    READ_TEXT. In a first view of 384×384 a plate's text is 3.5 pixels high, too small to be read.

    ## Rewards

    1 for the code on the plate of the car that was asked for (letter case, space around it and a final full
    stop ignored), else 0. No partial credit, and nothing for calling tools. `info["success"]` says the same.
    Who reads the plate of any car is right once in as many as there are cars (4, 6, 8, 10, 12).

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | 1 | 0: 32 frames; 1: 40, 2 look-alikes, trees; 2: 48, 4; 3: 56, 6; 4: 64, 8 look-alikes |
    | `split` | `train` | `train` or `test` |
    | `reader` | `ocr` | `ocr`: rapidocr on pixels; `truth`: the plates' text as far as it is legible |
    | `max_turns` | 12 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |

    From difficulty 2 on there are lorries and a footbridge, under which the car is out of sight for at least
    2, 4 and 6 frames before its plate can be read.

    ```python
    import gymnasium as gym
    import pixelis

    env = gym.make("Pixelis/TrackRead-v0", difficulty=1)
    observation, info = env.reset(seed=0)
    box = observation["text"].split(" car at ")[1].split(" in frame")[0]
    call = '<tool_call>{"name": "TRACK", "arguments": {"box": %s}}</tool_call>' % box
    observation, reward, terminated, truncated, info = env.step(call)
    ```

    ## Version history

    * v0: first version.

    ## Source

    Our own; selecting frames of a video is one of the tools of Pixel-Reasoner (Su et al. 2025,
    arXiv:2505.15966). `python benchmarks/quality/track_quality.py` measures the trackers.
    """

    turns = 12
    task_gap = 1.0

    def task_source(self) -> StreetVideos:
        """Return the generator of tasks."""
        return StreetVideos()

    def open_film(self, task: Task) -> Film:
        """Return the frames of a task, with what is written and where the cars are."""
        return track_film(target_car(task)[0])

    def chance(self, difficulty: int) -> float:
        """Return the success of a guess among the codes of a fifth of all, which the smaller split has."""
        return 5 / math.perm(len(CODE_ALPHABET), CODE_LENGTH)

    def nearness(self) -> float:
        """Return what is done of this, where the plate is legible: find the car, see it close, read."""
        assert self.task is not None  # asked for in an episode
        scene, car = target_car(self.task)
        frame, best, is_found = 0, 0.0, False
        for result, view in with_views(self.results):
            frame = result.data.get("frame", frame)
            box = [value / scene.size for value in car.box(frame)]
            if car.states[frame] == CLEAR:
                best = max(best, closeness(box, view, LEGIBLE))
            is_found |= any(_is_at(scene, car, row) for row in result.data.get("track", ()))
        return way((float(is_found or best > 0), best, was_read(self.results, car.code)))

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, players that do not follow, and the exploits."""
        return {**super().players(), **track_read_players()}
