"""The page of metrics against what runs log: a row for each key, each row logged, values in their range."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from doc_pages import Page
from metric_runs import every_run

PAGE = Page("reference/metrics.md")
NAME = re.compile(r"<[^<>]+>")
ROUNDING = 1e-5
HOW = (
    "add a row to the table of its group in docs/reference/metrics.md: | `name` | unit | range | what it is, "
    "and what is healthy |, with <…> for the part of the name that varies, and, if no run of "
    "tests/docs/metric_runs.py logs it yet, a run there"
)


def within(value: float, bounds: str) -> bool:
    """Return whether a number lies in an interval written as ``[low, high)``; NaN and infinity never do."""
    low, high = (float(end) for end in bounds[1:-1].split(","))
    above = value >= low if bounds[0] == "[" else value > low
    return math.isfinite(value) and above and (value <= high if bounds[-1] == "]" else value < high)


@dataclass(frozen=True)
class MetricRow:
    """A row of the page."""

    name: str
    unit: str
    bounds: str
    text: str

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(".+".join(re.escape(part) for part in NAME.split(self.name)))

    @property
    def blanks(self) -> int:
        return len(NAME.findall(self.name))

    def holds(self, value: float) -> bool:
        return any(within(float(value) + nudge, self.bounds) for nudge in (0.0, ROUNDING, -ROUNDING))


def page_rows() -> list[MetricRow]:
    found = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+?) \| (.+?) \|$", PAGE.text, re.MULTILINE)
    return [MetricRow(*cells) for cells in found]


def row_of(key: str, rows: list[MetricRow]) -> MetricRow:
    """Return the row of a logged key: of those that fit, the one that leaves the fewest parts open."""
    fitting = [row for row in rows if row.pattern.fullmatch(key)]
    best = [row for row in fitting if row.blanks == min(each.blanks for each in fitting)]
    assert best, f"{key!r} is logged and docs/reference/metrics.md does not explain it; {HOW}"
    assert len(best) == 1, f"{key!r} fits several rows of the page: {[row.name for row in best]}"
    return best[0]


@pytest.fixture(scope="module")
def rows_of_runs(
    letter_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, list[dict[str, Any]]]:
    """Run → its rows."""
    return dict(every_run(letter_model, tmp_path_factory.mktemp("runs")))


@pytest.fixture(scope="module")
def logged(rows_of_runs: Mapping[str, list[dict[str, Any]]]) -> Mapping[str, Mapping[str, list[float]]]:
    """Metric → run that logged it → its values that are not None."""
    found: dict[str, dict[str, list[float]]] = {}
    for run, rows in rows_of_runs.items():
        for row in rows:
            for key, value in row.items():
                found.setdefault(key, {}).setdefault(run, []).extend([] if value is None else [value])
    return found


def test_the_page_is_tables_of_whole_rows_and_names_each_metric_once():
    rows = page_rows()
    assert len(rows) == sum(line.startswith("| `") for line in PAGE.text.splitlines())
    assert len({row.name for row in rows}) == len(rows) > 80
    for row in rows:
        assert re.fullmatch(r"[\[(]-?(inf|[\d.]+), (inf|[\d.]+)[\])]", row.bounds), row


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_logged_metric_has_its_row_and_lies_in_its_range(logged):
    rows = page_rows()
    for key, runs in logged.items():
        row = row_of(key, rows)
        for run, values in runs.items():
            wrong = [value for value in values if not row.holds(value)]
            assert not wrong, f"{key} was {wrong[0]} in the run {run!r}, and the page says {row.bounds}"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_row_has_the_shape_that_the_page_says(rows_of_runs):
    (block,) = re.findall(r"^```json\n(.*?)^```", PAGE.text, re.DOTALL | re.MULTILINE)
    check = jsonschema.Draft202012Validator(json.loads(block))
    for run, rows in rows_of_runs.items():
        assert [row["step"] for row in rows] == list(range(1, len(rows) + 1)), run
        for row in rows:
            check.validate(row)
    with pytest.raises(jsonschema.ValidationError):
        check.validate({**rows[0], "reward/mean": "high"})
    with pytest.raises(jsonschema.ValidationError):
        check.validate({**rows[0], "version": 1})


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_row_is_measured_in_some_run(logged):
    rows = page_rows()
    used = {row_of(key, rows).name for key, runs in logged.items() if any(runs.values())}
    unused = [row.name for row in rows if row.name not in used]
    assert not unused, f"docs/reference/metrics.md explains what no run measures: {unused}; {HOW}"


def test_a_metric_that_is_new_is_told_with_what_to_do():
    with pytest.raises(AssertionError, match=r"'policy/new_one' is logged .*add a row to the table"):
        row_of("policy/new_one", page_rows())
