"""The settings of a run."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import pytest

from pixelis.agents.episodes.answers import DIVERSITIES
from pixelis.agents.losses.advantages import ADVANTAGES
from pixelis.agents.losses.aggregation import AGGREGATIONS
from pixelis.agents.losses.correction import CORRECTIONS
from pixelis.agents.losses.kl import KL_ESTIMATORS
from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.losses.ratio import RATIOS
from pixelis.agents.losses.surrogate import SURROGATES
from pixelis.agents.rl.comparison import COMPARISONS
from pixelis.agents.rl.trainer import update_settings
from pixelis.agents.settings.options import choices_of, option_of
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.selection import SAMPLERS
from pixelis.errors import ConfigError


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


REGISTRIES = {
    "advantage": COMPARISONS,
    "diversity": DIVERSITIES,
    "advantage_scale": ADVANTAGES,
    "ratio": RATIOS,
    "surrogate": SURROGATES,
    "aggregation": AGGREGATIONS,
    "kl": KL_ESTIMATORS,
    "correction": CORRECTIONS,
    "levels": SAMPLERS,
}


def ours(registry):
    """Return the names that Pixelis registers; other tests register functions of their own."""
    return {name for name, function in registry.items() if function.__module__.startswith("pixelis.")}


@pytest.mark.parametrize("field", sorted(REGISTRIES))
def test_the_choices_are_the_registered_functions(field):
    extra = {"correction": {"auto", "none"}, "diversity": {"none"}}.get(field, set())
    assert set(choices_of(get_type_hints(TrainConfig)[field])) == ours(REGISTRIES[field]) | extra


@pytest.mark.parametrize("field", sorted(REGISTRIES))
def test_a_choice_takes_what_a_module_registers_and_nothing_else(field):
    assert getattr(TrainConfig(**{field: "my_module:mine"}), field) == "my_module:mine"
    for bad in ("mine", ":mine", "my_module:", ""):
        with pytest.raises(ConfigError, match=rf"{field} must be one of .* or module:name"):
            TrainConfig(**{field: bad})


def test_the_constants_of_the_loss_have_the_same_defaults_everywhere():
    settings, plain = update_settings(TrainConfig(beta=0.0)).loss, LossSettings()
    assert settings == plain


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"group_size": 1},
            "group_size must be at least 2 with advantage_scale 'group', got 1: .* Set group",
        ),
        ({"surrogate": "dual_clip", "dual_clip": 1.2}, "dual_clip must be above 1 \\+ epsilon_high = 1.2"),
        ({"kl_in": "reward", "kl_ratio": True}, "Set kl_ratio: false, or kl_in: loss"),
        ({"kl": "k1"}, "kl 'k1' in the loss .* Set kl: k2 or k3, or kl_ratio: true, or kl_in: reward"),
        ({"correction_cap": 0.9}, r"correction_cap must be a number in \[1, inf\)"),
        ({"dual_clip": 1.0}, r"dual_clip must be a number in \(1, inf\)"),
    ],
)
def test_settings_that_do_not_go_together(changes, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"dual_clip": 1.2},
        {"kl": "k1", "beta": 0.0},
        {"kl": "k1", "kl_ratio": True},
        {"kl": "k1", "kl_in": "reward"},
        {"kl_in": "reward", "kl_ratio": True, "beta": 0.0},
    ],
)
def test_what_is_not_used_is_not_refused(changes):
    assert TrainConfig(**changes).epochs == 1
