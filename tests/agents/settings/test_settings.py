"""What every kind of run's settings can do."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import pytest

from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.options import default_of, option, option_of, rows
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.run_settings import RunSettings
from pixelis.agents.settings.settings import Settings, digest_of
from pixelis.agents.settings.sft import SftConfig
from pixelis.errors import CheckpointError, ConfigError

RUNS: list[RunSettings] = [TrainConfig(), SftConfig(env="toy_env:Toy/Echo-v0"), ExpertConfig()]
ADDED = {TrainConfig: ("credit", "turn"), SftConfig: ("held_out", 0.5), ExpertConfig: ("min_reward", 0.7)}
each_run = pytest.mark.parametrize("config", RUNS, ids=lambda config: type(config).__name__)


@dataclass(frozen=True)
class Shared(Settings):
    """The rows that two kinds of journey would share."""

    where: str = option("Place", "home", "where to")
    seed: int = option("Run", 0, "which journey", "[0, inf)")


@dataclass(frozen=True)
class Journey(Shared):
    """A journey."""

    headings = ("Place", "Food", "Run")

    extra: dict[str, Any] = option("Unlisted", dict, "more")  # noqa: RUF009
    meals: int = option("Food", 3, "how many", "[1, 5)")
    log: str = option("Run", "log", "where it is written down", identity=False)
    guide: str = option("Place", "none", "who shows the way")


def test_rows_stand_under_their_headings_whichever_class_they_are_of():
    order = ["where", "guide", "meals", "seed", "log", "extra"]
    assert [item.name for item in rows(Journey)] == order
    assert list(Journey().to_mapping()) == order


def test_every_row_of_a_subclass_is_checked():
    for bad in ({"seed": -1}, {"meals": 5}, {"where": 3}):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            Journey(**bad)


def test_the_identity_is_what_json_gives_back():
    config = Journey(extra={"by": ("foot", {3: 1.5})}, log="elsewhere")
    expected = {
        "where": "home",
        "seed": 0,
        "extra": {"by": ["foot", {"3": 1.5}]},
        "meals": 3,
        "guide": "none",
    }
    assert config.identity == expected
    assert config.digest == digest_of(expected) != Journey().digest
    assert config.digest == config.with_values(log="log").digest
    config.check_same(json.loads(json.dumps(config.identity)))


def test_the_digest_of_values_does_not_depend_on_their_order():
    # printf '{"a": 1, "b": [2.5, "x"]}' | sha256sum
    expected = "d8d7111d14e08d037bcd16ed64072da3dffcc147408b37022833bcbfdf9700ac"
    assert digest_of({"b": [2.5, "x"], "a": 1}) == digest_of({"a": 1, "b": [2.5, "x"]}) == expected


@each_run
def test_a_mapping_goes_there_and_back(config: RunSettings):
    kind = type(config)
    changed = config.with_values(lr=0.5, env_kwargs={"reader": "truth"}, difficulty=2)
    assert kind.from_mapping(changed.to_mapping()) == changed != config
    with pytest.raises(ConfigError, match=r"unknown setting 'lora_rang'\. Did you mean 'lora_rank'\?"):
        kind.from_mapping({"lora_rang": 4})


@each_run
def test_the_rows_come_in_blocks_one_under_each_heading(config: RunSettings):
    groups = [option_of(item).group for item in rows(type(config))]
    blocks = [group for place, group in enumerate(groups) if place == 0 or groups[place - 1] != group]
    assert tuple(blocks) == config.headings


@each_run
def test_a_setting_that_came_after_a_checkpoint_counts_as_the_default_of_its_kind_of_run(config: RunSettings):
    name, value = ADDED[type(config)]
    before = {key: old for key, old in config.identity.items() if key != name}
    assert len(before) == len(config.identity) - 1
    config.check_same(before)
    with pytest.raises(CheckpointError, match=f"{name} was .* and is {value!r}; use the same, or a new run"):
        config.with_values(**{name: value}).check_same(before)


@each_run
def test_a_checkpoint_of_other_settings_is_refused_whatever_does_not_decide_numbers_is_not_asked(
    config: RunSettings,
):
    config.check_same(config.with_values(output="elsewhere", minutes=3.0, device="cpu").identity)
    with pytest.raises(
        CheckpointError, match=r"settings: lr was 0\.25 and is None, seed was 7 and is 0; use"
    ):
        config.check_same(config.with_values(lr=0.25, seed=7).identity)
    with pytest.raises(CheckpointError, match="setting_of_a_later_version was 1 and is None"):
        config.check_same({**config.identity, "setting_of_a_later_version": 1})
    with pytest.raises(CheckpointError, match="does not say which settings"):
        config.check_same(None)


def test_a_row_that_means_the_same_is_written_once():
    classes = {kind for config in RUNS for kind in type(config).__mro__ if issubclass(kind, Settings)}
    written: dict[tuple[object, ...], str] = {}
    for kind in classes:
        for item in fields(kind):
            if item.name in kind.__annotations__:
                row = (item.name, item.type, repr(default_of(item)), option_of(item))
                assert row not in written, f"{item.name} is in {kind.__name__} and in {written[row]}"
                written[row] = kind.__name__
    assert len(written) > 60


def test_what_resets_an_env():
    assert RunSettings().reset_options == {}
    assert RunSettings(difficulty=0).reset_options == {"difficulty": 0}
