"""Recipes: published algorithms as settings."""

from __future__ import annotations

import pytest
import yaml

from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.recipes import RECIPES
from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli.train import read_settings
from pixelis.errors import ConfigError

# The choices of the papers, written down from them and not from the code.
PAPERS = {
    "dr_grpo": {"advantage_scale": "none", "aggregation": "constant", "beta": 0.0, "ratio": "token"},
    "dapo": {
        "epsilon_low": 0.2,
        "epsilon_high": 0.28,
        "aggregation": "token_mean",
        "beta": 0.0,
        "advantage_scale": "group",
        "refill_episodes": 64,
        "overlong_buffer": 12,
    },
    "gspo": {
        "ratio": "sequence",
        "epsilon_low": 3e-4,
        "epsilon_high": 4e-4,
        "aggregation": "sequence_mean",
        "advantage_scale": "group",
        "beta": 0.0,
    },
    "rloo": {"advantage_scale": "leave_one_out", "epochs": 1, "kl_in": "reward", "kl": "k1", "beta": 0.04},
    "cispo": {"surrogate": "cispo", "ratio": "token", "aggregation": "token_mean", "beta": 0.0},
}


@pytest.mark.parametrize("name", PAPERS)
def test_a_recipe_is_the_settings_of_its_paper(name):
    made = [TrainConfig(recipe=name), TrainConfig.from_mapping({"recipe": name})]
    made.append(read_settings(["--recipe", name])[0])
    for config in made:
        assert {key: getattr(config, key) for key in PAPERS[name]} == PAPERS[name]
        assert config == made[0] and config.recipe == name


def test_every_recipe_is_checked_here_and_has_a_source():
    assert set(PAPERS) == set(RECIPES)
    assert all("arXiv" in recipe.source for recipe in RECIPES.values())


def test_explicit_settings_win_wherever_they_are_given(tmp_path):
    """Even those that say what would have been the default without a recipe."""
    file = tmp_path / "given.yaml"
    file.write_text("recipe: dapo\nbeta: 0.04\n")
    for config in (
        TrainConfig(recipe="dapo", beta=0.04),
        TrainConfig.from_mapping({"recipe": "dapo", "beta": 0.04}),
        read_settings(["--recipe", "dapo", "--beta", "0.04"])[0],
        read_settings(["--config", str(file)])[0],
    ):
        assert (config.beta, config.epsilon_high) == (0.04, 0.28)
    assert read_settings(["--config", str(file), "--beta=0.1"])[0].beta == 0.1
    assert read_settings(["--config", str(file), "--recipe=gspo"])[0].ratio == "sequence"


def test_what_depends_on_other_settings_follows_them():
    words = ["--recipe", "dapo", "--groups", "3", "--group-size", "5", "--max-new-tokens", "100"]
    config = read_settings(words)[0]
    assert (config.refill_episodes, config.overlong_buffer) == (15, 20)
    assert TrainConfig(recipe="dapo", groups=3, group_size=5, max_new_tokens=100) == config


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"recipe": "gspo", "ratio": "token"}, "recipe gspo means ratio: sequence .*2507.18071.*got 'token'"),
        ({"recipe": "cispo", "surrogate": "clip"}, "recipe cispo means surrogate: cispo"),
        ({"recipe": "dr_grpo", "advantage_scale": "group"}, "recipe dr_grpo means advantage_scale: none"),
        ({"recipe": "rloo", "epochs": 2}, "recipe rloo means epochs: 1"),
        ({"recipe": "dapo", "algorithm": "ppo"}, "recipe dapo means algorithm: grpo"),
        ({"recipe": "rloo", "credit": "turn"}, "advantage_scale must be one of"),
        ({"recipe": "dapoo"}, "Did you mean 'dapo'"),
    ],
)
def test_what_does_not_go_together_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_mapping(given)
    words = [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    with pytest.raises(ConfigError, match=message):
        read_settings(words)


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_by_a_recipe_trains_is_written_down_expanded_and_goes_on(name, toy_config, tmp_path):
    config = toy_config(recipe=name, steps=4, max_new_tokens=5, output=str(tmp_path / "whole"))
    whole = train(config)
    saved = yaml.safe_load((whole.folder.path / "config.yaml").read_text())
    assert saved["recipe"] == name
    wanted = TrainConfig(recipe=name, groups=4, group_size=4, max_new_tokens=5, beta=0.01)
    assert all(saved[key] == getattr(wanted, key) for key in PAPERS[name])
    assert any(row["policy/grad_norm"] for row in read_metrics(whole.folder.metrics))

    part = str(tmp_path / "part")
    train(config.with_values(steps=2, output=part))
    again = read_settings(["--resume", part, "--steps", "4"])[0]
    assert again == TrainConfig.from_mapping({**settings_of(part), "steps": 4})
    with TrainingRun.resume(part, again) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
