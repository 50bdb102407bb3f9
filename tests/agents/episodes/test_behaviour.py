"""What episodes did, counted by hand."""

from __future__ import annotations

import math

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.behaviour import (
    action_shares,
    behaviour_metrics,
    group_metrics,
    length_metrics,
    tool_scores,
)
from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.runs.metrics import tool_metrics

CALL = '<tool_call>{"name": "ZOOM", "arguments": {}}</tool_call>'


def call(tool, **arguments):
    return {"tool": tool, "ok": True, "arguments": arguments}


def episode(*texts, calls=(), **fields):
    segments = [Segment.given([1])]
    for text in texts:
        segments += [Segment.written([2, 2], text=text), Segment.given([3])]
    fields = {
        "group": 0,
        "tool_calls": list(calls),
        "visual_tools": frozenset({"ZOOM", "READ_TEXT"}),
        **fields,
    }
    return Episode("Toy-v0", 0, member=0, segments=segments, **fields)


def test_shares_of_actions_by_hand():
    episodes = [
        episode(CALL, f"{CALL}<answer>x</answer>", calls=[call("ZOOM"), call("")]),
        episode("just talk", calls=[]),
    ]
    row = action_shares(episodes)
    assert row == {
        "actions/ZOOM": 0.25,
        "actions/answer": 0.25,
        "actions/bad_call": 0.25,
        "actions/none": 0.25,
        "actions/entropy": pytest.approx(math.log(4)),
    }
    assert action_shares([]) == {"actions/entropy": None}


def test_visual_operations_and_loops_by_hand():
    episodes = [
        episode(
            calls=[call("ZOOM", factor=2), call("THINK"), call("ZOOM", factor=2), call("ZOOM", factor=4)]
        ),
        episode(calls=[call("THINK", text="a"), call("THINK", text="b")]),
        episode(calls=[call("READ_TEXT"), call("READ_TEXT"), call("READ_TEXT")]),
        episode(),
    ]
    row = behaviour_metrics(episodes)
    assert row["visual/episodes"] == 2 / 4 and row["visual/calls"] == 6 / 9
    assert row["loops/calls"] == 3 / 9 and row["loops/episodes"] == 2 / 4
    row = behaviour_metrics([*episodes, episode(calls=[call("ZOOM")], visual_tools=None)])
    assert row["visual/episodes"] is row["visual/calls"] is None and row["loops/calls"] == 3 / 10
    nothing = behaviour_metrics([])
    assert nothing["visual/episodes"] is None and nothing["loops/calls"] is None


def test_exploration_efficiency_by_hand():
    failed = {**call("ZOOM", factor=9), "ok": False}
    episodes = [
        # new, new, repeated, failed; then failed, failed, new (it works now), new (in this episode)
        episode(calls=[call("ZOOM", factor=2), call("THINK"), call("ZOOM", factor=2), failed]),
        episode(calls=[failed, failed, call("ZOOM", factor=9), call("ZOOM", factor=2)]),
        episode(),
    ]
    row = behaviour_metrics(episodes)
    assert row["exploration/efficiency"] == (2 + 2) / 8
    assert row["loops/calls"] == 3 / 8 and row["loops/episodes"] == 2 / 3  # a failed call is repeated too
    assert behaviour_metrics([episode()])["exploration/efficiency"] is None
    assert behaviour_metrics([episode(calls=[failed])])["exploration/efficiency"] == 0


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=8))
def test_what_is_neither_new_nor_repeated_has_failed(made):
    """Where a call always fails or always works, the three shares make up all calls."""
    outcomes = dict(made)
    calls = [{"tool": "ZOOM", "arguments": {"factor": f}, "ok": outcomes[f]} for f, _ in made]
    row = behaviour_metrics([episode(calls=calls)])
    if calls:
        failed_first = sum(not ok for ok in outcomes.values()) / len(calls)
        assert row["exploration/efficiency"] + row["loops/calls"] + failed_first == pytest.approx(1)


def test_tool_scores_are_means_over_the_calls_that_have_them():
    def scored(tool, **values):
        return {**call(tool), "scores": values}

    episodes = [
        episode(calls=[scored("SEGMENT", iou=0.5), scored("READ_TEXT", cer=0.25), call("SEGMENT")]),
        episode(calls=[scored("SEGMENT", iou=1.0), scored("SEGMENT", iou=0.75)]),
    ]
    assert tool_scores(episodes) == {"READ_TEXT/cer": 0.25, "SEGMENT/iou": 0.75}
    assert tool_scores([episode(calls=[call("ZOOM")]), episode()]) == {}
    row = tool_metrics(episodes)
    assert (row["tools/SEGMENT/iou"], row["tools/READ_TEXT/cer"]) == (0.75, 0.25)


def test_the_visual_tools_are_those_that_declare_it():
    env = gym.make("Pixelis/TrackRead-v0")
    runner = EpisodeRunner(env, EpisodeRequest(0))
    runner.reset()
    names = set(env.unwrapped.toolset.tools)
    assert runner.episode.visual_tools == names - {"THINK"} and "SELECT_FRAME" in names
    env = gym.make("Pixelis/TweetReply-v0")
    assert EpisodeRunner(env, EpisodeRequest(0)).episode.visual_tools == frozenset()


def test_groups_by_hand():
    def member(group, reward, success=None):
        return episode(group=group, reward=reward, success=success)

    episodes = [
        *(member(0, 1.0, True), member(0, 1.0, True)),
        *(member(1, 0.0, False), member(1, 2.0, False)),
        *(member(2, 0.0, True), member(2, 0.0, False), member(2, math.inf, False)),
        member(3, 5.0, True),
    ]
    row = group_metrics(episodes)
    assert row["groups/reward_std"] == pytest.approx(math.sqrt(2) / 3)
    assert row["groups/all_right"] == row["groups/all_wrong"] == 1 / 3
    assert set(group_metrics([member(0, 1.0)]).values()) == {None}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_quantiles_are_in_order(turns):
    row = length_metrics([episode(turns=count) for count in turns])
    values = [row[f"turns/{name}"] for name in ("min", "p10", "p50", "p90", "max")]
    assert values == sorted(values) and values[0] <= row["turns/mean"] <= values[-1]


def test_cut_turns_are_a_share_of_all_turns():
    row = length_metrics([episode(turns=3, cut_turns=1), episode(turns=1, cut_turns=1), episode(turns=4)])
    assert row["turns/cut"] == 2 / 8
    assert length_metrics([])["turns/cut"] is None
