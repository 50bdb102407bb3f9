"""The settings of a run."""

from __future__ import annotations

from dataclasses import fields

import pytest

from pixelis.agents.grpo.advantages import ADVANTAGE_SCALES
from pixelis.agents.grpo.aggregation import AGGREGATIONS
from pixelis.agents.grpo.config import TrainConfig
from pixelis.agents.grpo.kl import KL_ESTIMATORS
from pixelis.agents.grpo.options import choices_of, option_of
from pixelis.errors import ConfigError


def test_a_mapping_goes_there_and_back():
    config = TrainConfig(lr=0.5, env_kwargs={"reader": "truth"}, difficulty=2)
    assert TrainConfig.from_mapping(config.to_mapping()) == config


def test_an_unknown_key_gets_a_suggestion():
    with pytest.raises(ConfigError, match=r"unknown setting 'group_sise'\. Did you mean 'group_size'\?"):
        TrainConfig.from_mapping({"group_sise": 4})


@pytest.mark.parametrize("change", [{"lr": -1.0}, {"group_size": 1}, {"top_p": 1.5}, {"temperature": 0.0}])
def test_bounds_are_checked(change):
    with pytest.raises(ConfigError, match=next(iter(change))):
        TrainConfig(**change)


def test_the_digest_tells_runs_apart_by_what_decides_their_numbers():
    base = TrainConfig()
    assert base.digest == TrainConfig(steps=7, output="elsewhere", minutes=1.0, eval_episodes=3).digest
    assert base.digest == TrainConfig(weight_decay=0).digest
    assert base.digest != TrainConfig(lr=0.123).digest
    assert base.digest != TrainConfig(seed=1).digest


def test_every_setting_has_a_group_and_a_help_line():
    for item in fields(TrainConfig):
        assert option_of(item).group
        assert 10 < len(option_of(item).help) < 80, item.name


def test_the_choices_are_the_registered_functions():
    from typing import get_type_hints

    hints = get_type_hints(TrainConfig)
    assert set(choices_of(hints["kl"])) == set(KL_ESTIMATORS)
    assert set(choices_of(hints["aggregation"])) == set(AGGREGATIONS)
    assert set(choices_of(hints["advantage_scale"])) == set(ADVANTAGE_SCALES)


def test_reset_options():
    assert TrainConfig().reset_options == {}
    assert TrainConfig(difficulty=0).reset_options == {"difficulty": 0}
