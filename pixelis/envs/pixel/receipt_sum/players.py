"""Scripted players of ReceiptSum: the oracle, lesser readers, guesses, and unearned reward."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pixelis.envs.actions import MAX_CALLS_PER_TURN
from pixelis.envs.pixel.base.scripted_turns import FixedTurns, ParrotQuestionPlayer, answer, call
from pixelis.envs.pixel.receipt_sum.question import ReceiptQuestion, decimal_text
from pixelis.envs.pixel.receipt_sum.sample import LEVELS, PRICES
from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene, amount_end, label_start
from pixelis.envs.players import ScriptedPlayer

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

FACTORS = (5.0, 6.0, 4.0, 7.0, 8.0)
"""Of the reader's views: the first, and one after the other where a number did not come out."""

_BEFORE, _AFTER, _HALF = 66, 8, 15.5  # what is read of a line around the end of its amount, native pixels
_LABEL = 110  # width of what is read of the tax's label, native pixels
_AMOUNT = re.compile(r"(\d{1,5})[.,](\d\d)")
_RATE = re.compile(r"(\d{1,2}) ?%")
_PEN = 60  # least difference of the RGB channels of a pen's colour, grey levels
_ACROSS = 0.8  # share of the amount's width that a stroke through it covers at least

Amounts = Mapping[int, int]
Rows = Callable[[ReceiptScene, ReceiptQuestion], Sequence[int]]
Say = Callable[[ReceiptQuestion, Amounts, int], str]


def _task(env: ToolEnv[Any]) -> tuple[ReceiptScene, ReceiptQuestion]:
    assert env.task is not None  # a player plays an episode that has begun
    return ReceiptScene.from_json(env.task.data["scene"]), ReceiptQuestion.from_json(env.task.data["ask"])


def read_cents(text: str) -> int | None:
    """Return an amount with a decimal point or comma and two decimals in cents; None for anything else."""
    found = _AMOUNT.fullmatch(text.replace(" ", ""))
    return None if found is None else 100 * int(found[1]) + int(found[2])


