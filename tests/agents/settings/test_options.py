"""Fields that check themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from pixelis.agents.settings.options import check_options, option, within
from pixelis.errors import ConfigError


@dataclass(frozen=True)
class Settings:
    count: int = option("A", 1, "how many", "[1, 10)")
    rate: float = option("A", 0.5, "how fast", "(0, 1]")
    limit: float | None = option("A", None, "until when", "(0, inf)")
    kind: Literal["left", "right"] = option("B", "left", "which way")
    flag: bool = option("B", False, "whether")
    name: str = option("B", "x", "what")
    extra: dict[str, Any] = option("B", dict, "more")  # noqa: RUF009
    choice: Literal["mild", "hot"] | str = option("B", "mild", "a choice that others can extend")

    def __post_init__(self) -> None:
        check_options(self)


@pytest.mark.parametrize(
    "good",
    [
        {"count": 9},
        {"rate": 1},
        {"rate": 1.0},
        {"limit": None},
        {"limit": 3},
        {"kind": "right"},
        {"flag": True},
        {"extra": {"a": 1}},
        {"choice": "hot"},
        {"choice": "kitchen.spices:smoky"},
    ],
)
def test_good_values(good):
    assert Settings(**good) is not None


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"count": 0}, r"count must be an integer in \[1, 10\), got 0"),
        ({"count": 10}, r"count must be an integer in \[1, 10\), got 10"),
        ({"count": 2.0}, "count must be an integer"),
        ({"count": True}, "count must be an integer"),
        ({"rate": 0}, r"rate must be a number in \(0, 1\], got 0"),
        ({"rate": float("nan")}, "rate must be a number"),
        ({"rate": "fast"}, "got 'fast'"),
        ({"limit": float("inf")}, r"limit must be a number in \(0, inf\) or none"),
        ({"kind": "lefty"}, "one of left, right, got 'lefty'. Did you mean 'left'"),
        ({"flag": 1}, "flag must be true or false"),
        ({"name": 3}, "name must be text"),
        ({"extra": [1]}, "extra must be a mapping"),
        ({"extra": {1: 2}}, "extra must be a mapping"),
        ({"choice": "hotter"}, "one of mild, hot or module:name, got 'hotter'. Did you mean 'hot'"),
        ({"choice": ":smoky"}, "choice must be one of mild, hot or module:name"),
        ({"choice": 3}, "choice must be one of mild, hot or module:name"),
    ],
)
def test_bad_values(bad, message):
    with pytest.raises(ConfigError, match=message):
        Settings(**bad)


def test_each_instance_has_its_own_mapping():
    assert Settings().extra is not Settings().extra


@pytest.mark.parametrize(
    ("value", "bounds", "expected"),
    [(1, "[1, 2)", True), (2, "[1, 2)", False), (1, "(1, 2]", False), (2, "(1, 2]", True), (-5, "", True)],
)
def test_intervals(value, bounds, expected):
    assert within(value, bounds) is expected
