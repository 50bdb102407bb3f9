"""Training when things go wrong: stops inside a step, late envs, useless models, overflow."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from pixelis.agents.episodes.seeds import task_seeds
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.gradient import BatchGradient
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.rl.trainer import Trainer
from pixelis.agents.rl.update import Updater
from pixelis.agents.rollout.decoding import SharedMemory
from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import MetricsLog, comparable_metrics, read_metrics
from pixelis.errors import CheckpointError, ConfigError, EpisodesFailedError

HERE = Path(__file__).parent
FAULTS = "fault_env:Toy/Fault-v0"


class Stop(BaseException):
    """Ends a run on the spot, as a kill would: nothing of the package catches it."""


def stop_at(monkeypatch, owner, name, call, *, after=False, begun=lambda: True):
    """Stop in the n-th call of a method since something has begun, before its work or after it."""
    original, calls = getattr(owner, name), []

    def wrapped(*args, **kwargs):
        calls.extend([1] if begun() else [])
        if len(calls) == call and not after:
            raise Stop
        result = original(*args, **kwargs)
        if len(calls) == call and begun():
            raise Stop
        return result

    monkeypatch.setattr(owner, name, wrapped)


# A step of this run is a rollout and two epochs of several micro-batches; every other one ends with a
# checkpoint. The run stops in step 4, so that step 3, which was written down, has to be done again as well.
CYCLE = {"steps": 5, "checkpoint_every": 2, "epochs": 2, "micro_batch_size": 4, "env_kwargs": {"turns": 2}}
MOMENTS = {
    "between the turns of a rollout": (SharedMemory, "read", 1, False),
    "after the rollout": (Updater, "update", 1, False),
    "in the first epoch, between two micro-batches": (BatchGradient, "_forward", 2, False),
    "between the epochs": (Optimiser, "step", 1, True),
    "after the update, before its metrics": (MetricsLog, "write", 2, False),
    "after the metrics, before a checkpoint": (MetricsLog, "write", 2, True),
    "before a checkpoint is renamed": (Trainer, "_write", 1, True),
}


@pytest.fixture(scope="module")
def whole_rows(letter_model, tmp_path_factory):
    """The rows of the run that nobody stops."""
    from pixelis.agents.settings.rl import TrainConfig

    config = TrainConfig.from_mapping(
        {
            "env": "toy_env:Toy/Echo-v0",
            "model": str(letter_model),
            "output": str(tmp_path_factory.mktemp("whole") / "run"),
            **{"groups": 4, "group_size": 4, "max_new_tokens": 2, "lr": 0.01, "beta": 0.01},
            **{"eval_episodes": 0, **CYCLE},
        }
    )
    return comparable_metrics(train(config).folder.metrics)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_stops_inside_a_step_goes_on_exactly(toy_config, whole_rows, monkeypatch, moment):
    config = toy_config(**CYCLE)
    with TrainingRun.start(config) as run:
        owner, name, call, after = MOMENTS[moment]
        stop_at(monkeypatch, owner, name, call, after=after, begun=lambda: run.trainer.finished_steps >= 3)
        with pytest.raises(Stop):
            run.train()
        monkeypatch.undo()
    assert run.trainer.finished_steps in (3, 4)
    assert latest_checkpoint(run.folder.checkpoints).name == "step-00000002"
    with TrainingRun.resume(config.output, config) as resumed:
        assert resumed.trainer.finished_steps % 2 == 0
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == whole_rows


def test_a_run_that_was_killed_before_its_first_checkpoint_can_be_started_again(toy_config, monkeypatch):
    config = toy_config(steps=1)
    with monkeypatch.context() as patch:
        stop_at(patch, Trainer, "_write", 1)
        with pytest.raises(Stop):
            TrainingRun.start(config)
    assert (Path(config.output) / "config.yaml").exists()
    with pytest.raises(CheckpointError, match="no checkpoint in"):
        TrainingRun.resume(config.output, config)
    assert train(config).trainer.finished_steps == 1
    with pytest.raises(ConfigError, match="already holds a run"):
        RunFolder.create(config.output, config.to_mapping())


def test_a_checkpoint_of_another_base_of_the_same_shape_is_refused(toy_config, letter_model, tmp_path):
    import shutil

    model = shutil.copytree(letter_model, tmp_path / "model")
    config = toy_config(steps=1, model=str(model))
    train(config)
    weights = AutoModelForCausalLM.from_pretrained(model)
    with torch.no_grad():
        weights.lm_head.weight += 0.01
    weights.save_pretrained(model)
    with pytest.raises(CheckpointError, match=r"belongs to another base model than .* is now"):
        TrainingRun.resume(config.output, config)


# ---------------------------------------------------------------------- envs that hang


@pytest.mark.parametrize("call", ["reset", "step"])
def test_training_goes_on_past_envs_that_hang(toy_config, call):
    config = toy_config(
        env=FAULTS,
        env_kwargs={"hang": call, "every": 3},
        steps=2,
        groups=3,
        group_size=2,
        env_threads=6,  # so that the time-outs run side by side
        env_timeout_seconds=1.0,
        eval_episodes=0,
    )
    run = train(config)
    rows = read_metrics(run.folder.metrics)
    assert [row["step"] for row in rows] == [1, 2]
    assert sum(row["rollout/timeouts"] for row in rows) >= 2
    for row in rows:
        assert row["rollout/timeouts"] == row["episodes/invalid"] and row["rollout/timeouts"] % 2 == 0
        assert row["episodes/count"] == 6
    stuck = [thread for thread in threading.enumerate() if thread.name == "pixelis-env"]
    assert stuck and all(thread.daemon for thread in stuck)  # they cannot keep the process


def test_a_later_step_in_which_every_env_hangs_changes_nothing(toy_config):
    (struck,) = task_seeds(3, 2, 1)
    config = toy_config(
        env=FAULTS, env_kwargs={"hang": "reset", "every": struck}, env_timeout_seconds=1.0, steps=3, seed=3
    )
    rows = read_metrics(train(config.with_values(groups=1, group_size=2, env_threads=2)).folder.metrics)
    assert rows[1]["rollout/timeouts"] == 2 and rows[1]["policy/grad_norm"] is None
    assert [row["episodes/failed_share"] for row in rows] == [0.0, 1.0, 0.0]


def test_a_first_step_in_which_every_env_hangs_ends_the_run(toy_config):
    config = toy_config(
        env=FAULTS, env_kwargs={"hang": "step", "every": 1}, env_timeout_seconds=1.0, steps=2, eval_episodes=0
    )
    with pytest.raises(EpisodesFailedError, match=r"all 2 episodes of step 1 failed: step did not return"):
        train(config.with_values(groups=1, group_size=2, env_threads=2))


def test_an_env_that_hangs_at_once_is_one_clear_error(toy_config):
    config = toy_config(env=FAULTS, env_kwargs={"hang": "make"}, env_timeout_seconds=0.5)
    with pytest.raises(ConfigError, match=r"make did not return within 0\.5 s; raise --env-timeout-seconds"):
        TrainingRun.start(config)


HANGING = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from pixelis.agents.settings.rl import TrainConfig
    from pixelis.agents.rl.run import train

    from pixelis.errors import EpisodesFailedError

    try:
        train(TrainConfig.from_mapping(dict(
            env="fault_env:Toy/Fault-v0", env_kwargs={"hang": "step", "every": 1}, model=sys.argv[2],
            output=sys.argv[3], groups=2, group_size=2, max_new_tokens=2, steps=1, eval_episodes=0,
            env_threads=4, env_timeout_seconds=0.5,
        )))
    except EpisodesFailedError as error:
        print(str(error)[:32], flush=True)
"""


