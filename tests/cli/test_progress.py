"""What a person sees while training."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pixelis.cli.progress import TrainingProgress, clock, describe

ROW = {
    "step": 12,
    "success/rate": 0.5,
    "success/ma10": 0.4321,
    "reward/mean": 0.75,
    "policy/kl_reference": 0.00123,
    "groups/dropped": 3,
    "groups/count": 8,
    "episodes/invalid": 0,
    "policy/skipped_updates": 0,
    "time/tokens_per_second": 812.4,
    "time/elapsed": 60.0,
}


def test_a_step_in_one_line():
    expected = (
        "success 0.50 (mean of 10: 0.43)  reward 0.750  KL 0.0012  zero-variance groups 3/8  812 tokens/s"
    )
    assert describe(ROW) == expected


def test_what_is_unknown_is_a_dash_and_trouble_is_told():
    text = describe({**ROW, "success/rate": None, "policy/kl_reference": None})
    assert "success – " in text and "KL –" in text
    text = describe({**ROW, "episodes/invalid": 4, "policy/skipped_updates": 2})
    assert text.endswith("tokens/s  invalid episodes 4  skipped updates 2")


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3725, "1:02:05")])
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_elsewhere_than_in_a_terminal_each_step_is_one_line():
    out = io.StringIO()
    with TrainingProgress(
        Console(file=out, width=60), steps=20, minutes=None, done=11, elapsed_seconds=0
    ) as progress:
        progress.update(ROW)
        progress.update({**ROW, "step": 13})
    lines = out.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["step 12/20", "step 13/20"]
    assert all("eta " in line for line in lines)


def test_the_time_limit_bounds_the_eta():
    out = io.StringIO()
    console = Console(file=out, width=200)
    with TrainingProgress(console, steps=10**9, minutes=1.5, done=0, elapsed_seconds=0) as progress:
        progress.update(ROW)
    assert out.getvalue().rstrip().endswith("eta 0:30")


def test_a_terminal_gets_a_bar():
    out = io.StringIO()
    console = Console(file=out, width=160, force_terminal=True)
    with TrainingProgress(console, steps=20, minutes=None, done=0, elapsed_seconds=0) as progress:
        progress.update(ROW)
    assert "step 12/20" in out.getvalue() and "━" in out.getvalue()
