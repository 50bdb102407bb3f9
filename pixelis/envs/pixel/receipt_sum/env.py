"""``Pixelis/ReceiptSum-v0``: what some lines of a long receipt or invoice come to, to the cent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.progress import found, looked_at, share, way
from pixelis.envs.pixel.receipt_sum.paint import paint_receipt, receipt_labels, receipt_texts
from pixelis.envs.pixel.receipt_sum.players import amount_box, read_cents, receipt_sum_players
from pixelis.envs.pixel.receipt_sum.question import ReceiptQuestion, decimal_text
from pixelis.envs.pixel.receipt_sum.sample import LEVELS, greatest_guess, sample_receipt
from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.rewards.answers import NumberTolerance, number_matches, parse_quantity
from pixelis.rewards.answers.agreement import AnswerForm

TOLERANCE = NumberTolerance(absolute=0.0049)
"""Just under half a cent: an amount that was not rounded is right, none is right for two truths."""


LEGIBLE = 1 / 4
"""Side of the largest view in which amounts can be read, share of the scene."""


class ReceiptPages:
    """Task source: a receipt or an invoice, and a question about the amounts of its lines."""

    family = "receipt_sum"
    difficulties = range(len(LEVELS))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a page and a question. The two splits share no scene seed, so no task."""
        scene, ask = sample_receipt(rng, difficulty, split)
        return Task(
            id=f"{self.family}-{difficulty}-{split}-{scene.seed:08x}-{ask.kind}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=ask.text(scene),
            answer=decimal_text(ask.answer(scene)),
            data={"scene": scene.to_json(), "ask": ask.to_json()},
        )


def verify_amount(task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
    """Judge an answer: 1 for the right amount to the cent, else 0; ``amount_error`` is how far off it is.

    ``amount_error`` is a metric without weight: |answer - truth| / truth, at most 1, and 1 for no amount.
    """
    success = answer is not None and number_matches(answer, task.answer, TOLERANCE)
    return Verdict(success, {"task": float(success), "amount_error": _error(answer, task.answer)})


def _is_read(scene: ReceiptScene, row: int, lines: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a line's amount was read where it stands."""
    y = scene.row(row) / scene.side
    here = (line for line in lines if line["box"][1] <= y <= line["box"][3])
    words = (word for line in here for word in line["text"].split())
    return any(read_cents(word) == scene.lines[row].amount for word in words)


def _error(answer: str | None, truth: str) -> float:
    said, true = parse_quantity(answer or ""), parse_quantity(truth)
    if said is None or true is None or not true.value:
        return 1.0
    return min(1.0, abs(float(said.value) - float(true.value)) / abs(float(true.value)))


class ReceiptSumEnv(PixelEnv):
    """Add up lines of a long receipt or invoice whose digits are too small for the first look.

    ## Description

    On a table of 1536×1536 pixels lies a receipt or an invoice of 8 to 60 lines. The question is about the
    amounts in its last column: of lines it names ("What do these receipt lines come to together: Green Tea
    and Brown Bread?"), of all lines with a word ("… with Tea …"), the lowest or highest of these, from
    difficulty 2 on of all lines, from 3 on of all lines with the tax at the printed rate. From difficulty 2
    on a pen has struck lines out, which do not count; the total at the bottom was printed before that and
    counts them. The first view shows the whole table at 384×384, where a line is 3.5 pixels high: too small
    to be read. The agent must ZOOM to the lines, READ_TEXT their amounts, see which are struck out, and
    calculate.

    Every price is drawn from 1.00 to 24.99, each cent as likely, and the lowest or highest amount that is
    asked for is never that of the whole page.

    ## Rewards

    1 for the right amount to the cent, else 0. No partial credit, and nothing for calling tools. A point or a
    comma may be the decimal mark, a currency may stand beside it. `info["success"]` says the same;
    `info["reward_terms"]["amount_error"]` says how far off the amount was (a metric of weight 0). No one
    amount is right more often than once in 250 times.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | 1 | 0: 8 lines; 1: 16; 2: 28, some struck; 3: 44, tax; 4: 60, underlined names |
    | `split` | `train` | `train` or `test` |
    | `reader` | `ocr` | `ocr`: rapidocr on pixels; `truth`: the page's text as far as it is legible |
    | `max_turns` | 16 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |

    Invoices, wide pages with numbered lines and columns, come from difficulty 2 on; quantities and prices of
    one, on every page, from 3 on. SEGMENT is scored against the page and the pen strokes.

    ```python
    import gymnasium as gym
    import pixelis

    env = gym.make("Pixelis/ReceiptSum-v0", difficulty=1)
    observation, info = env.reset(seed=0)
    calls = '<tool_call>{"name": "ZOOM", "arguments": {"center": [0.4, 0.5], "factor": 4}}</tool_call>'
    calls += '<tool_call>{"name": "READ_TEXT", "arguments": {}}</tool_call>'
    observation, reward, terminated, truncated, info = env.step(calls)
    ```

    ## Version history

    * v0: first version.

    ## Source

    Our own; SROIE (Huang et al. 2019, arXiv:2103.10213) and CORD (Park et al. 2019) are photographs of
    receipts whose fields are read, without arithmetic.
    """

    turns = 16
    task_gap = 1.0
    tool_limits = MappingProxyType({"ZOOM": 16, "READ_TEXT": 150})  # a long receipt is read row by row

    def task_source(self) -> ReceiptPages:
        """Return the generator of tasks."""
        return ReceiptPages()

    def judge(self, task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
        """Judge an answer: see ``verify_amount``."""
        return verify_amount(task, answer, workspace)

    def open_picture(self, task: Task) -> Picture:
        """Return the table of a task, with the page, its texts and the pen strokes."""
        scene = ReceiptScene.from_json(task.data.get("scene", {}))
        ReceiptQuestion.from_json(task.data.get("ask", {}))  # one that players cannot read is a bad task
        return Picture(paint_receipt(scene)[0], partial(receipt_texts, scene), partial(receipt_labels, scene))

    def chance(self, difficulty: int) -> float:
        """Return a bound on how often any one amount is right: see ``greatest_guess``."""
        return greatest_guess(difficulty)

    def nearness(self) -> float:
        """Return what is done of this: see the asked lines close, read those that count, answer."""
        assert self.task is not None  # asked for in an episode
        scene = ReceiptScene.from_json(self.task.data["scene"])
        ask = ReceiptQuestion.from_json(self.task.data["ask"])
        rows = ask.rows(scene)
        seen = [looked_at(self.results, amount_box(scene, row), LEGIBLE) for row in rows]
        lines = [*found(self.results, "READ_TEXT", "lines")]
        read = [_is_read(scene, row, lines) for row in rows if scene.lines[row].mark != "struck"]
        return way((share(seen), share(read)))

    @property
    def answer_form(self) -> AnswerForm:
        """A number, to the cent."""
        return AnswerForm("number", tolerance=asdict(TOLERANCE))

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, the tool-free baselines and the exploits of this environment."""
        return {**super().players(), **receipt_sum_players()}
