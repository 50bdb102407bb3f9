"""How two players compare, as a table: every number by hand, and a dash for what nobody knows."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.paired import compare
from pixelis.cli.pair import comparison_table


def played(outcomes: str, rewards: tuple[float, ...] = ()) -> list[Episode]:
    """Return an episode a letter: ``+`` solved, ``-`` not, ``?`` not said, ``x`` failed infrastructure."""
    rewards = rewards or tuple(float(letter == "+") for letter in outcomes)
    return [
        Episode(
            "", seed, seed, 0, success=None if letter == "?" else letter == "+", reward=reward,
            valid_for_training=letter != "x",
        )
        for seed, (letter, reward) in enumerate(zip(outcomes, rewards, strict=True))
    ]  # fmt: skip


def cells(first: list[Episode], second: list[Episode]) -> list[str]:
    """Return the row of one mode as it is printed."""
    out = io.StringIO()
    table = comparison_table({"greedy": compare(first, second)})
    Console(file=out, width=200).print(table)
    (row,) = [line for line in out.getvalue().splitlines() if "greedy" in line]
    return [cell.strip() for cell in row.strip("│").split("│")]


def test_a_row_by_hand():
    row = cells(played("++--+x"), played("+-+++-"))
    assert row[:6] == ["greedy", "5 (+1 failed)", "2", "1", "2", "0"]
    assert row[6].startswith("+0.200 (-") and row[7] == "1"  # 2 of 3 by a fair coin
    assert row[8].startswith("+0.200 (")


def test_the_sign_says_whom_the_difference_is_for():
    losing = cells(played("++++++"), played("------"))
    assert losing[2:6] == ["0", "6", "0", "0"]
    assert losing[6].startswith("-1.000 (-1.000 to -") and losing[7] == "0.031"  # 2 / 2**6
    assert losing[8] == "-1.000 (-1.000 to -1.000)"


def test_an_environment_that_does_not_say_who_succeeded():
    row = cells(played("??", (0.5, 1.5)), played("??", (1.0, 2.0)))
    assert row == ["greedy", "2", *["–"] * 6, "+0.500 (+0.500 to +0.500)"]


@pytest.mark.parametrize(("first", "second"), [("x+", "+x"), ("xx", "xx"), ("x", "x")])
def test_without_a_pair_nothing_is_known(first, second):
    assert cells(played(first), played(second)) == ["greedy", f"0 (+{len(first)} failed)", *["–"] * 7]