class ReadingPlayer:
    """Knows where lines and totals stand; reads the amounts with ZOOM and READ_TEXT, and sees what is struck.

    It looks at some rows, a view after the other, and leaves out those that a pen stroke crosses in the
    picture it is shown. What did not come out as an amount is read again in a view of another factor.

    Args:
        env: the environment.
        rows: which rows (lines, then totals) to read.
        say: the answer from the amounts (cents) by row, struck ones left out, and the tax rate.
        heeds_marks: whether what is struck is left out.
    """

    def __init__(self, env: ToolEnv[Any], rows: Rows, say: Say, *, heeds_marks: bool = True) -> None:
        self._env, self._rows, self._say, self._heeds_marks = env, rows, say, heeds_marks
        self._open: list[int] | None = None
        self._shown: list[int] = []
        self._amounts: dict[int, int] = {}
        self._tax: int | None = None
        self._misses = 0

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return ZOOM and READ_TEXTs on the next rows, then on the tax rate, then the answer."""
        scene, ask = _task(self._env)
        if self._open is None:
            self._open = list(self._rows(scene, ask))
        self._note(scene, observation["image"], info["tool_calls"])
        if self._open:
            return self._look(scene, sorted(self._open))
        if ask.kind == "due" and self._tax is None:
            self._shown = []
            return _read(scene, [_label_box(scene)], self._factor())
        return answer(self._say(ask, self._amounts, self._tax or 0))

    def _factor(self) -> float:
        return FACTORS[self._misses % len(FACTORS)]

    def _look(self, scene: ReceiptScene, rows: list[int]) -> str:
        factor = self._factor()
        room = scene.side / factor - 2 * _HALF
        self._shown = [row for row in rows if scene.row(row) - scene.row(rows[0]) <= room]
        self._shown = self._shown[: MAX_CALLS_PER_TURN - 1]
        return _read(scene, [_amount_box(scene, row) for row in self._shown], factor)

    def _note(self, scene: ReceiptScene, view: np.ndarray, results: Sequence[Mapping[str, Any]]) -> None:
        """Take over what the last turn read; rows that did not come out stay open."""
        if not results:
            return
        box, texts = results[0]["data"]["view"], [result["data"]["text"] for result in results[1:]]
        if not self._shown:
            found = _RATE.search(texts[0])
            self._tax = int(found[1]) if found else None
            self._misses += found is None
        assert self._open is not None  # act() has set it
        left = len(self._open) - len(self._shown)
        for row, text in zip(self._shown, texts, strict=False):
            if self._heeds_marks and is_struck(view, box, _amount_box(scene, row)):
                self._open.remove(row)
            elif (cents := read_cents(text)) is not None:
                self._open.remove(row)
                self._amounts[row] = cents
        self._misses += len(self._open) > left


def _amount_box(scene: ReceiptScene, row: int) -> list[float]:
    end, y = amount_end(scene), scene.row(row)
    return [v / scene.side for v in (end - _BEFORE, y - _HALF, end + _AFTER, y + _HALF)]


def _label_box(scene: ReceiptScene) -> list[float]:
    start, y = label_start(scene), scene.row(len(scene.lines) + 1)
    return [v / scene.side for v in (start - _AFTER, y - _HALF, start + _LABEL, y + _HALF)]


def _read(scene: ReceiptScene, boxes: Sequence[Sequence[float]], factor: float) -> str:
    """Return ZOOM on some boxes and READ_TEXT on each."""
    x = (boxes[0][0] + boxes[0][2]) / 2
    y = (boxes[0][1] + boxes[-1][3]) / 2
    zoom = call("ZOOM", center=[round(x, 5), round(y, 5)], factor=factor)
    return zoom + "".join(call("READ_TEXT", box=[round(v, 5) for v in box]) for box in boxes)


def is_struck(view: np.ndarray, view_box: Sequence[float], box: Sequence[float]) -> bool:
    """Return whether a stroke of a pen crosses the middle of a box from one side to the other.

    Args:
        view: uint8 [V, V, 3], what the agent is shown.
        view_box: where that is, 0-1 of the scene.
        box: where the amount stands, 0-1 of the scene.
    """
    scale = view.shape[0] / (view_box[2] - view_box[0])
    x0, x1 = (round((v - view_box[0]) * scale) for v in box[::2])
    middle, half = (box[1] + box[3]) / 2, (box[3] - box[1]) / 6
    y0, y1 = (round((middle + v - view_box[1]) * scale) for v in (-half, half))
    band = view[max(0, y0) : y1, max(0, x0) : x1].astype(np.int16)
    coloured = band.max(-1) - band.min(-1) >= _PEN
    return bool(coloured.any(0).mean() >= _ACROSS)


# ---------------------------------------------------------------------- who reads what, and what is said


def _asked_rows(scene: ReceiptScene, ask: ReceiptQuestion) -> Sequence[int]:
    return ask.rows(scene)


def _first_row(scene: ReceiptScene, ask: ReceiptQuestion) -> Sequence[int]:
    return ask.rows(scene)[:1]


def _every_row(scene: ReceiptScene, ask: ReceiptQuestion) -> Sequence[int]:
    return range(len(scene.lines))


def _total_row(scene: ReceiptScene, ask: ReceiptQuestion) -> Sequence[int]:
    return [len(scene.lines) + len(scene.totals) - 1]


def _say_answer(ask: ReceiptQuestion, amounts: Amounts, tax: int) -> str:
    return decimal_text(ask.combine(list(amounts.values()), tax))


def _say_first(ask: ReceiptQuestion, amounts: Amounts, tax: int) -> str:
    return decimal_text(next(iter(amounts.values()), 0))


def _say_extreme(ask: ReceiptQuestion, amounts: Amounts, tax: int) -> str:
    return decimal_text((max if ask.kind == "highest" else min)(amounts.values(), default=0))


def _say_all(ask: ReceiptQuestion, amounts: Amounts, tax: int) -> str:
    return ", ".join(map(decimal_text, amounts.values()))


class GuessPlayer:
    """Answers at once with an amount that suits the question and the level, drawn by the task's hash."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = env

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a guess: as many prices as the question is about, combined as it asks."""
        _, ask = _task(self._env)
        rng, level = np.random.default_rng(int(info["task"]["hash"], 16)), LEVELS[info["task"]["difficulty"]]
        group = int(rng.choice(level.group))
        count = {"named": len(ask.names), "total": level.lines, "due": level.lines}.get(ask.kind, group)
        counts = rng.integers(1, 5 if level.detailed else 2, count)
        prices = rng.integers(PRICES.start, PRICES.stop, count)
        return answer(decimal_text(ask.combine((counts * prices).tolist(), 10)))


class OverviewOnlyPlayer:
    """Reads the first view without looking closer, and combines the amounts it found; else it guesses."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = env

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return READ_TEXT, then an answer."""
        if not info["tool_calls"]:
            return call("READ_TEXT")
        words = [word for line in info["tool_calls"][-1]["data"]["lines"] for word in line["text"].split()]
        amounts = [cents for word in words if (cents := read_cents(word)) is not None]
        if not amounts:
            return GuessPlayer(self._env).act(observation, info)
        return answer(decimal_text(_task(self._env)[1].combine(amounts, 10)))


def receipt_sum_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    amounts = [decimal_text(cents) for cents in range(500, 3000, 25)]

    def reader(rows: Rows, say: Say, *, heeds_marks: bool = True) -> Callable[[ToolEnv[Any]], ScriptedPlayer]:
        return lambda env: ReadingPlayer(env, rows, say, heeds_marks=heeds_marks)

    return {
        "oracle": reader(_asked_rows, _say_answer),
        "no_marks": reader(_asked_rows, _say_answer, heeds_marks=False),
        "first_line": reader(_first_row, _say_first, heeds_marks=False),
        "tool_free": GuessPlayer,
        "overview_only": OverviewOnlyPlayer,
        "exploit_printed_total": reader(_total_row, _say_first),
        "exploit_extreme_of_all": reader(_every_row, _say_extreme),
        "exploit_list_amounts": reader(_every_row, _say_all),
        "exploit_range": lambda env: FixedTurns([answer("0.00 - 2000.00")]),
        "exploit_same_amount": lambda env: FixedTurns([answer("12.50")]),
        "exploit_parrot_question": lambda env: ParrotQuestionPlayer(),
        "exploit_tag_stuffing": lambda env: FixedTurns(["".join(map(answer, amounts))]),
        "exploit_repeat_read": lambda env: FixedTurns([call("READ_TEXT") * 16] * 3 + [answer("")]),
    }
