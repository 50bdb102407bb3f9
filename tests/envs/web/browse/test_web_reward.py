"""The web reward: values worked out by hand, and that failing never pays more than succeeding."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pixelis.envs.web.browse.reward import TERMS, WebEpisode, WebRewardConfig, web_terms
from pixelis.errors import ConfigError

SIZES = st.floats(0, 2, allow_nan=False)
SHARES = st.floats(0, 1, allow_nan=False)
COUNTS = st.integers(0, 1_000)


def total(episode: WebEpisode, config: WebRewardConfig | None = None) -> float:
    return sum(web_terms(episode, config).values())


def test_a_perfect_episode():
    terms = web_terms(WebEpisode(True, last=1.0, steps=4, oracle_steps=4))
    assert terms == {
        "success": 1.0,
        "goal": 0.2,
        "efficiency": 0.0,
        "invalid": 0.0,
        "format": 0.0,
        "safety": 0.0,
    }
    assert tuple(terms) == TERMS


@pytest.mark.parametrize(
    ("steps", "deducted"), [(4, 0), (5, -0.025), (6, -0.05), (8, -0.1), (40, -0.1), (2, 0)]
)
def test_efficiency(steps: int, deducted: float):
    terms = web_terms(WebEpisode(True, last=1.0, steps=steps, oracle_steps=4))
    assert terms["efficiency"] == pytest.approx(deducted)


def test_a_failure_is_paid_for_its_goal_alone():
    assert total(WebEpisode(False, first=0.25, last=0.5, steps=99)) == pytest.approx(0.2 * (0.25 / 0.75))
    assert total(WebEpisode(False, first=0.5, last=0.25)) == 0.0
    assert total(WebEpisode(False, first=0.5, last=0.5)) == 0.0


def test_caps():
    terms = web_terms(WebEpisode(False, invalid=3, format_errors=1))
    assert (terms["invalid"], terms["format"]) == (pytest.approx(-0.06), -0.05)
    terms = web_terms(WebEpisode(False, invalid=30, format_errors=10))
    assert (terms["invalid"], terms["format"]) == (-0.1, -0.05)


def test_what_is_unsafe_is_no_success():
    assert total(WebEpisode(True, unsafe=True, last=1.0)) == pytest.approx(0.2 - 0.5)


@given(
    config=st.tuples(*[SIZES] * 8),
    win=st.tuples(COUNTS, COUNTS, COUNTS, st.integers(1, 1_000), SHARES),
    loss=st.tuples(COUNTS, COUNTS, COUNTS, SHARES, SHARES, st.booleans(), st.booleans()),
)
def test_no_failure_outscores_a_success_under_any_config(config, win, loss):
    try:
        sizes = WebRewardConfig(*config)
    except ConfigError:
        assume(False)
        return
    steps, invalid, wrong, oracle, first = win
    won = WebEpisode(True, False, first, 1.0, steps, oracle, invalid, wrong)
    solved, unsafe = loss[5] and loss[6], loss[6]  # a failure is not solved, or solved in an unsafe way
    lost = WebEpisode(solved, unsafe, loss[3], loss[4], loss[0], oracle, loss[1], loss[2])
    assert not lost.success
    assert total(lost, sizes) < total(won, sizes)


@pytest.mark.parametrize(
    "bad",
    [
        {"success": 0.2},
        {"invalid": -1},
        {"safety": float("nan")},
        {"goal": float("inf")},
        {"invalid_cap": 0.9},
        {"success": True},
    ],
)
def test_bad_sizes_are_refused(bad: dict[str, float]):
    with pytest.raises(ConfigError):
        replace(WebRewardConfig(), **bad)
