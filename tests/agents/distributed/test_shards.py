"""Frozen weights shared out among processes that ``torchrun`` starts, beside runs in which they are whole."""

from __future__ import annotations

import time

import pytest
import torch
from same_training import assert_same_training

from pixelis.agents.playing.sources import policy_of
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.state_files import read_tensors
from pixelis.errors import ConfigError

UNEVEN = {
    "env_kwargs": {"turns": 2},
    "groups": 3,
    "micro_batch_size": 3,
    "steps": 2,
    "checkpoint_every": 1,
    "lr": "auto",
    "beta": 0.04,
}
"""One process plays two groups, the other one; they go back through the layers unequally often."""


def first_gradient(run):
    """Return what AdamW remembers of the only gradient so far: a tenth of it."""
    state = read_tensors(run / "checkpoints" / "step-00000001" / "optimiser.pt")
    return torch.cat([each["exp_avg"].flatten() for each in state["adamw"]["state"].values()])


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"gradient_checkpointing": True, "epochs": 2, "loss": {"kl": {"place": "reward"}}, "eval_every": 1},
        {"algorithm": {"type": "ppo"}, "lora": {"targets": "layers.1.mlp.up_proj"}},
    ],
    ids=["plain", "evaluated", "ppo"],
)
def test_shared_out_weights_train_as_whole_ones_do(changes, start, toy_config, tmp_path):
    more = {**UNEVEN, "eval_episodes": 3, **changes}
    whole = train(toy_config(output=str(tmp_path / "whole"), **more))
    shared = start("train", toy_config(output=str(tmp_path / "shared"), **more), "--shard", processes=2)
    assert shared.wait() == 0, shared.said
    assert_same_training(whole.folder.path, tmp_path / "shared")
    gradients = [first_gradient(tmp_path / name) for name in ("whole", "shared")]
    assert gradients[0].norm() > 0
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-6 * float(gradients[0].norm()))


@pytest.mark.slow
def test_a_shared_run_ends_with_a_process_and_goes_on_whole_and_shared_again(start, toy_config, tmp_path):
    changes = {**UNEVEN, "env": "slow_toy_env:Toy/SlowEcho-v0", "lr": 1e-5, "steps": 6}
    whole = train(toy_config(output=str(tmp_path / "whole"), **changes))
    config = toy_config(output=str(tmp_path / "run"), **changes)
    killed = start("train", config, "--shard", processes=2)
    killed.wait_for_steps(tmp_path / "run", 1)
    begun = time.monotonic()
    killed.wait_for_steps(tmp_path / "run", 2)
    time.sleep((time.monotonic() - begun) / 3)  # into the middle of a step
    killed.rank(1).kill()
    assert killed.wait() != 0
    (told,) = killed.told
    assert "process of 2 is gone" in told or "process 1 of 2 is gone" in told
    with TrainingRun.resume(tmp_path / "run", config.with_values(steps=4)) as run:
        run.train()  # by one process, whole
    again = start("train", "--resume", tmp_path / "run", "--shard", "--steps", 6, processes=3)
    assert again.wait() == 0, again.said
    assert_same_training(whole.folder.path, tmp_path / "run", weights_apart=3e-5)


def test_what_cannot_be_shared_out_is_refused(toy_config, monkeypatch):
    with pytest.raises(ConfigError, match=r"shard shares weights out among processes, and there is one"):
        policy_of(toy_config(shard=True), None)
    with pytest.raises(ConfigError, match=r"without train full; leave one out"):
        toy_config(shard=True, train="full")
    with pytest.raises(ConfigError, match=r"without quantization 4bit; leave one out"):
        toy_config(shard=True, quantization="4bit")
    with pytest.raises(ConfigError, match=r"offload is for weights that are shared out; set shard"):
        toy_config(offload=True)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match=r"off a GPU, and the device is cpu; leave it out"):
        policy_of(toy_config(shard=True, offload=True, device="cpu"), None)
