"""``Pixelis/ChartRead-v0``: the value of a bar or a point of a chart whose labels are too small to read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.progress import found, way
from pixelis.envs.pixel.base.splits import asked_index
from pixelis.envs.pixel.chart_read.axis import VALUES
from pixelis.envs.pixel.chart_read.paint import chart_labels, paint_chart
from pixelis.envs.pixel.chart_read.players import chart_read_players
from pixelis.envs.pixel.chart_read.sample import LEVELS, sample_chart
from pixelis.envs.pixel.chart_read.scene import MARK_RADIUS, ChartScene
from pixelis.envs.pixel.chart_read.text import chart_texts
from pixelis.envs.pixel.tools.calculate import CALCULATE
from pixelis.envs.pixel.tools.toolset import PIXEL_TOOLS
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.rewards.answers import TypedAnswer, parse_quantity
from pixelis.rewards.answers.agreement import AnswerForm

TOLERANCE = 0.02
"""How far an answer may be from the true value, share of the value."""


class Charts:
    """Task source: a chart, and the question what value one of its bars or points has."""

    family = "chart_read"
    difficulties = range(len(LEVELS))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a scene. The two splits share no scene seed, so no task."""
        scene, series, category = sample_chart(rng, difficulty, split)
        row, unit = scene.series[series], scene.title.rpartition(" ")[2]
        which = f"for {row.name}" if LEVELS[difficulty].by_name else f"in the {row.colour} series"
        return Task(
            id=f"{self.family}-{difficulty}-{split}-{scene.seed:08x}-{series}-{category}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=ask_for(scene.categories[category], which, unit),
            answer=f"{scene.value(series, category):.5g} {unit}",
            data={"scene": scene.to_json(), "series": series, "category": category},
        )


def ask_for(category: str, which: str, unit: str) -> str:
    """Return the question about one category of one series."""
    return f"What is the value of {category} {which}? Answer with a number, in {unit}."


def asked_point(task: Task) -> tuple[ChartScene, int, int]:
    """Return the scene of a task, and the series and category it asks for.

    Raises:
        TaskError: the task's data hold no such scene, series or category.
    """
    scene = ChartScene.from_json(task.data.get("scene", {}))
    series = asked_index(task, "series", len(scene.series), "series")
    return scene, series, asked_index(task, "category", len(scene.categories), "categories")


