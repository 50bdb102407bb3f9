"""Recipes: published algorithms as settings."""

from __future__ import annotations

import operator

import pytest
import yaml

from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.recipes import RECIPES
from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli.arguments import put
from pixelis.cli.train import COMMAND as TRAIN
from pixelis.errors import ConfigError

# The choices of the papers, written down from them and not from the code.
PAPERS = {
    "dr_grpo": {
        "algorithm.scale": "none",
        "loss.aggregation": "constant",
        "beta": 0.0,
        "loss.ratio": "token",
    },
    "dapo": {
        "loss.surrogate.epsilon_low": 0.2,
        "loss.surrogate.epsilon_high": 0.28,
        "loss.aggregation": "token_mean",
        "beta": 0.0,
        "algorithm.scale": "group",
        "algorithm.refill_episodes": 64,
        "shaping.overlong.buffer": 12,
    },
    "gspo": {
        "loss.ratio": "sequence",
        "loss.surrogate.epsilon_low": 3e-4,
        "loss.surrogate.epsilon_high": 4e-4,
        "loss.aggregation": "sequence_mean",
        "algorithm.scale": "group",
        "beta": 0.0,
    },
    "rloo": {
        "algorithm.scale": "leave_one_out",
        "epochs": 1,
        "loss.kl.place": "reward",
        "loss.kl.estimator": "k1",
        "beta": 0.04,
    },
    "cispo": {
        "loss.surrogate.type": "cispo",
        "loss.surrogate.epsilon_high": 4.0,
        "loss.ratio": "token",
        "loss.aggregation": "token_mean",
        "beta": 0.0,
    },
}


def chosen(config, name):
    """Return the settings that a recipe's paper says, as a run has them."""
    return {key: operator.attrgetter(key)(config) for key in PAPERS[name]}


@pytest.mark.parametrize("name", PAPERS)
def test_a_recipe_is_the_settings_of_its_paper(name):
    made = [TrainConfig(recipe=name), TrainConfig.from_mapping({"recipe": name})]
    made.append(TRAIN.read(["--recipe", name])[0])
    for config in made:
        assert chosen(config, name) == PAPERS[name]
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
        TRAIN.read(["--recipe", "dapo", "--beta", "0.04"])[0],
        TRAIN.read(["--config", str(file)])[0],
    ):
        assert (config.beta, config.loss.surrogate.epsilon_high) == (0.04, 0.28)
    assert TRAIN.read(["--config", str(file), "--beta=0.1"])[0].beta == 0.1
    assert TRAIN.read(["--config", str(file), "--recipe=gspo"])[0].loss.ratio == "sequence"


def test_what_depends_on_other_settings_follows_them():
    words = ["--recipe", "dapo", "--groups", "3", "--group-size", "5", "--max-new-tokens", "100"]
    config = TRAIN.read(words)[0]
    assert (config.algorithm.refill_episodes, config.shaping.overlong.buffer) == (15, 20)
    assert TrainConfig(recipe="dapo", groups=3, group_size=5, max_new_tokens=100) == config


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"recipe": "gspo", "loss.ratio": "token"},
            "gspo means loss.ratio: sequence .*2507.18071.*got 'token'",
        ),
        ({"recipe": "cispo", "loss.surrogate": "clip"}, "recipe cispo means loss.surrogate: cispo"),
        ({"recipe": "dr_grpo", "algorithm.scale": "group"}, "recipe dr_grpo means algorithm.scale: none"),
        ({"recipe": "rloo", "epochs": 2}, "recipe rloo means epochs: 1"),
        ({"recipe": "dapo", "algorithm": "ppo"}, "recipe dapo means algorithm: grpo"),
        ({"recipe": "rloo", "algorithm.credit": "turn"}, "algorithm.scale must be one of"),
        ({"recipe": "dapoo"}, "Did you mean 'dapo'"),
    ],
)
def test_what_does_not_go_together_is_refused(given, message):
    values = {}
    for key, value in given.items():
        values = put(values, tuple(key.split(".")), value)
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_mapping(values)
    words = [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    with pytest.raises(ConfigError, match=message):
        TRAIN.read(words)


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_by_a_recipe_trains_is_written_down_expanded_and_goes_on(name, toy_config, tmp_path):
    config = toy_config(recipe=name, steps=4, max_new_tokens=5, output=str(tmp_path / "whole"))
    whole = train(config)
    saved = yaml.safe_load((whole.folder.path / "config.yaml").read_text())
    assert saved["recipe"] == name
    wanted = TrainConfig(recipe=name, groups=4, group_size=4, max_new_tokens=5, beta=0.01)
    assert chosen(TrainConfig.from_mapping(saved), name) == chosen(wanted, name)
    assert any(row["policy/grad_norm"] for row in read_metrics(whole.folder.metrics))

    part = str(tmp_path / "part")
    train(config.with_values(steps=2, output=part))
    again = TRAIN.read(["--resume", part, "--steps", "4"])[0]
    assert again == TrainConfig.from_mapping({**settings_of(part), "steps": 4})
    with TrainingRun.resume(part, again) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
