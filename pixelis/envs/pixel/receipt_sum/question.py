"""What is asked about a receipt, and how the answer follows from the amounts of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene, percent_of
from pixelis.envs.schema import OneOf, ShortText, Stored

KINDS: tuple[str, ...] = ("named", "group", "lowest", "highest", "total", "due")
"""The sum of the lines that are named; of the lines with one word; the least and the greatest amount of
these; the sum of all lines; that sum with the tax the page adds."""

_FORMS = {
    "named": "What do these {page} lines come to together: {names}?",
    "group": "What do all {page} lines with {names} come to together?",
    "lowest": "What is the lowest amount among the {page} lines with {names}?",
    "highest": "What is the highest amount among the {page} lines with {names}?",
    "total": "What do all {page} lines come to together{untaxed}?",
    "due": "What do all {page} lines come to together, with the tax at the printed rate?",
}


@dataclass(frozen=True)
class ReceiptQuestion(Stored):
    """A question about a receipt.

    Attributes:
        kind: one of `KINDS`.
        names: the lines' names for `named`; the one word for `group`, `lowest` and `highest`; else nothing.
    """

    kind: Annotated[str, OneOf(KINDS)]
    names: tuple[Annotated[str, ShortText(24)], ...] = ()

    def rows(self, scene: ReceiptScene) -> list[int]:
        """Indices of the lines it is about, struck ones included."""
        if self.kind in ("total", "due"):
            return list(range(len(scene.lines)))
        if self.kind == "named":
            return [i for i, item in enumerate(scene.lines) if item.name in self.names]
        return [i for i, item in enumerate(scene.lines) if self.names[0] in item.name.split()]

    def text(self, scene: ReceiptScene) -> str:
        """The question in words."""
        question = _FORMS[self.kind].format(
            page=scene.form,
            names=" and ".join(filter(None, (", ".join(self.names[:-1]), *self.names[-1:]))),
            untaxed=", before tax" if scene.tax else "",
        )
        marked = any(item.mark for item in scene.lines)
        rule = " Lines struck out with a pen do not count." if marked else ""
        return f"{question}{rule} Answer with an amount to the cent."

    def answer(self, scene: ReceiptScene) -> int:
        """The true answer, cents."""
        counted = [scene.lines[i] for i in self.rows(scene) if scene.lines[i].mark != "struck"]
        return self.combine([item.amount for item in counted], scene.tax)

    def combine(self, amounts: Sequence[int], tax: int) -> int:
        """The answer in cents from the amounts (cents) of the lines that count; 0 for no line.

        Args:
            amounts: in any order.
            tax: percent, added once to the sum and rounded to the cent; for `due` alone.
        """
        match self.kind:
            case "lowest":
                return min(amounts, default=0)
            case "highest":
                return max(amounts, default=0)
            case "due":
                return sum(amounts) + percent_of(sum(amounts), tax)
            case _:
                return sum(amounts)

    def check(self) -> None:
        """Only the sums of all lines need no name."""
        if not self.names and self.kind not in ("total", "due"):
            raise ValueError(f"no names where {self.kind} needs one")


def decimal_text(cents: int) -> str:
    """Return cents as an answer is written: 1205 is "12.05"."""
    return f"{cents // 100}.{cents % 100:02d}"
