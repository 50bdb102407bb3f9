"""The calls whose values a prompt tells: examples in a docstring or a statement."""

from __future__ import annotations

import re

from pixelis.envs.coding.answers.python_source import parse_trusted
from pixelis.envs.coding.problems.assertions import translate
from pixelis.envs.coding.problems.problem import Problem, TestCase

_TOLD = re.compile(r"[ \t#]*(?:=|->|➞|→|(?:is|gives|returns?|should[ \t]+(?:be|return))\b)")
_DOCTEST = re.compile(r">>>[ \t]*\Z")
_GOES_ON = re.compile(r"\n[ \t]*\.\.\.")
_MOST_CHARACTERS = 2_000
_MOST_ENDS = 20  # closing parentheses that are tried as a call's end


def shown_calls(problem: Problem) -> tuple[TestCase, ...]:
    """Return the calls with literal arguments that a problem's prompt shows with a value.

    Its examples; and in the statement and the given code ``>>> f(2)`` as in a doctest, and ``f(2) == 4`` or
    another sign or word for it (``➞``, ``->``, ``returns``). But for the examples, the value is not read
    and stands as None.
    """
    texts = dict.fromkeys((problem.statement, problem.prefix))
    return problem.examples + tuple(case for text in texts for case in _in_text(text, problem.entry))


def _in_text(text: str, entry: str) -> list[TestCase]:
    found: list[TestCase] = []
    for match in re.finditer(rf"(?<!def )(?<![\w.]){re.escape(entry)}\(", text):
        window = _GOES_ON.sub("\n", text[match.start() : match.start() + _MOST_CHARACTERS])
        call = _call_at_start(window)
        rest = window[len(call) :].partition("\n")[0]
        is_doctest = _DOCTEST.search(text[: match.start()].rpartition("\n")[2]) and not rest.strip()
        if call and (is_doctest or _TOLD.match(rest)):
            found += translate(f"assert {call} is None", entry).cases
    return found


def _call_at_start(text: str) -> str:
    """Return the call that a text begins with; empty where there is none."""
    end = 0
    for _ in range(_MOST_ENDS):
        end = text.find(")", end) + 1
        if not end:
            break
        if parse_trusted(text[:end]) is not None:
            return text[:end]
    return ""
