"""Published algorithms as names: each is a set of settings that exist anyway.

A recipe takes the place of defaults. What is given explicitly wins over it, except for what makes the
algorithm what it is: `Recipe.defining` holds or the settings are refused. ``config.yaml`` has the result.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from pixelis.agents.settings.options import default_of
from pixelis.errors import ConfigError, suggest

if TYPE_CHECKING:
    from pixelis.agents.settings.rl import TrainConfig

C = TypeVar("C", bound=type[Any])


@dataclass(frozen=True)
class Recipe:
    """An algorithm.

    Attributes:
        source: the paper.
        defining: settings without which it would be another algorithm.
        usual: the paper's other choices, which may be given otherwise.
    """

    source: str
    defining: Mapping[str, Any]
    usual: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every setting of the recipe, those that depend on others made of what is given.

        Args:
            given: a value for every setting that the recipe's own depend on.
        """
        values = {**self.defining, **self.usual}
        return {name: value(given) if callable(value) else value for name, value in values.items()}


def _one_more_round(given: Mapping[str, Any]) -> int:
    return int(given["groups"]) * int(given["group_size"])


def _fifth_of_a_turn(given: Mapping[str, Any]) -> int:
    return int(given["max_new_tokens"]) // 5


RECIPES: dict[str, Recipe] = {
    "dr_grpo": Recipe(
        "Liu et al. 2025, Understanding R1-Zero-Like Training (arXiv 2503.20783)",
        {"algorithm": "grpo", "advantage_scale": "none", "aggregation": "constant"},
        {"ratio": "token", "surrogate": "clip", "epsilon_low": 0.2, "epsilon_high": 0.2, "beta": 0.0},
    ),
    "dapo": Recipe(
        "Yu et al. 2025, DAPO (arXiv 2503.14476)",
        {"algorithm": "grpo", "ratio": "token", "surrogate": "clip", "aggregation": "token_mean"},
        {
            "advantage_scale": "group",
            "epsilon_low": 0.2,
            "epsilon_high": 0.28,
            "beta": 0.0,
            "refill_episodes": _one_more_round,
            "overlong_buffer": _fifth_of_a_turn,
            "overlong_penalty": 1.0,
        },
    ),
    "gspo": Recipe(
        "Zheng et al. 2025, Group Sequence Policy Optimization (arXiv 2507.18071)",
        {"algorithm": "grpo", "ratio": "sequence"},
        {
            "surrogate": "clip",
            "aggregation": "sequence_mean",
            "advantage_scale": "group",
            "epsilon_low": 3e-4,
            "epsilon_high": 4e-4,
            "beta": 0.0,
        },
    ),
    "rloo": Recipe(
        "Ahmadian et al. 2024, Back to Basics (arXiv 2402.14740), after Kool et al. 2019",
        {"algorithm": "grpo", "advantage_scale": "leave_one_out", "epochs": 1},
        {"ratio": "token", "surrogate": "clip", "aggregation": "constant", "kl_in": "reward", "kl": "k1"},
    ),
    "cispo": Recipe(
        "MiniMax 2025, MiniMax-M1 (arXiv 2506.13585), section 3.1",
        {"algorithm": "grpo", "surrogate": "cispo", "ratio": "token", "aggregation": "token_mean"},
        {
            "advantage_scale": "group",
            "epsilon_high": 4.0,
            "beta": 0.0,
            "refill_episodes": _one_more_round,
            "overlong_buffer": _fifth_of_a_turn,
            "overlong_penalty": 1.0,
        },
    ),
}


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name.

    Raises:
        ConfigError: there is none such.
    """
    if name not in RECIPES:
        raise ConfigError(f"no recipe is called {name!r}.{suggest(str(name), RECIPES)}")
    return RECIPES[name]


def expanded(settings: type[TrainConfig], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return given values with those of their recipe added where nothing is given.

    Args:
        settings: the dataclass, for its defaults.
        given: what was said explicitly, ``recipe`` perhaps among it.

    Raises:
        ConfigError: there is no such recipe.
    """
    if given.get("recipe") is None:
        return dict(given)
    everything = {item.name: default_of(item) for item in fields(settings)} | dict(given)
    return {**find_recipe(given["recipe"]).settings(everything), **given}


def takes_recipes(settings: C) -> C:
    """Let a dataclass of settings with a row ``recipe`` expand it wherever one is made; a decorator."""
    make = settings.__init__

    @functools.wraps(make)
    def init(self: Any, **given: Any) -> None:
        make(self, **expanded(settings, given))  # type: ignore[arg-type]

    settings.__init__ = init  # type: ignore[method-assign, misc]
    return settings


def check_recipe(config: TrainConfig) -> None:
    """Check that settings still are those of the algorithm they are named after.

    Raises:
        ConfigError: one of its defining settings has another value.
    """
    if config.recipe is None:
        return
    recipe = find_recipe(config.recipe)
    for name, value in recipe.defining.items():
        found = getattr(config, name)
        if found != value:
            raise ConfigError(
                f"recipe {config.recipe} means {name}: {value} ({recipe.source}), got {found!r}; leave "
                f"{name} out, or leave the recipe out and give its other settings (docs/guide/recipes.md)"
            )
