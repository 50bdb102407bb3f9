"""Numbers as people write them: ``$1,204.50``, ``1.204,50``, ``(3.00)``, ``12 %``, ``2.5 million``."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import Context, Decimal

from pixelis.errors import AnswerError

MAX_NUMBER_LENGTH = 100
"""Longest text that is read as a number, characters."""

_CURRENCIES = {
    **dict.fromkeys(("$", "us$", "usd", "dollar", "dollars"), "$"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("£", "gbp"), "£"),
    **dict.fromkeys(("¥", "jpy", "yen"), "¥"),
    **dict.fromkeys(("₹", "inr", "rupee", "rupees"), "₹"),
    "chf": "chf",
}
_PERCENT = dict.fromkeys(("%", "percent", "per cent", "pct"), "%")
_UNIT_SIGNS = "%‰°¢$€£¥₹"
_FREE_UNITS = {*_CURRENCIES.values(), "%"}
_CASE_COUNTS = re.compile(r".?|pa")  # t and T, K and k, Pa and pA
_MILLI_OR_MEGA = re.compile(r"m(?:[agjlmnstvw]|bar|cal|ev|hz|i?b|bit|ohm|pa|w[hp]?|ω)(?:ps|/.*)?")
_BITS = re.compile(r"[kmgtp]?i?(b)(?:ps|/.*)?")  # and bytes
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}

_SAME = str.maketrans({**dict.fromkeys("−–‒", "-"), **dict.fromkeys("’‘", "'"), "٫": ".", "٬": ","})
_FORM = re.compile(
    r"(?P<sign>[+-]?) ?(?P<front>[^\W\d_]{0,3}[$€£¥₹]|chf|eur|gbp|inr|jpy|usd|) ?(?P<inner_sign>[+-]?) ?"
    r"(?P<number>[0-9.,'](?:[0-9.,' ]*[0-9])?)(?P<exponent>e[+-]?[0-9]{1,3})?"
    r"(?: ?(?P<scale>thousand|million|billion|trillion)(?!\w))? ?(?P<unit>.*)",
    re.IGNORECASE,
)
# What separates thousands, what the fraction, and the form; the first that fits is taken.
_NUMBERS = [
    (groups, decimal, re.compile(form))
    for groups, decimal, form in (
        ("", ".", r"[0-9]+(\.[0-9]+)?|\.[0-9]+"),
        (",", ".", r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?"),
        (",", ".", r"[1-9][0-9]?(,[0-9]{2})+,[0-9]{3}(\.[0-9]+)?"),
        (".", ",", r"[1-9][0-9]{0,2}(\.[0-9]{3})+,[0-9]+"),
        (".", ",", r"[1-9][0-9]{0,2}(\.[0-9]{3}){2,}"),
        ("", ",", r"[0-9]+,[0-9]+"),
        ("'", ".", r"[1-9][0-9]{0,2}('[0-9]{3})+(\.[0-9]+)?"),
        (" ", ".", r"[1-9][0-9]{0,2}( [0-9]{3})+(\.[0-9]+)?"),
        (" ", ",", r"[1-9][0-9]{0,2}( [0-9]{3})+,[0-9]+"),
    )
]


@dataclass(frozen=True)
class Quantity:
    """A number and its unit; the unit is empty where the text names none."""

    value: Decimal
    unit: str = ""


@dataclass(frozen=True)
class NumberTolerance:
    """How far a number may be from the truth: ``|answer - truth| <= max(absolute, relative · |truth|)``.

    Attributes:
        absolute: in the truth's own units, 0 or more.
        relative: share of the truth's size, 0 or more; 0.02 is two per cent.

    Raises:
        AnswerError: one of them is negative, not finite or no number.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("absolute", self.absolute), ("relative", self.relative)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise AnswerError(
                    f"the {name} tolerance must be a finite number of at least 0, got {value!r}; "
                    "leave it out for an exact comparison"
                )


