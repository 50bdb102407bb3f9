"""Watching: which episodes are scored, what is written down, when and how often the alarm is told."""

from __future__ import annotations

import json

import pytest

from pixelis.agents.runs.alarm_watch import QUIET
from pixelis.agents.runs.run_alarms import RunAlarms
from pixelis.agents.runs.watch.scorers import make_scorers, mean_score
from pixelis.agents.runs.watch.watch import Watch, spread
from pixelis.agents.settings.rl import WatchSettings
from pixelis.errors import ConfigError, RewardError

AGAINST = {"watch_scorers:Reward": {"factor": -1.0}}
NAME = "watch_scorers:Reward"
WATCHED = "reward and watched scores part"


@pytest.fixture
def steps(play):
    """Return a function that shows a watch steps of two episodes with these rewards."""

    def note(watch, *rewards):
        rows = []
        for reward in rewards:
            episodes = [play(reward, member=member) for member in range(2)]
            rows.append(watch.note(episodes, {"reward/mean": reward}))
        return rows

    return note


def test_means_are_written_and_the_alarm_needs_two_whole_windows(steps):
    rows = steps(Watch(WatchSettings(scores=AGAINST, window=2)), 0.0, 0.0, 1.0, 1.0, 1.0)
    assert [row[f"watch/{NAME}"] for row in rows] == [0, 0, -1, -1, -1]
    # Windows (0, 0 | 1, 1): no noise, so the rise and the fall count; then (0, 1 | 1, 1): 1/2 ≤ 2 · 1/2.
    assert [row["watch/alarm"] for row in rows] == [None, None, None, 1, 0]


def test_a_score_that_rises_with_the_reward_is_no_alarm(steps):
    rows = steps(Watch(WatchSettings(scores={NAME: {}}, window=2)), 0.0, 0.0, 1.0, 1.0)
    assert rows[-1]["watch/alarm"] == 0


def test_a_stretch_of_alarms_is_told_once_with_numbers_and_advice(steps, caplog):
    watch = Watch(WatchSettings(scores=AGAINST, window=2, z=0.5))
    words = {WATCHED: lambda: watch.words}
    alarms = RunAlarms("warn", lambda name: words[name](), lambda factor: {})

    def train(*rewards):
        for reward in rewards:
            alarms.note(steps(watch, reward)[0])

    train(0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0)
    assert len(caplog.records) == 1
    assert caplog.records[0].levelname == "WARNING"
    assert "over the last 2 x 2 steps the reward rose from 0 to 1" in caplog.text
    assert f"while {NAME}, which nothing is paid by, fell from 0 to -1" in caplog.text
    assert "--beta" in caplog.text
    train(*[3.0] * (QUIET + 3))
    assert watch.words is None
    train(4.0, 4.0)
    assert len(caplog.records) == 2  # a new stretch, after a quiet one


def test_a_resumed_watch_goes_on_as_an_unbroken_one(steps):
    rewards = (0.0, 0.1, 0.0, 1.0, 1.1, 1.0, 1.2)
    whole = steps(Watch(WatchSettings(scores=AGAINST, window=2)), *rewards)
    first = Watch(WatchSettings(scores=AGAINST, window=2))
    halves = steps(first, *rewards[:3])
    second = Watch(WatchSettings(scores=AGAINST, window=2))
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert halves + steps(second, *rewards[3:]) == whole


def test_a_scorer_that_is_new_since_a_checkpoint_begins_without_a_past(steps):
    old = Watch(WatchSettings(scores={NAME: {}}, window=2))
    steps(old, 0.0, 0.0, 0.0)
    new = Watch(WatchSettings(scores={"watch_scorers:Letters": {}}, window=2))
    new.load_state_dict(old.state_dict())
    assert [row["watch/alarm"] for row in steps(new, 1.0, 1.0, 1.0, 1.0)] == [None, None, None, 0]


def test_steps_without_a_valid_episode_are_left_out(play):
    watch = Watch(WatchSettings(scores=AGAINST, window=2))
    lost = [play(0.0, valid_for_training=False, failure_reason="no network")]
    assert watch.note(lost, {"reward/mean": None}) == {f"watch/{NAME}": None, "watch/alarm": None}
    for reward in (0.0, 0.0, 1.0, 1.0):
        row = watch.note([play(reward)], {"reward/mean": reward})
    assert row["watch/alarm"] == 1


def test_episodes_are_spread_over_the_groups(play):
    episodes = [play(float(number), member=number) for number in range(9)]
    assert [one.reward for one in spread(episodes, 3)] == [0, 4, 8]
    assert [one.reward for one in spread(episodes, 20)] == list(range(9))


def test_an_evaluation_scores_all_episodes(play):
    watch = Watch(WatchSettings(scores={NAME: {"factor": 2.0}}, episodes=1))
    assert watch.means([play(1.0), play(2.0), play(6.0)]) == {NAME: 6.0}
    assert watch.means([]) == {}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"tweet_evaluatoin": {}}, "Did you mean 'tweet_evaluation'?"),
        ({"watch_scorers:Missing": {}}, "cannot be imported"),
        ({"no_such_module:Class": {}}, "cannot be imported"),
        ({"watch_scorers:Reward": {"faktor": 1}}, "watch: watch_scorers:Reward: "),
        ({"watch_scorers:Reward": 3}, "expected keywords such as {}, got 3"),
        ({"watch_scorers:NOTHING": {}}, "expected something that takes episodes, got dict"),
    ],
)
def test_a_wrong_scorer_is_told(values, told):
    with pytest.raises(ConfigError) as caught:
        make_scorers(values, {"tweet_evaluation": "somewhere:Else"})
    assert told in str(caught.value)
    with pytest.raises(ConfigError, match="The environment has none of its own"):
        make_scorers({"mine": {}}, {})


@pytest.mark.parametrize("name", ["watch_scorers:TooFew", "watch_scorers:NotFinite"])
def test_a_score_that_is_no_number_is_told_with_the_scorers_name(name, play):
    (scorer,) = make_scorers({name: None}, {}).values()
    with pytest.raises(RewardError, match=f"watch: {name}: expected 2 finite numbers"):
        mean_score(name, scorer, [play(0.0), play(1.0)])
