"""What every kind of run's settings can do."""

from __future__ import annotations

import pytest

from pixelis.agents.settings.base import leaves_of, note_of
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.run_settings import RunSettings
from pixelis.agents.settings.sft import Diversity, SftConfig
from pixelis.cli import sft
from pixelis.errors import CheckpointError, ConfigError

TASKS = {"env": "toy_env:Toy/Echo-v0"}
RUNS: list[RunSettings] = [TrainConfig(), SftConfig(env="toy_env:Toy/Echo-v0"), ExpertConfig()]
ADDED = {TrainConfig: ("beta", 0.5), SftConfig: ("held_out", 0.5), ExpertConfig: ("min_reward", 0.7)}
each_run = pytest.mark.parametrize("config", RUNS, ids=lambda config: type(config).__name__)


@each_run
def test_a_mapping_goes_there_and_back(config: RunSettings):
    kind = type(config)
    changed = config.with_values(lr=0.5, env_kwargs={"reader": "truth"}, difficulty=2)
    assert kind.from_mapping(changed.to_mapping()) == changed != config
    with pytest.raises(ConfigError, match=r"unknown setting 'lora\.rang'\. Did you mean 'rank'\?"):
        kind.from_mapping({**TASKS, "lora": {"rang": 4}})


@each_run
def test_every_setting_says_what_it_is_and_the_most_used_are_few(config: RunSettings):
    fields = list(leaves_of(type(config)))
    for path, field in fields:
        assert 4 < len(field.description or "") < 95, path
    first = [path for path, field in fields if len(path) == 1 and not note_of(field, "more")]
    assert len(first) <= 40


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
        CheckpointError, match=rf"settings: lr was 0\.25 and is {config.lr!r}, seed was 7 and is 0; use"
    ):
        config.check_same(config.with_values(lr=0.25, seed=7).identity)
    with pytest.raises(CheckpointError, match="setting_of_a_later_version was 1 and is None"):
        config.check_same({**config.identity, "setting_of_a_later_version": 1})
    with pytest.raises(CheckpointError, match="does not say which settings"):
        config.check_same(None)


def test_what_resets_an_env():
    assert RunSettings().reset_options == {}
    assert RunSettings(difficulty=0).reset_options == {"difficulty": 0}


@each_run
def test_no_adapter_is_described_where_none_is_trained(config: RunSettings):
    full = type(config)(**TASKS, train="full")
    assert full.lora is None and full.adapter.rank == 16
    assert type(config).from_mapping(full.to_mapping()) == full
    with pytest.raises(ConfigError, match="lora must be left out with train full"):
        type(config)(**TASKS, train="full", lora={"rank": 4})
    with pytest.raises(ConfigError, match="lora must be a mapping of settings with train lora"):
        type(config)(**TASKS, lora=None)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (SftConfig, {"data": "a.jsonl", "demonstrations": 3}, "demonstrations must be 512 with data"),
        (SftConfig, {**TASKS, "pack_length": 3}, "pack_length must be None without packing"),
        (SftConfig, {**TASKS, "diversity": {"weight": 1.0}}, "diversity.measure must be given"),
        (SftConfig, {**TASKS, "diversity": "ngram"}, "diversity.measure must be .* Did you mean 'ngrams'"),
        (SftConfig, {**TASKS, "rollback_patience": 1}, "unknown setting 'rollback_patience'"),
        (TrainConfig, {"beta": 0, "loss": {"kl": {"estimator": "k2"}}}, "loss.kl is read with beta above 0"),
        (TrainConfig, {"algorithm": {"gae_lambda": 0.9}}, "not read with algorithm grpo, only with ppo"),
        (TrainConfig, {"loss": {"surrogate": {"cap": 3.0}}}, "surrogate clip, only with dual_clip"),
        (TrainConfig, {"loss": {"surrogate": {"type": "cispo", "epsilon_low": 0.1}}}, "not read with"),
        (
            TrainConfig,
            {"loss": {"correction": {"type": "none", "cap": 2.0}}},
            "only with auto, truncate, mask",
        ),
        (TrainConfig, {"algorithm": {"credit": {"gamma": 0.5}}}, "credit episode, only with turn"),
        (TrainConfig, {"algorithm": {"advantage": {"set_size": 2}}}, "advantage sum, only with polychromic"),
        (TrainConfig, {"algorithm": {"replay": {"staleness": 2}}}, "algorithm.replay.ratio must be given"),
        (TrainConfig, {"levels": {"type": "plr", "edits": 2}}, "levels plr, only with accel"),
    ],
)
def test_a_setting_that_is_not_read_cannot_be_given(kind, given, message):
    with pytest.raises(ConfigError, match=message):
        kind(**given)


def test_what_python_gives_is_short():
    config = TrainConfig(groups=2, loss={"aggregation": "constant"}, algorithm="ppo", levels="accel")
    assert (config.loss.aggregation, config.algorithm.type, config.levels.buffer) == ("constant", "ppo", 64)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--diversity", "ngrams"), {"measure": "ngrams"}),
        (("--diversity", "encoder", "--diversity.samples", "3"), {"measure": "encoder", "samples": 3}),
        (
            ("--diversity.measure", "my:far", "--diversity.weight", "0.5"),
            {"measure": "my:far", "weight": 0.5},
        ),
    ],
)
def test_the_measure_of_diversity_may_stand_alone(words, expected):
    config, _ = sft.COMMAND.read(["--env", "Pixelis/TweetReply-v0", *words])
    assert config.diversity == Diversity(**expected)
    assert SftConfig.from_mapping(config.to_mapping()) == config
