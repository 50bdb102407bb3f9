"""The vector of difficulty, and levels read from a task's data."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.web.sites.levels import DIALS, WebDifficulty, WebLevel
from pixelis.errors import DifficultyError, TaskError

GOOD = {
    "family": "shop",
    "data": {"items": []},
    "state": {"cart": []},
    "goal": {"cart": ["lamp"]},
    "theme": {"words": {"Buy": "Get"}},
}


def test_what_a_level_may_leave_out():
    level = WebLevel.from_json(GOOD, "Buy a lamp.")
    assert (level.instruction, level.start, level.answer) == ("Buy a lamp.", "/", None)
    assert level.difficulty == WebDifficulty() and level.word("Buy") == "Get" and level.word("Sell") == "Sell"


def test_a_level_does_not_share_its_state_with_the_task():
    level = WebLevel.from_json(GOOD, "")
    assert level.state == GOOD["state"] and level.state is not GOOD["state"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"family": 3}, "field 'family' must be .*, got 3"),
        ({"data": []}, r"field 'data' must be an object, got \[\]"),
        ({"state": None}, "field 'state' must be"),
        ({"goal": "win"}, "field 'goal' must be an object, got 'win'"),
        ({"theme": {}}, "theme needs 'words'"),
        ({"theme": {"words": ["Buy"]}}, "theme needs 'words'"),
        ({"difficulty": 9}, "difficulty must be an integer from 0 to 5, got 9"),
        ({"difficulty": {"layuot": 1}}, "unknown dial 'layuot'. Did you mean 'layout'"),
        ({"gaol": {}}, "unknown field 'gaol'. Did you mean 'goal'"),
    ],
)
def test_a_part_that_is_wrong_is_named(change, words):
    with pytest.raises(TaskError, match=words):
        WebLevel.from_json({**GOOD, **change}, "Buy a lamp.")


@pytest.mark.parametrize("name", GOOD)
def test_a_part_that_is_missing_is_named(name):
    with pytest.raises(TaskError, match=f"field '{name}' is missing"):
        WebLevel.from_json({key: value for key, value in GOOD.items() if key != name}, "")


def test_dials_override_what_the_difficulty_brings():
    plain = WebDifficulty.of(3)
    assert (plain.layout, plain.ads, plain.churn) == (1, 1, 0)
    turned = WebDifficulty.of({"difficulty": np.int64(3), "ads": np.int64(0), "churn": 2})
    assert turned.to_json() == {**plain.to_json(), "ads": 0, "churn": 2}
    assert WebDifficulty.of(turned) is turned
    assert set(turned.to_json()) == {"difficulty", *DIALS}


@pytest.mark.parametrize("bad", [-1, 6, 1.0, True, "1", None, {"ads": 4}, {"ads": True}, {"colour": 1}])
def test_other_difficulties_are_refused(bad):
    with pytest.raises(DifficultyError):
        WebDifficulty.of(bad)
