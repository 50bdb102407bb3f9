"""The settings of a run."""

from __future__ import annotations

import operator

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
from pixelis.agents.rl.parts import update_settings
from pixelis.agents.settings.base import choices_of, leaves_of
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.selection import SAMPLERS
from pixelis.cli.arguments import put
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


REGISTRIES = {
    "algorithm.advantage": COMPARISONS,
    "diversity": DIVERSITIES,
    "algorithm.scale": ADVANTAGES,
    "loss.ratio": RATIOS,
    "loss.surrogate": SURROGATES,
    "loss.aggregation": AGGREGATIONS,
    "loss.kl.estimator": KL_ESTIMATORS,
    "loss.correction": CORRECTIONS,
    "levels": SAMPLERS,
}


def field_of(name):
    """Return a setting by its full name."""
    return next(field for path, field in leaves_of(TrainConfig) if ".".join(path) == name)


def given(name, value):
    """Return settings in which the one of this full name is given."""
    return TrainConfig(**put({}, tuple(name.split(".")), value))


def ours(registry):
    """Return the names that Pixelis registers; other tests register functions of their own."""
    return {name for name, function in registry.items() if function.__module__.startswith("pixelis.")}


@pytest.mark.parametrize("field", sorted(REGISTRIES))
def test_the_choices_are_the_registered_functions(field):
    extra = {"loss.correction": {"auto", "none"}, "diversity": {"none"}, "algorithm.advantage": {"sum"}}
    choices = set(choices_of(field_of(field).annotation))
    assert choices == ours(REGISTRIES[field]) | extra.get(field, set()) | {"module:name"}


@pytest.mark.parametrize("field", sorted(REGISTRIES))
def test_a_choice_takes_what_a_module_registers_and_nothing_else(field):
    found = operator.attrgetter(field)(given(field, "my_module:mine"))
    assert getattr(found, "type", found) == "my_module:mine"
    for bad in ("mine", ":mine", "my_module:", ""):
        with pytest.raises(ConfigError, match=rf"{field} must be one of .* or module:name"):
            given(field, bad)


def test_the_constants_of_the_loss_have_the_same_defaults_everywhere():
    settings, plain = update_settings(TrainConfig(beta=0.0)).loss, LossSettings()
    assert settings == plain


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"group_size": 1},
            "group_size must be at least 2, got 1: .* Set group",
        ),
        (
            {"loss": {"surrogate": {"type": "dual_clip", "cap": 1.2}}},
            "cap must be above 1 \\+ epsilon_high = 1.2",
        ),
        ({"loss": {"kl": {"place": "reward", "ratio": True}}}, "Set ratio: false, or place: loss"),
        (
            {"loss": {"kl": {"estimator": "k1"}}},
            "'k1' in the loss .* Set estimator: k2 or k3, or ratio: true, or place: reward",
        ),
        (
            {"loss": {"correction": {"cap": 0.9}}},
            r"loss\.correction\.cap must be a finite number of at least 1",
        ),
        (
            {"loss": {"surrogate": {"type": "dual_clip", "cap": 1.0}}},
            r"loss\.surrogate\.cap must be a finite number above 1",
        ),
        ({"recipe": ["dapo"]}, r"recipe"),
        ({"env_kwargs": {"x": float("nan")}}, r"env_kwargs\.x must hold finite numbers, got nan"),
        (
            {"rewards": {"coherence": {"near": [0.1, float("inf"), 1]}}},
            r"rewards\.coherence\.near must hold finite numbers",
        ),
    ],
)
def test_settings_that_do_not_go_together(changes, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**changes)


@pytest.mark.parametrize(
    "kl", [{"estimator": "k1", "ratio": True}, {"estimator": "k1", "place": "reward"}, {"estimator": "k2"}]
)
def test_kinds_of_kl_that_mean_something(kl):
    assert TrainConfig(loss={"kl": kl}).epochs == 1
