"""Training all weights in place of an adapter."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from warm_python import warm_python

from pixelis.agents.models.policy import Policy
from pixelis.agents.publish.export import export_model
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.run_files.saved_run import newest_adapter
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.expert.run import ExpertRun
from pixelis.agents.sft.run import SftRun
from pixelis.errors import ConfigError

PROGRAM = """
import sys, json
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.rl.run import TrainingRun
with TrainingRun.start(TrainConfig.from_mapping(json.loads(sys.argv[1]))) as run:
    run.train(on_step=lambda row: print(row["step"], flush=True))
"""


def test_every_weight_of_the_language_part_is_trained_and_saved(toy_config, letter_model):
    run = train(toy_config(train="full", steps=3))
    assert not run.policy.has_adapter
    saved, step = newest_adapter(run.folder.path)
    assert (saved.name, step) == ("model", 3)
    before, after = (load_file(folder / "model.safetensors") for folder in (letter_model, saved))
    assert set(before) == set(after)
    assert all(not torch.equal(before[name], after[name]) for name in before)
    plain = AutoModelForCausalLM.from_pretrained(saved)
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad():
        torch.testing.assert_close(plain(ids).logits, run.policy.model(ids).logits)
    assert "all weights of the language part" in (saved / "README.md").read_text()
    assert (run.folder.path / "model" / "model.safetensors").read_bytes() == (
        saved / "model.safetensors"
    ).read_bytes()


def test_the_vision_tower_stays_as_it_is(tmp_path):
    config = dict(env="Pixelis/ZoomRead-v0", model="pixelis-tiny", groups=1, group_size=2, max_new_tokens=8)
    from pixelis.agents.settings.rl import TrainConfig

    run = train(
        TrainConfig(
            **config,
            train="full",
            beta=0.0,
            steps=2,
            eval_episodes=0,
            output=str(tmp_path / "run"),
            temperature=2.0,
        )
    )
    frozen = {name for name, each in run.policy.model.named_parameters() if not each.requires_grad}
    assert frozen and all("vision" in name or "projector" in name for name in frozen)
    assert read_metrics(run.folder.metrics)[-1]["step"] == 2
    assert Policy.load(run.folder.path, device="cpu").chat.sees_images


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_a_killed_run_goes_on_to_the_same_numbers(beta, toy_config, tmp_path):
    """SIGKILL; with a penalty, the frozen copy of the starting weights comes back too."""
    changes = {"train": "full", "beta": beta, "steps": 14, "checkpoint_every": 3, "lr": 0.003}
    whole = train(toy_config(output=str(tmp_path / "whole"), **changes))
    config = toy_config(output=str(tmp_path / "killed"), **changes)
    here = Path(__file__).parent
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here / "rl"), str(here.parents[1])])}
    process = warm_python().start(["-c", PROGRAM, json.dumps(config.to_mapping())], tmp_path, env)
    while "7" not in process.printed.split() and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with TrainingRun.resume(config.output, config) as resumed:
        assert 6 <= resumed.trainer.finished_steps < 14
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
    if beta:
        assert read_metrics(whole.folder.metrics)[-1]["policy/kl_reference"] > 0
    saved = [
        latest_checkpoint(run.folder.checkpoints) / "model" / "model.safetensors" for run in (whole, resumed)
    ]
    assert saved[0].read_bytes() == saved[1].read_bytes()


def test_sft_and_expert_iteration_train_all_weights_too(letter_model, tmp_path):
    base = {
        "env": "spell_env:Toy/Spell-v0",
        "model": str(letter_model),
        "eval_episodes": 0,
        "max_new_tokens": 5,
    }
    sft = SftRun.whole(
        SftConfig(**base, train="full", demonstrations=48, steps=20, lr=0.003, output=str(tmp_path / "sft"))
    )
    losses = [row["train/loss"] for row in read_metrics(sft.folder.metrics)]
    assert losses[-1] < 0.7 * losses[0]
    expert = ExpertRun.whole(
        ExpertConfig(
            **{**base, "model": str(sft.folder.path)}, train="full", steps=2, groups=2, group_size=4,
            restart=True, output=str(tmp_path / "expert"), min_reward=-1.0,
        )
    )  # fmt: skip
    assert (expert.folder.path / "model" / "config.json").is_file()
    assert read_metrics(expert.folder.metrics)[-1]["train/updates"] > 0


def test_it_is_exported_as_it_is(toy_config, tmp_path):
    run = train(toy_config(train="full", steps=2))
    done = export_model(run.folder.path, tmp_path / "out")
    assert done.rank is None
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, run.policy.model(ids).logits)
    with pytest.raises(ConfigError, match="no adapter to export"):
        export_model(run.folder.path, tmp_path / "adapter", adapter_only=True)


@pytest.mark.parametrize(
    "given",
    [
        {"dtype": "bfloat16"},
        {"lora": {"dropout": 0.1}},
        {"lora": {"targets": "q_proj"}},
        {"quantization": "4bit"},
    ],
)
def test_what_means_an_adapter_is_refused(given, toy_config):
    with pytest.raises(ConfigError, match=f"{next(iter(given))} must be .*with train full"):
        toy_config(train="full", **given)


def test_with_a_penalty_the_log_says_what_the_copy_costs(toy_config):
    run = train(toy_config(train="full", steps=1, beta=0.1))
    assert "frozen copy of the weights in memory" in (run.folder.path / "log.txt").read_text()
    assert (newest_adapter(run.folder.path)[0] / "reference" / "weights.safetensors").is_file()
