"""Levels of an environment whose dials span far more cells than a table can hold: WebBrowse."""

from __future__ import annotations

from math import prod

import pytest

from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.selection import LevelSelection
from pixelis.agents.ued.space import MOST_CELLS, Level
from pixelis.envs.web.sites.levels import WebDifficulty
from pixelis.errors import ConfigError

ENV = "Pixelis/WebBrowse-v0"


@pytest.fixture(scope="module")
def web():
    return TaskEnv.open(ENV, {}, {})


def selection(web: TaskEnv, dials=None, **changes) -> LevelSelection:
    levels = {"type": "learnability", "dials": dials or {}}
    return LevelSelection(TrainConfig(env=ENV, levels=levels, **changes), web)


def test_by_default_family_and_difficulty_are_turned(web):
    chosen = selection(web)
    assert len(chosen.space.cells) == 8 * 6
    env = web.make().unwrapped
    assert prod(len(values) for values in env.level_dials.values()) == 48 * 4**8 > MOST_CELLS
    cell = next(cell for cell in chosen.space.cells if chosen.space.values(cell)["difficulty"] == 4)
    options = chosen.options(Level(cell, 3))
    env.reset(seed=3, options=options)
    assert env.workspace.level.difficulty == WebDifficulty.of(4)  # the others stand as difficulty 4 has them
    assert env.workspace.level.family == options["family"]


def test_further_dials_are_turned_where_they_are_named(web):
    chosen = selection(web, dials={"family": "shop", "difficulty": [0, 1], "popups": "all"})
    assert len(chosen.space.cells) == 2 * 4
    env = web.make().unwrapped
    env.reset(seed=3, options=chosen.options(Level((0, 1, 3), 3)))
    assert env.workspace.level.difficulty == WebDifficulty.of({"difficulty": 1, "popups": 3})
    fixed = selection(web, difficulty=2)
    assert {fixed.space.values(cell)["difficulty"] for cell in fixed.space.cells} == {2}
    with pytest.raises(ConfigError, match=r"a table of at most 4096 cells .* leave fewer values"):
        selection(web, dials=dict.fromkeys(env.level_dials, "all"))


@pytest.mark.parametrize("levels", ["learnability", "accel"])
def test_a_run_takes_its_web_tasks_from_the_cells(toy_config, make_text_policy, tmp_path, levels):
    make_text_policy(max_position_embeddings=8192).save(tmp_path / "model")  # a token a byte
    changes = {
        "env": ENV,
        "env_kwargs": {"max_turns": 1, "page_tokens": 40},
        "model": str(tmp_path / "model"),
    }
    config = toy_config(**changes, levels=levels, groups=3, group_size=2, steps=1, max_new_tokens=1)
    with TrainingRun.start(config) as run:
        run.train()
    (row,) = read_metrics(run.folder.metrics)
    played = [value for key, value in row.items() if "=" in key and "," in key and key.endswith("/groups")]
    assert sum(played) == 3 and row["episodes/count"] == 6
    assert sum(row.get(f"levels/difficulty={level}/groups", 0) for level in range(6)) == 3
    if levels == "accel":
        assert row["levels/difficulty=0/groups"] == 3  # it begins at the easy end
