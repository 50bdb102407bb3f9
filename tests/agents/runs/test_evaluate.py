"""Evaluation: counts by hand, intervals from the literature, the same for every kind of agent."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.runs.evaluate import (
    AtOnce,
    counted_text,
    evaluate,
    evaluation_table,
    oracle_gaps,
    play,
    summarise,
    wilson_interval,
)
from pixelis.agents.runs.evaluation_file import evaluation_to_row, row_to_evaluation
from pixelis.errors import ConfigError


# Newcombe (1998), Statistics in Medicine 17:857-872, table I, method 3.
@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_interval_reproduces_published_values(successes: int, trials: int, low: float, high: float):
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_holds_the_share(counts: tuple[int, int]):
    successes, trials = counts
    low, high = wilson_interval(successes, trials)
    assert 0 <= low < high <= 1
    assert trials == 0 or low - 1e-12 <= successes / trials <= high + 1e-12


def test_a_summary_by_hand():
    episodes = [
        Episode(
            "E-v0", 0, 0, 0, reward=1.0, success=True, turns=2, tool_calls=[{"tool": "A"}, {"tool": "B"}]
        ),
        Episode("E-v0", 1, 1, 0, reward=0.5, success=False, turns=4, reward_terms={"task": 0.5}),
        Episode("E-v0", 2, 2, 0, reward=9.0, success=True, turns=9, valid_for_training=False),
        Episode("E-v0", 3, 3, 0, reward=0.0, success=None, turns=3, tool_calls=[{"tool": "A"}, {"tool": ""}]),
    ]
    result = summarise(episodes, agent="x", mode="greedy")
    assert (result.env_id, result.episodes, result.failed) == ("E-v0", 3, 1)
    assert (result.success_rate, result.mean_reward, result.mean_turns) == pytest.approx((1 / 3, 0.5, 3.0))
    assert result.tool_calls == pytest.approx({"(none)": 1 / 3, "A": 2 / 3, "B": 1 / 3})
    assert result.reward_terms == pytest.approx({"task": 0.5 / 3})
    assert result.interval == wilson_interval(1, 3)
    assert json.loads(json.dumps(result.to_json()))["interval"] == list(result.interval)


def test_a_task_that_is_played_again_counts_once_in_the_interval():
    """Three rows, played 67, 67 and 66 times; the second is always solved."""
    info = [{"task": {"hash": f"h{i}"}} for i in range(3)]
    episodes = [Episode("E-v0", i, i, 0, success=i % 3 == 1, info=info[i % 3]) for i in range(200)]
    found = summarise(episodes, agent="x", mode="greedy")
    assert (found.episodes, found.different, found.success_rate) == (200, 3, 67 / 200)
    assert found.interval == pytest.approx(wilson_interval(3 * 67 / 200, 3))  # 0.06 to 0.79
    assert counted_text(found) == "200 (3 different)"
    assert counted_text(played("x", True, False)) == "2"


def test_what_nobody_knows_is_no_failure():
    """Two of four are labelled, of one of them the context was full: one success of two."""
    unknown = {"unlabelled": True}
    episodes = [
        Episode("E-v0", 0, 0, 0, success=True),
        Episode("E-v0", 1, 1, 0, cut_off=True),
        Episode("E-v0", 2, 2, 0, info=unknown),
        Episode("E-v0", 3, 3, 0, info=unknown),
    ]
    found = summarise(episodes, agent="x", mode="greedy")
    assert (found.success_rate, found.interval) == (0.5, wilson_interval(1, 2))
    assert (found.episodes, found.different, found.unlabelled) == (4, 4, 2)
    assert counted_text(found) == "4 (2 without labels)"
    assert row_to_evaluation(evaluation_to_row(found)) == found
    for unjudged in (episodes[2:], episodes[1:]):  # nobody knows what was asked of the one that was cut off
        nothing = summarise(unjudged, agent="x", mode="greedy")
        assert not nothing.says_success and counted_text(nothing) == str(len(unjudged))


def played(name, *successes, mode="greedy", **fields):
    episodes = [Episode("E-v0", i, i, 0, success=success, **fields) for i, success in enumerate(successes)]
    return summarise(episodes, agent=name, mode=mode)


def test_the_gap_to_the_oracle_by_hand():
    oracle = played("oracle", True, True, True, False, mode="scripted")
    agent, fewer = played("agent", True, False, False, False), played("agent", True)
    gaps = [row.oracle_gap for row in oracle_gaps([agent, oracle, fewer])]
    assert gaps == [0.5, 0.0, None]  # other tasks have no gap to these
    assert [row.oracle_gap for row in oracle_gaps([agent])] == [None]
    assert oracle_gaps([played("oracle", True), agent])[1].oracle_gap is None  # a model of that name


def test_the_gap_is_in_the_table_where_there_is_one():
    rows = [played("oracle", True, True, mode="scripted"), played("agent", True, False)]
    columns = [column.header for column in evaluation_table(oracle_gaps(rows)).columns]
    assert columns[-1] == "oracle gap"
    assert list(evaluation_table(oracle_gaps(rows)).columns[-1].cells) == ["0.000", "0.500"]
    assert "oracle gap" not in [column.header for column in evaluation_table(rows).columns]


def test_a_summary_has_rapr_and_tool_scores():
    segment = {"tool": "SEGMENT", "scores": {"iou": 0.5}}
    calls, none = (
        Episode("E-v0", seed, seed, 0, tool_calls=each, visual_tools=frozenset({"SEGMENT"}))
        for seed, each in enumerate(([segment, {"tool": "THINK"}], []))
    )
    row = summarise([calls, none], agent="x", mode="greedy")
    assert (row.visual_episodes, row.tool_scores) == (0.5, {"SEGMENT/iou": 0.5})
    assert played("x").visual_episodes is None


def test_scripted_policies_over_held_out_seeds(letter_env: Callable[..., gym.Env]):
    oracle = evaluate("oracle", letter_env, range(12))
    guess = evaluate(
        "guess", letter_env, range(12)
    )  # says "a": never right on the test split, whose letters are c, d
    assert (oracle.success_rate, oracle.mean_turns, oracle.tool_calls) == (1.0, 2.0, {"LOOK": 1.0})
    assert (guess.success_rate, guess.mean_turns, guess.mode) == (0.0, 1.0, "scripted")
    train = evaluate("guess", letter_env, range(12), options={"split": "train"})
    assert 0 < train.success_rate < 1


def test_a_language_policy_plays_every_seed_once(text_policy: Policy, letter_env: Callable[..., gym.Env]):
    settings = SamplingSettings(max_new_tokens=4)
    whole = evaluate(text_policy, letter_env, range(7), settings=settings, name="random weights")
    pieces = evaluate(
        text_policy, letter_env, range(7), settings=settings, name="random weights", batch_size=3
    )
    assert whole == pieces
    assert (whole.episodes, whole.mode, whole.agent, whole.success_rate) == (
        7,
        "sampled",
        "random weights",
        0.0,
    )
    assert (
        evaluate(text_policy, letter_env, [0], settings=SamplingSettings(greedy=True, max_new_tokens=2)).mode
        == "greedy"
    )


def test_threads_play_together_and_change_nothing(text_policy: Policy, letter_env: type[gym.Env]):
    meeting = threading.Barrier(2, timeout=60)

    class Meeting(letter_env):  # type: ignore[misc, valid-type]
        """Two resets must be in it at the same time."""

        def reset(self, **more: Any) -> Any:
            meeting.wait()
            return super().reset(**more)

    settings = SamplingSettings(max_new_tokens=4)
    together, _ = play(text_policy, Meeting, range(6), settings=settings, at_once=AtOnce(threads=2))
    alone, _ = play(text_policy, letter_env, range(6), settings=settings)
    assert [episode.reward for episode in together] == [episode.reward for episode in alone]
    for one, other in zip(together, alone, strict=True):
        for played, expected in zip(one.segments, other.segments, strict=True):
            np.testing.assert_array_equal(played.tokens, expected.tokens)


def test_no_seeds_are_refused(letter_env: Callable[..., gym.Env]):
    with pytest.raises(ConfigError, match="at least one seed"):
        evaluate("oracle", letter_env, [])


def test_the_table_shows_each_evaluation(letter_env: Callable[..., gym.Env]):
    results = [evaluate(name, letter_env, range(4)) for name in ("oracle", "nothing")]
    console = Console(file=io.StringIO(), width=120)
    console.print(evaluation_table(results, title="Letters"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(piece in text for piece in ("Letters", "oracle", "nothing", "1.000", "0.000", "LOOK 1.0"))
