"""Published algorithms as names: each is a set of settings that exist anyway.

A recipe takes the place of defaults. What is given explicitly wins over it, except for what makes the
algorithm what it is: `Recipe.defining` holds or the settings are refused. ``config.yaml`` has the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pixelis.agents.settings.plain import leaves, merged
from pixelis.errors import ConfigError, suggest

if TYPE_CHECKING:
    from pixelis.agents.settings.rl import TrainConfig

Given = Callable[[str], Any]
"""From the name of a setting to the value that is given, or its default."""


@dataclass(frozen=True)
class Recipe:
    """An algorithm.

    Attributes:
        source: the paper.
        defining: settings without which it would be another algorithm.
        usual: the paper's other choices, which may be given otherwise; a function makes one of others.
    """

    source: str
    defining: Mapping[str, Any]
    usual: Mapping[str, Any] = field(default_factory=dict)


def _one_more_round(given: Given) -> int:
    return int(given("groups")) * int(given("group_size"))


def _fifth_of_a_turn(given: Given) -> dict[str, Any]:
    return {"buffer": max(int(given("max_new_tokens")) // 5, 1), "penalty": 1.0}


def _k1_in_reward(given: Given) -> dict[str, Any]:
    return {"place": "reward", "estimator": "k1"} if given("beta") else {}


RECIPES: dict[str, Recipe] = {
    "dr_grpo": Recipe(
        "Liu et al. 2025, Understanding R1-Zero-Like Training (arXiv 2503.20783)",
        {"algorithm": {"type": "grpo", "scale": "none"}, "loss": {"aggregation": "constant"}},
        {
            "loss": {
                "ratio": "token",
                "surrogate": {"type": "clip", "epsilon_low": 0.2, "epsilon_high": 0.2},
            },
            "beta": 0.0,
        },
    ),
    "dapo": Recipe(
        "Yu et al. 2025, DAPO (arXiv 2503.14476)",
        {
            "algorithm": {"type": "grpo"},
            "loss": {"ratio": "token", "surrogate": {"type": "clip"}, "aggregation": "token_mean"},
        },
        {
            "algorithm": {"scale": "group", "refill_episodes": _one_more_round},
            "loss": {"surrogate": {"epsilon_low": 0.2, "epsilon_high": 0.28}},
            "beta": 0.0,
            "shaping": {"overlong": _fifth_of_a_turn},
        },
    ),
    "gspo": Recipe(
        "Zheng et al. 2025, Group Sequence Policy Optimization (arXiv 2507.18071)",
        {"algorithm": {"type": "grpo"}, "loss": {"ratio": "sequence"}},
        {
            "loss": {
                "surrogate": {"type": "clip", "epsilon_low": 3e-4, "epsilon_high": 4e-4},
                "aggregation": "sequence_mean",
            },
            "algorithm": {"scale": "group"},
            "beta": 0.0,
        },
    ),
    "rloo": Recipe(
        "Ahmadian et al. 2024, Back to Basics (arXiv 2402.14740), after Kool et al. 2019",
        {"algorithm": {"type": "grpo", "scale": "leave_one_out"}, "epochs": 1},
        {
            "loss": {
                "ratio": "token",
                "surrogate": {"type": "clip"},
                "aggregation": "constant",
                "kl": _k1_in_reward,
            }
        },
    ),
    "cispo": Recipe(
        "MiniMax 2025, MiniMax-M1 (arXiv 2506.13585), section 3.1",
        {
            "algorithm": {"type": "grpo"},
            "loss": {"surrogate": {"type": "cispo"}, "ratio": "token", "aggregation": "token_mean"},
        },
        {
            "algorithm": {"scale": "group", "refill_episodes": _one_more_round},
            "loss": {"surrogate": {"epsilon_high": 4.0}},
            "beta": 0.0,
            "shaping": {"overlong": _fifth_of_a_turn},
        },
    ),
}


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name.

    Raises:
        ConfigError: there is none such.
    """
    if not isinstance(name, str) or name not in RECIPES:
        raise ConfigError(f"no recipe is called {name!r}.{suggest(str(name), RECIPES)}")
    return RECIPES[name]


def expanded(settings: type[TrainConfig], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return given values, a recipe's name among them, with its own added where nothing is given.

    Args:
        settings: of which kind, for its defaults.
        given: what was said explicitly, ``recipe`` among it.

    Raises:
        ConfigError: there is no such recipe.
    """
    recipe = find_recipe(given["recipe"])

    def value_of(name: str) -> Any:
        default = settings.model_fields[name].default
        value = {**recipe.usual, **given}.get(name, default)
        return value if isinstance(value, int | float) else default  # a wrong one is refused in its turn

    return merged(_made(merged(recipe.defining, recipe.usual), value_of), given)


def _made(values: Mapping[str, Any], given: Given) -> dict[str, Any]:
    """Return a recipe's values, those that depend on others made of them."""
    return {
        name: value(given)
        if callable(value)
        else _made(value, given)
        if isinstance(value, Mapping)
        else value
        for name, value in values.items()
    }


def check_recipe(config: TrainConfig) -> None:
    """Check that settings still are those of the algorithm they are named after.

    Raises:
        ConfigError: one of its defining settings has another value.
    """
    recipe = find_recipe(str(config.recipe))
    for path, value in leaves(recipe.defining):
        found: Any = config
        for name in path:
            found = getattr(found, name, None)
        if found != value:
            name = ".".join(path).removesuffix(".type")
            raise ConfigError(
                f"recipe {config.recipe} means {name}: {value} ({recipe.source}), got {found!r}; leave "
                f"{name} out, or leave the recipe out and give its other settings (docs/guide/recipes.md)"
            )
