"""What a run says of its levels."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from pixelis.agents.ued.outcomes import outcomes_of
from pixelis.agents.ued.report import MOST_LABELS, LevelReport, is_solved
from pixelis.agents.ued.sampler import LevelOutcome, SampledLevel
from pixelis.agents.ued.space import Level


def test_the_share_of_groups_without_variance(outcome):
    report = LevelReport(3)
    played = [
        outcome(successes=0),
        outcome(successes=2),
        outcome(successes=4),
        outcome(successes=1),
        outcome(successes=0, trained=False, origin="edit"),
        outcome(successes=2, origin="replay"),
    ]
    row = report.note(played, [["d=0"], ["d=0"], ["d=1"], ["d=1"], ["d=1"], ["d=0", "d=0"]])
    assert row["zero_variance"] == 2 / 5  # of five that are trained on
    assert (row["scored_only"], row["replayed"], row["alert"]) == (1, 1, 0)
    assert (row["d=0/groups"], row["d=0/success"]) == (3, pytest.approx(1 / 3))
    assert row["d=0/zero_variance"] == pytest.approx(1 / 3)
    assert (row["d=1/success"], row["d=1/zero_variance"]) == (pytest.approx(5 / 12), pytest.approx(2 / 3))


def test_groups_whose_episodes_all_failed_count_nowhere():
    lost = LevelOutcome(SampledLevel(Level((0,), 0)), (), (), None)
    row = LevelReport(1).note([lost], [["d=0"]])
    assert row["zero_variance"] is None and row["alert"] == 0 and "d=0/groups" not in row


def test_without_regret_there_is_no_score(outcome):
    assert outcome(successes=1).score == pytest.approx(1 / 4)  # nobody asked the oracle
    assert outcome(successes=1, oracle=1.0).score == pytest.approx(1 / 4)
    assert outcome(successes=1, oracle=0.0).score == 0.0  # luck
    assert outcome(successes=2, oracle=0.5).score == 0.0


def test_flat_at_the_maximum(outcome):
    draw = SampledLevel(Level((), 0))
    assert is_solved(outcome(successes=4)) and not is_solved(outcome(successes=3))
    assert not is_solved(outcome(successes=0))
    assert is_solved(LevelOutcome(draw, (1.0, 1.0), (1.0, 1.0)))  # the environment says nothing of success
    assert not is_solved(LevelOutcome(draw, (0.5, 0.5), (0.5, 0.5)))
    assert not is_solved(
        LevelOutcome(draw, (0.9, 1.0), (0.9, 1.0), 2)
    )  # both succeeded, there is a difference


def test_the_alert_is_told_once_a_stretch(outcome, caplog):
    report, solved, other = LevelReport(3), [outcome(successes=4)] * 2, [outcome(successes=4), outcome()]
    alerts = [report.note(each, [[], []])["alert"] for each in (solved, solved, other, *[solved] * 4)]
    assert alerts == [0, 0, 0, 0, 0, 1, 1]
    assert caplog.text.count("ALERT: for 3 steps every reward was the best there is") == 1
    report.note(other, [[], []])
    assert [report.note(solved, [[], []])["alert"] for _ in range(3)] == [0, 0, 1]
    assert caplog.text.count("ALERT") == 2


def test_state_comes_back(outcome):
    one, two = LevelReport(3), LevelReport(3)
    for k in (0, 2, 4, 4):
        one.note([outcome(successes=k)], [[f"difficulty={k}", "family=a"]])
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert two.state_dict() == one.state_dict()
    assert two.note([outcome(successes=4)], [["family=a"]]) == one.note(
        [outcome(successes=4)], [["family=a"]]
    )
    assert two.state_dict() == one.state_dict()


def test_the_table(outcome):
    report = LevelReport(3)
    assert report.table() is None
    for level, k in ((10, 0), (9, 4), (9, 2)):
        report.note([outcome(successes=k)], [[f"difficulty={level}"]])
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(report.table())
    rows = [line.split("│")[1:-1] for line in console.export_text().splitlines() if "difficulty" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["difficulty=9", "2", "0.75", "0.75", "0.50"],
        ["difficulty=10", "1", "0.00", "0.00", "1.00"],
    ]


def test_labels_are_bounded(outcome):
    report = LevelReport(3)
    report.note([outcome()] * (MOST_LABELS + 9), [[f"d={n}"] for n in range(MOST_LABELS + 9)])
    assert len(report.state_dict()["tallies"]) == MOST_LABELS


def test_outcomes_leave_out_what_cannot_be_trained_on(play):
    draws = [SampledLevel(Level((0,), 7)), SampledLevel(Level((1,), 7))]
    episodes = [
        play(1.0, group=0, member=0, success=True),
        play(0.0, group=0, member=1, success=False),
        play(9.0, group=0, member=2, success=True, valid_for_training=False),
        play(float("nan"), group=0, member=3, success=True),
        play(0.5, group=1, member=0, success=None, reward_parts={"task": {"raw": 0.25}}),
        play(0.5, group=1, member=1, success=True),
    ]
    first, second = outcomes_of(draws, episodes)
    assert (first.rewards, first.successes, first.members) == ((1.0, 0.0), 1, 2)
    assert first.score == pytest.approx(1 * 1 / 2) and not first.zero_variance
    assert (second.rewards, second.returns, second.successes) == ((0.5, 0.5), (0.25, 0.5), None)
    assert second.zero_variance and second.score == pytest.approx(0.0625)
