"""``Pixelis/SizeCompare-v0``: measure shapes that look alike in size, and say which is the largest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture, no_texts
from pixelis.envs.pixel.base.progress import closeness, share, way, with_views
from pixelis.envs.pixel.size_compare.paint import paint_sizes, size_labels
from pixelis.envs.pixel.size_compare.players import FACTOR, size_compare_players
from pixelis.envs.pixel.size_compare.scene import LEVELS, SizeScene, sample_size_scene
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv


class ShapeTables:
    """Task source: a table with shapes, and the question which of them shows the largest area."""

    family = "size_compare"
    difficulties = range(len(LEVELS))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a scene. The two splits share no scene seed, so no task."""
        scene, winner = sample_size_scene(rng, difficulty, split)
        return Task(
            id=f"{self.family}-{difficulty}-{split}-{scene.seed:08x}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=ask_for([shape.colour for shape in scene.shapes]),
            answer=scene.shapes[winner].colour,
            data={"scene": scene.to_json()},
        )


def ask_for(colours: list[str]) -> str:
    """Return the question about shapes of these colours, two or more."""
    named = f"{', '.join(colours[:-1])} or {colours[-1]}"
    return (
        f"Which shape shows the largest area: {named}? "
        "What a grey card hides does not count. Answer with the colour."
    )


class SizeCompareEnv(PixelEnv):
    """Say which of several shapes shows the largest area; the eye cannot tell, the tools can.

    ## Description

    A table of 1536×1536 pixels holds 2 to 8 shapes, each in a colour of its own: discs, ellipses, squares,
    rectangles, triangles, pentagons, hexagons. The question names their colours: "Which shape shows the
    largest area: red, blue or pink?". The largest shows 30 % more than the next at difficulty 0, 2 % more at
    difficulty 4. Which shape has the largest box is drawn apart from which has the largest area, so outlines
    tell little; how large all of them are differs from scene to scene, so one shape's area tells little. Each
    must be picked out (SEGMENT) and measured (GET_PROPERTIES, whose `area_share` is a share of the *view*:
    compare at one factor). At difficulty 4 the overview is too coarse for that, and each
    must be looked at closely (ZOOM). From difficulty 2 on, grey cards hide parts of some shapes; what is
    hidden does not count.

    ## Rewards

    1 for the colour of the shape that shows the largest area (letter case, space around it and a final full
    stop ignored), else 0. No partial credit, and nothing for calling tools. `info["success"]` says the same.
    A guess among the colours named is right once in as many as there are shapes.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | 1 | 0: 2 shapes 30 % apart; 1: 3, 20 %, shaded; 2: 4, 10 %, cards; 3: 6, 5 %; 4: 8, 2 % |
    | `split` | `train` | `train` or `test` |
    | `reader` | `ocr` | `ocr` or `truth`; there is no text here |
    | `max_turns` | 16 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |

    ```python
    import gymnasium as gym
    import pixelis

    env = gym.make("Pixelis/SizeCompare-v0", difficulty=1)
    observation, info = env.reset(seed=0)
    calls = '<tool_call>{"name": "SEGMENT", "arguments": {"point": [0.3, 0.7]}}</tool_call>'
    calls += '<tool_call>{"name": "GET_PROPERTIES", "arguments": {"region": 1}}</tool_call>'
    observation, reward, terminated, truncated, info = env.step(calls)
    ```

    ## Version history

    * v0: first version.

    ## Source

    Our own. `python benchmarks/quality/area_error.py --scenes 25` compares the areas that the tools measure
    with the painted ones. At difficulty 4 the errors of 200 shapes span 0.1 % at factor 4 in views that lie
    on the scene's pixels, as the oracle's do, and 1.6 % at factor 5: less than the least difference of 2 %.
    In views between the pixels at factor 4 they span 2.3 % (standard deviation 0.4 %), and a close race may
    be lost.
    """

    turns = 16
    task_gap = 1.0
    tool_limits = MappingProxyType({"ZOOM": 10})  # one look at each of up to eight shapes

    def task_source(self) -> ShapeTables:
        """Return the generator of tasks."""
        return ShapeTables()

    def open_picture(self, task: Task) -> Picture:
        """Return the table of a task, with its shapes."""
        scene = SizeScene.from_json(task.data.get("scene", {}))
        return Picture(paint_sizes(scene)[0], no_texts, partial(size_labels, scene))

    def chance(self, difficulty: int) -> float:
        """Return the success of a guess among the colours that the question names."""
        return 1 / LEVELS[difficulty].shapes

    def nearness(self) -> float:
        """Return what is done of this: measure every shape (half done where from too far away), answer."""
        assert self.task is not None  # asked for in an episode
        scene = SizeScene.from_json(self.task.data["scene"])
        best = {shape.colour: 0.0 for shape in scene.shapes}
        for result, view in with_views(self.results):
            colour = result.data.get("colour") if result.tool == "GET_PROPERTIES" else None
            if colour in best:
                close = closeness(result.data["box"], view, 1 / FACTOR)
                best[colour] = max(best[colour], 0.5 + 0.5 * close)
        return way([share([*best.values()])])

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, lesser measurements and the exploits of this environment."""
        return {**super().players(), **size_compare_players()}