def verify_value(task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
    """Judge an answer: 1 for a number within ``TOLERANCE`` of the value, else 0.

    ``value_error`` is a metric without weight: |answer - truth| / truth, at most 1, and 1 for no number.
    """
    truth = TypedAnswer("number", task.answer, tolerance={"relative": TOLERANCE})
    success = answer is not None and truth.matches(answer)
    return Verdict(success, {"task": float(success), "value_error": _error(answer or "", task.answer)})


def _error(answer: str, truth: str) -> float:
    said, true = parse_quantity(answer), parse_quantity(truth)
    if said is None or true is None or not true.value:
        return 1.0
    return min(1.0, abs(float(said.value) - float(true.value)) / abs(float(true.value)))


def _outlines(scene: ChartScene, series: int, category: int, region: Mapping[str, Any]) -> bool:
    """Return whether a region is the bar's upper end or the mark that stands for a value."""
    left, top, right, bottom = (value * scene.size for value in region["box"])
    if region["colour"] != scene.series[series].colour:
        return False
    if scene.kind == "bars":
        bar = scene.bar(series, category)
        return abs(top - bar[1]) <= MARK_RADIUS and bar[0] <= (left + right) / 2 <= bar[2]
    column, row = scene.point(series, category)
    return max(abs((left + right) / 2 - column), abs((top + bottom) / 2 - row)) <= MARK_RADIUS


class ChartReadEnv(PixelEnv):
    """Read a value off a chart whose labels are too small for the first look.

    ## Description

    A bar or line chart of 1536×1536 pixels with 1 to 6 series of 5 to 12 categories. The question names a
    category and a series: "What is the value of Tuesday in the blue series?", from difficulty 2 on by the
    name in the legend: "What is the value of Mar for Delta?". The first view shows the whole chart at
    384×384, where all texts but the title are 4 pixels high: too small to be read. The agent must ZOOM to the
    labels of the value axis and READ_TEXT there, find the bar or mark, outline it with SEGMENT (its box's
    upper edge, or its middle, is the height), and interpolate between two labels, in logarithms where "log
    scale" is written in the upper right corner; CALCULATE works an expression out. Boxes
    are told with four decimals here, a sixth of a pixel of the scene.

    Labels have five characters whatever the scale (`0.042`, `4.170`, `41.70`, `417.0`, `4.17k`: k is 1,000),
    steps are no round numbers, and the value is drawn apart from its height in the picture, so a chart whose
    labels were not read tells nothing. No label is within 3 % of the value.

    ## Action space

    `Utf8Text(16384)`: one whole assistant turn. Its calls are run in document order; an answer ends the
    episode. What stands in `<think>…</think>`, or before a first `</think>`, is passed over.

    | call | arguments | effect |
    |---|---|---|
    | ZOOM | `center` + `factor` 1–50 (default 4), or `box`, or `region` | the view becomes the square there |
    | READ_TEXT | optional `box` or `region` | text of the current view, with boxes and confidence |
    | SEGMENT | `point`, `box`, `colour`, or nothing | that region; else what stands out, of that colour |
    | GET_PROPERTIES | `region` | colour, area, shape and position of a region of the current view |
    | CALCULATE | `expression` of numbers, + - * / ( ), log, exp, sqrt | its value, six digits |
    | THINK | `thought` | nothing |

    Coordinates are `[x, y]` and `[x0, y0, x1, y1]` in 0–1 of the scene, whatever the view.

    ## Rewards

    1 for a number within 2 % of the value, else 0; the unit may be left out, or written in another letter
    case where that means the same (`KWh`, `Tonnes`). No partial credit, and nothing for calling tools.
    `info["success"]` says the same; `info["reward_terms"]["value_error"]` says how far off the number was, as
    a share of the value, at most 1 (a metric of weight 0). Values are spread log-uniformly over three
    decades, so the best guess is right once in 173 times.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | 1 | 0: 1 series of bars; 1: 2, lines too; 2: 3, axes not from zero; 3: 4, log; 4: 6 |
    | `split` | `train` | `train` or `test` |
    | `reader` | `ocr` | `ocr`: rapidocr on pixels; `truth`: the chart's texts as far as they are legible |
    | `max_turns` | 12 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |

    The grid goes at difficulty 2, where five labels are left on the axis, four at 3, three at 4.

    ```python
    import gymnasium as gym
    import pixelis

    env = gym.make("Pixelis/ChartRead-v0", difficulty=1)
    observation, info = env.reset(seed=0)
    calls = '<tool_call>{"name": "ZOOM", "arguments": {"center": [0.1, 0.5], "factor": 6}}</tool_call>'
    calls += '<tool_call>{"name": "READ_TEXT", "arguments": {}}</tool_call>'
    observation, reward, terminated, truncated, info = env.step(calls)
    ```

    ## Version history

    * v0: first version.

    ## Source

    Our own; reading charts with visual tools is what OpenThinkIMG (Su et al. 2025, arXiv:2505.08617) trains.
    `python benchmarks/quality/chart_error.py` compares what the tools return with what was painted: the rows
    of 600 bars and marks are off by 0.8 pixels of the scene at most, those of 511 labels by 0.5, while 2 %
    of the value asked for is 5.7 pixels or more.
    """

    tools = (*PIXEL_TOOLS, CALCULATE)
    turns = 12
    task_gap = 1.0
    tool_limits = MappingProxyType({"ZOOM": 8})  # the title, the axis, its labels and the mark
    box_decimals = 4  # of 1,536 pixels: a sixth of one

    def task_source(self) -> Charts:
        """Return the generator of tasks."""
        return Charts()

    def judge(self, task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
        """Judge an answer: see ``verify_value``."""
        return verify_value(task, answer, workspace)

    def open_picture(self, task: Task) -> Picture:
        """Return the chart of a task, with its texts, bars and lines."""
        scene, _, _ = asked_point(task)
        return Picture(paint_chart(scene)[0], partial(chart_texts, scene), partial(chart_labels, scene))

    def chance(self, difficulty: int) -> float:
        """Return the success of any one number among values that are log-uniform over ``VALUES``.

        A number g is right for values from g / (1 + t) to g / (1 - t), t being the tolerance.
        """
        return math.log((1 + TOLERANCE) / (1 - TOLERANCE)) / math.log(VALUES[1] / VALUES[0])

    def nearness(self) -> float:
        """Return what is done of this: read two labels of the axis, outline what is asked for, answer."""
        assert self.task is not None  # asked for in an episode
        scene, series, category = asked_point(self.task)
        labels = {label.replace(" ", "").lower() for label in scene.ticks}
        lines = found(self.results, "READ_TEXT", "lines")
        read = labels & {word["text"].replace(" ", "").lower() for line in lines for word in line["words"]}
        outlined = any(
            _outlines(scene, series, category, row) for row in found(self.results, "SEGMENT", "regions")
        )
        return way((min(1.0, len(read) / 2), float(outlined)))

    @property
    def answer_form(self) -> AnswerForm:
        """A number, within the tolerance of the verifier."""
        return AnswerForm("number", tolerance={"relative": TOLERANCE})

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, lesser readings and the exploits of this environment."""
        return {**super().players(), **chart_read_players()}
