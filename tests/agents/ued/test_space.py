"""The space that dials span, and what an environment declares."""

from __future__ import annotations

from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.ued.space import Level, LevelSpace, level_space
from pixelis.errors import ConfigError


def drawn(draw, count=3000):
    rng = np.random.default_rng(0)
    counts = Counter(draw(rng) for _ in range(count))
    return {cell: number / count for cell, number in counts.items()}


def test_cells_that_exist(families):
    assert families.cells == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert families.values((0, 2)) == {"family": "shop", "difficulty": 3}
    assert families.label((0, 2)) == "family=shop,difficulty=3"
    assert not families.contains((1, 1)) and not families.contains((0, 3)) and not families.contains((0,))


def test_uniform_over_cells_and_over_the_values_of_dials(families):
    assert all(abs(share - 1 / 4) < 0.03 for share in drawn(families.draw).values())
    by_dial = drawn(families.draw_by_dial)
    assert abs(by_dial[(1, 0)] - 1 / 2) < 0.03
    assert all(abs(by_dial[(0, place)] - 1 / 6) < 0.03 for place in range(3))


def test_without_dials_a_level_is_a_seed():
    space = LevelSpace({})
    rng = np.random.default_rng(0)
    assert space.cells == [()] and space.draw(rng) == space.draw_by_dial(rng) == ()
    assert space.options(()) == {} and space.neighbours(()) == []


def test_neighbours_turn_one_dial_of_numbers(families):
    assert families.neighbours((0, 1)) == [(0, 0), (0, 2)]
    assert families.neighbours((0, 0)) == [(0, 1)]
    assert families.neighbours((1, 0)) == []  # (1, 1) does not exist, and a family is no number


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_neighbours_are_in_range_and_one_away(sizes, data):
    space = LevelSpace({f"d{place}": range(size) for place, size in enumerate(sizes)})
    cell = tuple(data.draw(st.integers(0, size - 1)) for size in sizes)
    near = space.neighbours(cell)
    assert all(space.contains(each) for each in near)
    assert all(sum(abs(a - b) for a, b in zip(each, cell, strict=True)) == 1 for each in near)
    assert len(near) == sum((at > 0) + (at < size - 1) for at, size in zip(cell, sizes, strict=True))


def test_a_large_space_is_drawn_from_without_a_table():
    space = LevelSpace({f"d{n}": range(4) for n in range(9)}, lambda level: level["d8"] > 0)
    assert space.size == 4**9
    shares = drawn(lambda rng: space.draw(rng)[8])
    assert set(shares) == {1, 2, 3} and set(drawn(lambda rng: space.draw_by_dial(rng)[8])) == {1, 2, 3}
    with pytest.raises(ConfigError, match=r"at most 4096 cells .* span 262144: leave fewer values with"):
        _ = space.cells


def test_spaces_without_levels():
    with pytest.raises(ConfigError, match="no level exists with the dials"):
        _ = LevelSpace({"a": range(3)}, lambda level: False).cells
    large = LevelSpace({f"d{n}": range(4) for n in range(9)}, lambda level: False)
    with pytest.raises(ConfigError, match="1000 draws of the dials"):
        large.draw(np.random.default_rng(0))
    for values in ((), (1, 1)):
        with pytest.raises(ConfigError, match="dial 'a' needs values that differ, at least one"):
            LevelSpace({"a": values})


@pytest.fixture
def env():
    env = gym.make("dial_env:Toy/Dial-v0", disable_env_checker=True)
    yield env
    env.close()


def test_what_an_environment_declares(env):
    space = level_space(env, {})
    assert len(space.cells) == 6 and space.options((1, 1)) == {"place": {"kind": "short", "difficulty": 1}}


def test_restrictions(env):
    space = level_space(env, {"difficulty": [2, 1], "kind": "long"})
    assert space.dials == {"kind": ("long",), "difficulty": (1, 2)}
    assert level_space(env, {}, {"difficulty": 3, "split": "train"}).dials["difficulty"] == (3,)
    assert level_space(env, {"difficulty": [0, 1]}, {"difficulty": 3}).dials["difficulty"] == (0, 1)


def test_restrictions_that_name_what_is_not_there(env, letter_env):
    with pytest.raises(ConfigError, match=r"'dificulty', which is no dial .* Did you mean 'difficulty'"):
        level_space(env, {"dificulty": [1]})
    with pytest.raises(ConfigError, match=r"difficulty has the values \[0, 1, 2, 3\], got 7"):
        level_space(env, {"difficulty": [1, 7]})
    with pytest.raises(ConfigError, match="The environment has no dials"):
        level_space(gym.make("toy_env:Toy/Echo-v0", disable_env_checker=True), {"difficulty": [1]})


def test_a_tool_env_has_its_difficulty_as_a_dial(letter_env):
    space = level_space(letter_env(), {})
    assert space.dials == {"difficulty": (0,)} and space.options((0,)) == {"difficulty": 0}


def test_levels_as_json():
    level = Level((1, 2), 7)
    assert level.to_json() == [[1, 2], 7] and Level.from_json([[1, 2], 7]) == level


class WithDefaults(gym.Env):
    level_default_dials = ("family", "difficulty")

    def __init__(self):
        self.level_dials = {"family": ("all", "mail"), "difficulty": range(3), "ads": range(4)}


def test_dials_beyond_the_default_ones_are_turned_only_where_they_are_named():
    assert level_space(WithDefaults(), {}).dials == {"family": ("all", "mail"), "difficulty": (0, 1, 2)}
    assert level_space(WithDefaults(), {"ads": "all"}).dials["ads"] == (0, 1, 2, 3)
    assert level_space(WithDefaults(), {"ads": [0, 3], "difficulty": 1}).dials == {
        "family": ("all", "mail"),
        "difficulty": (1,),
        "ads": (0, 3),
    }
    assert level_space(WithDefaults(), {}, {"difficulty": 2}).dials["difficulty"] == (2,)
    assert level_space(WithDefaults(), {"family": "all"}).dials["family"] == ("all",)  # a value of that name
    with pytest.raises(ConfigError, match=r"ads has the values \[0, 1, 2, 3\], got 'most'"):
        level_space(WithDefaults(), {"ads": "most"})
