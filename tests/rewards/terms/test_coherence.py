"""Coherence by hand: pairs, repetitions, contradictions, similarity, and the term that pays it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixel_traits import coherence_term

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.terms import coherence as module
from pixelis.rewards.terms.coherence import CoherenceSettings, CoherenceTerm, cosine
from pixelis.rewards.terms.term import Transition


def coherence(made, similarity=None):
    """Return the coherence of calls in a pixel environment."""
    return module.coherence(made, similarity, coherence_term().settings)


def calls(text):
    """``"ZOOM:a READ_TEXT !SEGMENT"``: tools with an argument after the colon, ``!`` for one that failed."""
    made = []
    for word in text.split():
        tool, _, argument = word.lstrip("!").partition(":")
        made.append({"tool": tool, "ok": word[0] != "!", "arguments": {"at": argument} if argument else {}})
    return made


@pytest.mark.parametrize(
    ("made", "value"),
    [
        ("", 0.0),
        ("ZOOM", 0.0),
        ("GET_PROPERTIES", 0.0),  # fewer than two calls
        ("ZOOM READ_TEXT", 0.2),
        ("SEGMENT GET_PROPERTIES", 0.2),
        ("SEGMENT TRACK", 0.2),
        ("READ_TEXT ZOOM", 0.0),
        ("ZOOM !READ_TEXT", 0.0),  # a pair that was not carried out earns nothing
        ("!ZOOM READ_TEXT", 0.0),
        ("ZOOM:a ZOOM:b", 0.0),  # looking elsewhere is no repetition
        ("ZOOM:a ZOOM:a", -0.5),
        ("ZOOM:a ZOOM:a ZOOM:a", -0.5),  # the mean of two
        ("SEGMENT GET_PROPERTIES:1 SEGMENT:p GET_PROPERTIES:2", 0.2),  # a second object is measured
        ("SEGMENT GET_PROPERTIES:1 GET_PROPERTIES:2", 0.2),
        ("GET_PROPERTIES SEGMENT", -0.3),  # the contradiction only, no bad pair
        ("GET_PROPERTIES TRACK", -0.3),
        ("!SEGMENT GET_PROPERTIES", -0.3),
        ("GET_PROPERTIES SEGMENT GET_PROPERTIES", -0.05),  # (-0.3 + 0.2) / 2
        ("ZOOM:a READ_TEXT ZOOM:b READ_TEXT", 0.2),  # another place each time
        ("ZOOM:a READ_TEXT ZOOM:a READ_TEXT", -0.15),  # +0.2, and the pair again -0.5
        ("ZOOM:a READ_TEXT ZOOM:a READ_TEXT ZOOM:a READ_TEXT", -0.325),  # +0.2 and three repetitions
        ("THINK:1 THINK:2", 0.0),
        ("THINK:1 THINK:1 THINK:1", 0.0),  # no effect, so no value either way
        ("READ_TEXT THINK:1 READ_TEXT THINK:2 READ_TEXT", -0.5),  # thoughts do not hide a loop
        ("ZOOM THINK READ_TEXT", 0.2),
    ],
)
def test_calls_by_hand(made, value):
    assert coherence(calls(made)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("similarity", "value"),
    [
        *[(0.3, 0.25), (0.5, 0.25), (0.7, 0.25), (0.8, 0.2), (0.9, 0.2), (0.91, 0.0), (1.0, 0.0)],
        *[(0.2, 0.2), (0.1, 0.2), (0.09, -0.05), (-1.0, -0.05), (None, 0.2)],
    ],
)
def test_similarity_is_one_more_term(similarity, value):
    assert coherence(calls("ZOOM READ_TEXT"), similarity) == pytest.approx(value)


def test_similarity_needs_two_calls_too():
    assert coherence(calls("ZOOM"), 0.5) == 0.0


@given(
    st.lists(st.sampled_from(["ZOOM", "READ_TEXT", "SEGMENT", "GET_PROPERTIES", "TRACK", "THINK", ""])),
    st.none() | st.floats(-1, 1),
)
def test_always_between_minus_one_and_one(tools, similarity):
    assert -1.0 <= coherence([{"tool": tool} for tool in tools], similarity) <= 1.0


@given(st.integers(2, 40))
def test_more_of_the_same_pair_never_pays_more(count):
    once, often = calls("ZOOM:a READ_TEXT"), calls("ZOOM:a READ_TEXT " * count)
    assert coherence(often) < coherence(once)


def test_without_an_environment_that_declares_its_tools_only_repetitions_count():
    assert module.coherence(calls("ZOOM READ_TEXT")) == 0.0 == module.coherence(calls("GET_PROPERTIES ZOOM"))
    assert module.coherence(calls("THINK:1 THINK:1")) == -0.5


def test_records_without_arguments_and_with_odd_ones():
    odd = [{"tool": "ZOOM", "arguments": None}, {"tool": "ZOOM", "arguments": {"x": [1, {"y": "é"}]}}, {}]
    assert coherence(odd) == 0.0
    assert coherence([odd[1], dict(odd[1])]) == -0.5


def test_cosine_by_hand():
    a = np.array([3.0, 4.0], np.float32)
    assert cosine(a, a) == pytest.approx(1.0)
    assert cosine(a, np.array([-4.0, 3.0], np.float32)) == pytest.approx(0.0)
    assert cosine(a, np.array([5.0, 0.0], np.float32)) == pytest.approx(0.6)
    assert cosine(a, np.zeros(2, np.float32)) == 0.0


# ---------------------------------------------------------------------- the term


def step(made="", ended=False, before="a", after="b"):
    return Transition({"text": before}, "", {"text": after}, tuple(calls(made)), terminated=ended)


def test_the_term_pays_the_whole_episode_at_its_end():
    term = coherence_term()
    memory, other = term.begin(), term.begin()
    assert term.score([(memory, step("ZOOM:a")), (other, step("GET_PROPERTIES SEGMENT", ended=True))]) == [
        0.0,
        -0.3,
    ]
    assert term.score([(memory, step("READ_TEXT", ended=True))]) == [pytest.approx(0.2)]


def angle_encoder(observation):
    """An embedding at an angle that the text gives in degrees."""
    radians = np.deg2rad(float(observation["text"]))
    return np.array([np.cos(radians), np.sin(radians)], np.float32)


def test_the_term_measures_consecutive_states():
    term = CoherenceTerm(encoder=angle_encoder)
    memory = term.begin()
    term.score([(memory, step("ZOOM:a", before="0", after="60"))])  # cosine 0.5
    (value,) = term.score([(memory, step("ZOOM:b", ended=True, before="60", after="120"))])
    assert memory.cosines == pytest.approx([0.5, 0.5])
    assert value == pytest.approx(0.3)


def test_encoders_are_checked():
    sizes = iter([2, 2, 3])
    term = CoherenceTerm(encoder=lambda observation: np.ones(next(sizes), np.float32))
    memory = term.begin()
    term.score([(memory, step())])
    with pytest.raises(RewardError, match=r"coherence: .*\(2,\).*\(3,\)"):
        term.score([(memory, step())])
    flat = CoherenceTerm(encoder=lambda observation: np.ones((1, 2), np.float32), name="mine")
    with pytest.raises(RewardError, match=r"mine: .*\(1, 2\)"):
        flat.score([(flat.begin(), step())])
    nan = CoherenceTerm(encoder=lambda observation: np.full(2, np.nan, np.float32))
    with pytest.raises(RewardError, match=r"coherence: .*NaN"):
        nan.score([(nan.begin(), step())])


def test_settings_come_from_plain_data():
    term = CoherenceTerm(good_pairs=[["CLICK", "READ"]], good=0.4, ignored=["WAIT"])
    made = ({"tool": "CLICK"}, {"tool": "WAIT"}, {"tool": "READ"})
    ended = Transition({}, "", {}, made, truncated=True)
    assert term.score([(term.begin(), ended)]) == [0.4]
    assert CoherenceTerm(encoder="numpy:zeros")._encoder is np.zeros


@pytest.mark.parametrize(
    "settings",
    [
        {"goood": 1.0},
        {"good": "much"},
        {"good": "0.2"},
        {"repetition": True},
        {"near": "0.3"},
        {"repeatable": "ZOOM"},
        {"ignored": 5},
        {"good_pairs": ["AB"]},
        {"good_pairs": [["A", "B", "C"]]},
        {"prerequisites": ["ZOOM"]},
        {"encoder": 5},
        {"near": [0.1, 0.2]},
        {"near": [0.1, 0.2, float("nan")]},
        {"good_pairs": ["ZOOM"]},
        {"encoder": "nowhere_at_all:x"},
        {"encoder": "nothing"},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(ConfigError):
        CoherenceTerm(**settings)
    assert CoherenceSettings().good == 0.2
