"""What a person sees while training."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pixelis.agents.episodes.episode import Episode
from pixelis.cli import expert, sft
from pixelis.cli.progress import EvaluationProgress, TrainingProgress, clock, describe, describe_small

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


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_alarms_that_are_on_come_first(is_terminal):
    on, out = ["success fell", "KL is large"], io.StringIO()
    console = Console(file=out, width=300, force_terminal=is_terminal)
    with TrainingProgress(console, 20, None, 0, 0, alarms=lambda: on) as progress:
        progress.update(ROW)
        assert is_terminal or "step 12/20  ALARM success fell, KL is large  success 0.50" in out.getvalue()
        progress._bar.refresh()
        assert "ALARM success fell, KL is large" in out.getvalue()
        on.clear()
        out.truncate(0)
        progress.update({**ROW, "step": 13})
    assert "ALARM" not in out.getvalue()


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


def test_a_step_without_language_in_one_line():
    row = {**ROW, "episodes/total": 96, "env_steps/total": 1234}
    text = "success 0.50 (mean of 10: 0.43)  reward 0.750  episodes 96  env steps 1234"
    assert describe_small(row) == text
    assert describe_small({**row, "episodes/invalid": 2}) == f"{text}  invalid episodes 2"
    assert describe_small({**row, "success/ma10": None}).startswith("success 0.50 (mean of 10: –)")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "loss 1.2346  epoch 0.67"),
        ({"curriculum/stage": 0}, "loss 1.2346  epoch 0.67  stage 0"),
        ({"train/loss": None}, "loss –  epoch 0.67"),
        (
            {"curriculum/stage": 2, "held_out/loss": 0.5, "held_out/accuracy": None},
            "loss 1.2346  epoch 0.67  stage 2  held out: loss 0.5000, accuracy –",
        ),
    ],
)
def test_a_supervised_step_in_one_line(more, text):
    assert sft.describe({"train/loss": 1.23456, "train/epochs": 2 / 3, **more}) == text


def test_a_round_of_expert_iteration_in_one_line():
    row = {**ROW, "expert/kept": 5, "episodes/count": 16, "train/loss": None}
    assert expert.describe(row) == "success 0.50 (mean of 10: 0.43)  reward 0.750  kept 5 of 16  loss –"


def told_by_an_evaluation(outcomes, ended=0, total=8):
    """Play an episode a letter (``+`` solved, ``-`` not, ``?`` not said, ``x`` failed); return the lines."""
    out = io.StringIO()
    with EvaluationProgress(Console(file=out, width=60), "greedy", total) as progress:
        for letter in outcomes:
            success = None if letter == "?" else letter == "+"
            progress.played([Episode("", 0, 0, 0, success=success, valid_for_training=letter != "x")])
        if ended:
            progress.ended(ended)
    return [line.partition("  eta ")[0].strip() for line in out.getvalue().splitlines()]


def test_an_evaluation_tells_each_quarter_and_counts_failures_apart():
    assert told_by_an_evaluation("+-x+") == ["greedy 2/8  success 0.50", "greedy 4/8  success 0.67  failed 1"]
    assert told_by_an_evaluation("??") == ["greedy 2/8"]  # nobody said who succeeded
    assert told_by_an_evaluation("xx") == ["greedy 2/8  failed 2"]


def test_episodes_that_have_ended_and_are_not_scored_yet_move_it_on():
    assert told_by_an_evaluation("+", ended=3) == ["greedy 4/8  success 1.00"]
    assert told_by_an_evaluation("+-", total=3) == ["greedy 1/3  success 1.00", "greedy 2/3  success 0.50"]