def parse_quantity(text: str) -> Quantity | None:
    """Return the one number that a text consists of, or ``None``.

    * Decimal digits of any script count; superscripts and fractions such as ``½`` do not.
    * Thousands: ``1,204.50``, ``1.204,50``, ``1 204,50``, ``1'204.50``, ``1,20,450``. Where a text has two
      readings the English one counts: ``1,204`` is 1204 and ``1.204`` is 1.204. ``12,5`` has one: 12.5.
    * Brackets make a number negative, as in accounts: ``(3.00)`` is -3.
    * A currency may stand on either side, another unit after the number, and before that one of thousand,
      million, billion and trillion.
    * NaN, infinity and what no 64-bit float holds (``1e999``) are no numbers; nor is a text of several
      numbers, of other words, or of more than ``MAX_NUMBER_LENGTH`` characters.
    """
    if len(text) > MAX_NUMBER_LENGTH:
        return None
    text = _plain(text).removesuffix(".")
    bracketed = re.fullmatch(r"([^\W\d_]{0,3}[$€£¥₹]?) ?\( ?([^()+-]*?) ?\)", text)
    form = _FORM.fullmatch("".join(bracketed.groups()) if bracketed else text)
    if form is None or (form["sign"] and form["inner_sign"]):
        return None
    digits, unit = _digits(form["number"]), _unit(form["front"], form["unit"])
    if digits is None or unit is None:
        return None
    negative = bool(bracketed) or "-" in (form["sign"], form["inner_sign"])
    value = Decimal(f"{'-' if negative else ''}{digits}{form['exponent'] or ''}")
    if form["scale"]:
        if (scale := _SCALES.get(form["scale"].casefold())) is None:  # without case ı is i to a pattern
            return None
        value = value.scaleb(scale, _context())
    return Quantity(value, unit) if math.isfinite(float(value)) else None


def number_matches(answer: str, truth: str, tolerance: NumberTolerance = NumberTolerance()) -> bool:
    """Return whether an answer is the true number; ``truth`` is read as the answer is (``parse_quantity``).

    The comparison is of decimals, so 0.3 is within 0.1 of 0.2. An answer may leave the unit out, and may add
    a currency or ``%`` to a truth without unit; any other unit must be the truth's, in any letter case where
    that says nothing (``KWh`` is ``kWh``, ``MW`` is not ``mW``). Nothing is converted: 50 % is 50, not 0.5.
    """
    said, true = parse_quantity(answer), parse_quantity(truth)
    if said is None or true is None:
        return False
    if said.unit and not _same_unit(said.unit, true.unit) and (true.unit or said.unit not in _FREE_UNITS):
        return False
    context = _context()
    distance = context.abs(context.subtract(said.value, true.value))
    relative = context.multiply(Decimal(repr(tolerance.relative)), context.abs(true.value))
    return distance <= max(Decimal(repr(tolerance.absolute)), relative)


def _same_unit(a: str, b: str) -> bool:
    """Return whether two units are equal, but for letter case where it tells no units apart."""
    folded = a.casefold()
    if folded != b.casefold() or _CASE_COUNTS.fullmatch(folded):
        return a == b
    starts_alike = a[0] == b[0] or not _MILLI_OR_MEGA.fullmatch(folded)
    bits = _BITS.fullmatch(folded)
    return starts_alike and (bits is None or a[bits.start(1)] == b[bits.start(1)])


def _context() -> Context:
    """Return a context of its own: a program's own settings must not change a comparison."""
    return Context(prec=2 * MAX_NUMBER_LENGTH, Emin=-9999, Emax=9999, traps=[])


def _plain(text: str) -> str:
    """Return text with ASCII digits, signs and spaces; a superscript stays what it is."""
    characters = []
    for character in text.translate(_SAME):
        if character.isdecimal():
            characters.append(str(unicodedata.decimal(character)))
        else:
            numeric = unicodedata.category(character) == "No"
            characters.append(character if numeric else unicodedata.normalize("NFKC", character))
    return " ".join("".join(characters).translate(_SAME).split())


def _digits(text: str) -> str | None:
    for groups, decimal, form in _NUMBERS:
        if form.fullmatch(text):
            return (text.replace(groups, "") if groups else text).replace(decimal, ".")
    return None


def _unit(front: str, back: str) -> str | None:
    """Return the unit that stands around a number, ``""`` for none, ``None`` when it can be none."""
    if any(map(str.isdecimal, back)) or (back and not (back[0].isalpha() or back[0] in _UNIT_SIGNS)):
        return None  # a second number, or no unit
    before = _CURRENCIES.get(front.casefold(), None if front else "")
    after = {**_CURRENCIES, **_PERCENT}.get(back.casefold(), back)
    if before is None or (before and after and before != after):
        return None
    return before or after