@pytest.mark.slow
def test_threads_that_hang_for_ever_do_not_keep_the_process(letter_model, tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HANGING), HERE, letter_model, tmp_path / "run"],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (result.returncode, result.stdout) == (0, "all 4 episodes of step 1 failed:\n"), result.stderr


# ---------------------------------------------------------------------- models and numbers


def test_a_model_that_emits_only_its_end_token(toy_config, letter_model, tmp_path):
    """A large constant feature after the last norm, which the head turns into the end token alone."""
    import shutil

    folder = shutil.copytree(letter_model, tmp_path / "silent")
    model = AutoModelForCausalLM.from_pretrained(folder)
    end = model.config.eos_token_id
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 1000.0
        model.lm_head.weight.zero_()
        model.lm_head.weight[end, 0] = 50.0
    model.save_pretrained(folder)
    run = train(toy_config(model=str(folder), steps=3, eval_episodes=4, env_kwargs={"turns": 2}))
    rows = read_metrics(run.folder.metrics)
    assert len(rows) == 3
    for row in rows:
        assert row["completion/min"] == row["completion/max"] == 2  # one end token a turn
        assert row["reward/mean"] == 0.0 and row["groups/dropped"] == 4
        assert row["policy/entropy"] == pytest.approx(0, abs=1e-6) and row["policy/grad_norm"] is None
        assert row["policy/mismatch"] == pytest.approx(0, abs=1e-6)
    assert run.evaluations["after"][0].success_rate == 0.0


def test_one_update_that_is_not_finite_is_skipped_and_training_goes_on(toy_config):
    """A huge reward in one group of step 3 overflows the loss of that step alone."""
    struck = task_seeds(3, 3, 4)[0]
    config = toy_config(
        env=FAULTS,
        env_kwargs={"jackpot": 1e100, "every": struck},
        algorithm={"scale": "none"},
        steps=5,
        seed=3,
    )
    run = train(config)
    rows = read_metrics(run.folder.metrics)
    assert [row["policy/skipped_updates"] for row in rows] == [0, 0, 1, 1, 1]
    assert rows[2]["reward/mean"] > 1e90 and rows[3]["policy/grad_norm"] > 0
    assert all(torch.isfinite(weight).all() for weight in run.policy.trainable_parameters())
    assert latest_checkpoint(run.folder.checkpoints).name == "step-00000005"
    assert (run.folder.path / "log.txt").read_text().count("update skipped: loss") == 1


def test_a_group_of_one_is_one_clear_error(toy_config):
    with pytest.raises(ConfigError, match=r"group_size must be at least 2, got 1: an episode is compared"):
        toy_config(group_size=1)
