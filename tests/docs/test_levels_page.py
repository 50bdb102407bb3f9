"""The page on levels: its samplers, settings and examples are those that there are."""

from __future__ import annotations

import importlib
import re

import gymnasium as gym
import numpy as np
from doc_pages import Page

from pixelis.agents.settings.base import leaves_of
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.sampler import LevelRequest
from pixelis.agents.ued.selection import SAMPLERS
from pixelis.agents.ued.space import Level, LevelSpace, level_space
from pixelis.cli.train import COMMAND as TRAIN

PAGE = Page("guide/levels.md")


def test_the_table_names_every_sampler():
    named = re.findall(r"^\| `(\w+)` \|", PAGE.text, re.MULTILINE)
    ours = {name for name, kind in SAMPLERS.items() if kind.__module__.startswith("pixelis.")}
    assert set(named) == ours


def test_every_setting_that_is_named_exists():
    known = {".".join(path) for path, _ in leaves_of(TrainConfig)}
    named = set(re.findall(r"`(levels\.\w+?)(?:: \w+)?`", PAGE.text)) - {"levels.json"}
    assert named and named <= known


def test_the_commands_are_understood():
    first, *web = (TRAIN.read(words[2:])[0] for words in PAGE.commands() if "train_agent" in words[1])
    assert first.levels.type == "learnability"
    for config, cells in zip(web, (8 * 3, 8 * 6 * 4 * 2), strict=True):
        env = gym.make(config.env)
        assert len(level_space(env, config.levels.dials).cells) == cells
    narrowed = re.search(r"`(--levels\.dials\S+) '(.+)'`", PAGE.text)
    config, _ = TRAIN.read(["--levels", "plr", *narrowed.groups()])
    assert config.levels.dials == {"difficulty": [0, 1, 2]}


def test_the_environment_says_what_the_page_says():
    names = {"gym": gym}
    exec(PAGE.blocks("python")[0], names)  # the page's own code
    space = level_space(names["MyEnv"](), {})
    assert len(space.cells) == 4 and space.options((0, 2)) == {"task_kind": "shop", "difficulty": 3}


def test_the_sampler_of_the_page(tmp_path, monkeypatch):
    (tmp_path / "my_levels.py").write_text(PAGE.blocks("python")[1], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    kind = SAMPLERS.find("my_levels:hardest")
    sampler = kind(LevelSpace({"difficulty": range(3)}), TrainConfig(levels="my_levels:hardest"))
    draws = sampler.draw(LevelRequest(2, [5, 6], np.random.default_rng(0)))
    assert [draw.level for draw in draws] == [Level((2,), 5), Level((2,), 6)]
