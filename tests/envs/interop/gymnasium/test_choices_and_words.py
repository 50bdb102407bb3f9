"""Every action that can be said is understood again; nothing that is said makes an error; tables by hand."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.interop.gymnasium.choices import Free, Named, Numbers, choices_of
from pixelis.envs.interop.gymnasium.known import family_of
from pixelis.envs.interop.gymnasium.tabular import best_actions, transitions_of
from pixelis.envs.interop.gymnasium.words import first_sentence, plain, said, success_in

SPACES = [
    spaces.Box(-2, 3, (2, 2), np.float32),
    spaces.Box(0, 9, (3,), np.int64),
    spaces.MultiDiscrete([2, 5, 3], start=[1, 0, -1]),
    spaces.MultiBinary(4),
]
NAMED = Named(["left", "pick up", "up", "drop"])


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_is_said_is_understood(space: Any):
    space.seed(3)
    choices = Numbers(space)
    for _ in range(50):
        action = space.sample()
        np.testing.assert_allclose(choices.read(choices.word(action)), action, rtol=1e-3, atol=1e-3)
    for index, name in enumerate(NAMED.names):
        assert NAMED.read(NAMED.word(index)) == index and NAMED.read(f"I will {name.upper()} now") == index


@given(st.text())
def test_no_text_is_an_error(text: str):
    for choices in (NAMED, Free(spaces.Text(9)), *map(Numbers, SPACES)):
        found = choices.read(text)
        assert found is None or choices.read(choices.word(found)) is not None


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("pick up", 1),  # not up, which is inside
        ("up, and up again", 2),
        ("first left, then <answer> Drop. </answer>", 3),
        ("3", 3),
        ("-3", None),
        ("2.5", None),
        ("left, up", None),
        ("uphill", None),
        ("<answer>left", 0),
        ("<think>left or up?</think>Drop.", 3),
        ("so <answer>left</answer></think><answer>drop</answer>", 3),
        ("step 1 of my plan: left", None),  # a number is a choice, too: two are mentioned
    ],
)
def test_names_by_hand(text: str, action: int | None):
    assert NAMED.read(text) == action


@pytest.mark.parametrize("text", ["1e999 0 0 0", "1 2 3", "9 9 9 9", "nan nan nan nan"])
def test_numbers_out_of_range_or_too_few_are_none(text: str):
    assert Numbers(SPACES[0]).read(text) is None


def test_whole_numbers_are_whole():
    whole = Numbers(spaces.MultiDiscrete([2, 5]))
    assert whole.read("1.5 2") is None and list(whole.read("(1, 4)")) == [1, 4]
    assert whole.rule == "Reply with 2 whole numbers, separated by spaces, from 0 to 1, 0 to 4."
    for digits in ("99999999999999999999", "9" * 5000):
        assert Numbers(spaces.Box(0, 255, (1,), np.uint8)).read(digits) is None
        assert Numbers(spaces.MultiDiscrete([3])).read(digits) is None
        assert Numbers(spaces.Box(-1, 1, (1,), np.float32)).read(digits) is None
    assert Numbers(spaces.Box(-1, 1, (1,), np.float32)).read("1e39") is None


def test_a_walk_by_hand():
    # two states and a goal; from 0 a sure 1 now ends it, or a step leads to 1, where 3 is paid
    stay: list[Any] = [(1.0, 2, 0.0, True)]
    table = {
        0: {0: [(1.0, 2, 1.0, True)], 1: [(1.0, 1, 0.0, False)]},
        1: {0: [(1.0, 2, 3.0, True)], 1: stay},
        2: {0: stay, 1: stay},
    }
    assert list(best_actions(table)[:2]) == [1, 0]
    assert list(best_actions(table, 0.3)[:2]) == [0, 0]  # 3 · 0.3 < 1
    risky = {**table, 0: {0: table[0][0], 1: [(0.3, 1, 0.0, False), (0.7, 2, 0.0, True)]}}
    assert best_actions(risky)[0] == 0  # 0.3 · 3 · 0.99 < 1
    assert transitions_of(gym.make("CartPole-v1")) is None


def test_words_by_hand():
    assert (
        plain("\n\x1b[41mS\x1b[0mF\n\x1b[35mY\x1b[0m \x1b[34;1mB\x1b[0m\n")
        == "[S]F\nY B\nmagenta: Y; blue: B"
    )
    assert said(spaces.Box(-1, 1, (2,)), np.array([0.123456, -1.0], np.float32)) == "0.1235 -1"
    assert (
        said(spaces.Box(0, 9, (1, 2, 3), np.uint8), np.arange(6, dtype=np.uint8).reshape(1, 2, 3))
        == "0-1-2 3-4-5"
    )
    both = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 9, (2, 2), np.int64)})
    assert said(both, {"a": 2, "b": np.array([[1, 2], [3, 4]])}) == "a: 2\nb:\n1 2\n3 4"
    assert first_sentence("\n  ## Description\n\n  A room. It is\n  empty.\n\n  More.") == "A room."
    assert first_sentence(None) == "" and first_sentence("word " * 200, 20) == "word word word …"
    assert family_of("minigrid:Mini/Grid-5x5-v10") == "Grid-5x5" and family_of("Taxi-v4") == "Taxi"
    assert success_in({"success": np.True_}) is True and success_in({"success": 0.5}) is None


def test_choices_that_do_not_begin_with_0_are_called_by_their_own_numbers():
    class Counts(gym.Env):
        action_space = spaces.Discrete(3, start=1)

    choices = choices_of(Counts(), "Counts-v0")
    assert choices.rule == "Reply with one of these words: 1, 2, 3."
    assert [choices.read(word) for word in "0123"] == [None, 1, 2, 3]
    assert [choices.word(action) for action in (1, 2, 3)] == ["1", "2", "3"]


def test_a_name_that_is_a_number_is_a_name():
    named = Named(["10", "1", "stay"])
    assert [named.read(word) for word in ("10", "1", "0", "2", "stay")] == [0, 1, None, None, 2]


def test_a_text_is_told_of_its_characters_and_may_stand_in_an_answer():
    free = Free(spaces.Text(4, charset="ba "))
    assert free.rule == "Reply with a text of 1 to 4 characters of these: ab "
    assert (free.read("ab a"), free.read("I say <answer>b</answer>"), free.read("abc")) == ("ab a", "b", None)
