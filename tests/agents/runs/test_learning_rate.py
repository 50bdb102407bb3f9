"""The learning rate where none is given."""

from __future__ import annotations

import pytest
import yaml

from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.learning_rate import count_parameters, rate_by_size
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.expert.run import ExpertRun
from pixelis.agents.sft.run import SftRun

SMOLLM2_PARAMETERS = 134_515_008


def test_the_small_model_keeps_the_rate_at_which_it_learns():
    policy = Policy.load("pixelis-tiny", device="cpu", lora=LoraSettings())
    assert rate_by_size(count_parameters(policy.model), "reinforcement") == 1e-3
    assert rate_by_size(count_parameters(policy.model), "demonstrations") == 1e-3
    assert count_parameters(policy.model) == count_parameters(Policy.load("pixelis-tiny", device="cpu").model)


def test_a_real_language_model_is_not_destroyed():
    """Measured with SmolLM2: 2e-4 takes it apart, 7e-5 learns, 2e-5 is stable; SFT learns at 5e-4."""
    assert 2e-5 < rate_by_size(SMOLLM2_PARAMETERS, "reinforcement") < 7e-5
    assert 3e-4 < rate_by_size(SMOLLM2_PARAMETERS, "demonstrations") < 1e-3


@pytest.mark.parametrize("learning", ["reinforcement", "demonstrations"])
def test_larger_models_never_take_larger_steps_and_full_training_a_tenth(learning):
    sizes = [10**power for power in range(3, 13)]
    rates = [rate_by_size(size, learning) for size in sizes]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 1e-3 and rates[-1] == {"reinforcement": 1e-5, "demonstrations": 1.2e-4}[learning]
    for size, rate in zip(sizes, rates, strict=True):
        assert rate_by_size(size, learning, full=True) == pytest.approx(rate / 10, rel=0.05)


def test_every_kind_of_run_writes_down_the_rate_it_chose(toy_config, letter_model, tmp_path):
    base = {
        "env": "spell_env:Toy/Spell-v0",
        "model": str(letter_model),
        "eval_episodes": 0,
        "max_new_tokens": 5,
    }
    runs = {
        "grpo": train(toy_config(lr=None, steps=1)),
        "ppo": train(toy_config(lr=None, steps=1, algorithm="ppo", output=str(tmp_path / "ppo"))),
        "full": train(toy_config(lr=None, steps=1, train="full", output=str(tmp_path / "full"))),
        "sft": SftRun.whole(
            SftConfig(**base, steps=1, demonstrations=16, output=str(tmp_path / "sft"), warmup=0.0)
        ),
        "expert": ExpertRun.whole(
            ExpertConfig(**base, steps=1, groups=2, group_size=4, output=str(tmp_path / "expert"))
        ),
    }
    written = {
        name: yaml.safe_load((run.folder.path / "config.yaml").read_text())["lr"]
        for name, run in runs.items()
    }
    assert written == {"grpo": 1e-3, "ppo": 1e-3, "full": 1e-4, "sft": 1e-3, "expert": 1e-3}
    assert "learning rate of 0.001" in (runs["grpo"].folder.path / "log.txt").read_text()
    assert read_metrics(runs["sft"].folder.metrics)[0]["train/lr"] == 1e-3


def test_a_given_rate_is_kept_and_a_resumed_run_keeps_the_one_it_chose(toy_config):
    assert settings_of(train(toy_config(lr=0.02, steps=0)).folder.path)["lr"] == 0.02
    config = toy_config(lr=None, steps=1, output=toy_config().output + "-2")
    train(config)
    with TrainingRun.resume(config.output, config.with_values(steps=2)) as run:
        run.train()
    assert run.config.lr == 1e-3 and run.trainer.finished_steps == 2
