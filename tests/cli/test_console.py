"""What is told beside a command's own words: each warning once, and the sizes of a split."""

from __future__ import annotations

import io
import logging

import pytest
from rich.console import Console

from pixelis.cli.console import open_console, warnings_on
from pixelis.cli.split_data import report

logger = logging.getLogger("pixelis.some.room")


def test_each_kind_of_warning_is_told_once_and_only_inside_the_block():
    out = io.StringIO()
    with warnings_on(Console(file=out, width=40)):
        logger.warning("%d of %d episodes [red]failed[/red], which is a long line for a narrow place", 1, 8)
        logger.warning("%d of %d episodes [red]failed[/red], which is a long line for a narrow place", 2, 8)
        logger.error("another")
        logger.info("nothing to warn of")
    logger.warning("too late")
    assert out.getvalue().splitlines() == [
        "warning: 1 of 8 episodes [red]failed[/red], which is a long line for a narrow place",
        "error: another",
    ]


def test_a_block_that_raises_takes_its_handler_away():
    before = list(logging.getLogger("pixelis").handlers)
    with pytest.raises(KeyError), warnings_on(Console(file=io.StringIO())):
        raise KeyError
    assert logging.getLogger("pixelis").handlers == before


def test_into_a_pipe_a_line_has_120_columns(capsys):
    open_console().print("x" * 121)
    assert capsys.readouterr().out == f"{'x' * 120}\nx\n"


def manifest(strata: dict[str, tuple[int, int, int]]) -> dict:
    parts = ("sft", "grpo", "held_out")
    return {
        "rows": 8,
        "groups": 6,
        "largest_group": 2,
        "near_duplicate_pairs": 1,
        "sizes": dict(zip(parts, (4, 3, 1), strict=True)),
        "strata": {name: dict(zip(parts, counts, strict=True)) for name, counts in strata.items()},
    }


def test_the_sizes_of_a_split_by_hand():
    assert report(manifest({"all": (4, 3, 1)})).splitlines() == [
        "8 tweets in 6 groups, the largest of 2",
        "1 pairs of near-duplicates by different authors or by nobody",
        "sft             4   50.0%",
        "grpo            3   37.5%",
        "held_out        1   12.5%",
    ]


def test_strata_that_a_part_has_none_of_are_named_up_to_eight():
    said = report(manifest({"en": (2, 2, 1), "de": (2, 1, 0)})).splitlines()
    assert said[-1] == "2 strata, 1 of them not in every part: de"
    many = {f"s{number}": (1, 0, 0) for number in range(9)}
    last = report(manifest(many)).splitlines()[-1]
    assert last == "9 strata, 9 of them not in every part: s0, s1, s2, s3, s4, s5, s6, s7, …"
    assert report(manifest({"a": (1, 1, 1), "b": (3, 2, 1)})).endswith(
        "2 strata, 0 of them not in every part"
    )


def test_a_part_that_is_to_be_empty_is_missed_by_no_stratum():
    one = manifest({"a": (1, 1, 0), "b": (3, 2, 0)})
    one["sizes"]["held_out"] = 0
    assert report(one).endswith("2 strata, 0 of them not in every part")
