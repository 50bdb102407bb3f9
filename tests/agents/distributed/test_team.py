"""Several processes that train one model, started as users start them: by ``torchrun``."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from same_training import assert_same_training

from pixelis.agents.distributed.launched import alone, launched
from pixelis.agents.models.policy import Policy
from pixelis.agents.playing.term_rewards import build_rewards
from pixelis.agents.rl.gradient import Totals
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.rl.team import Team
from pixelis.agents.run_files.checkpoint import latest_checkpoint, list_checkpoints
from pixelis.agents.runs.metrics import read_metrics
from pixelis.cli import USER_MISTAKE
from pixelis.cli.train import main
from pixelis.errors import ConfigError
from pixelis.rewards.terms.traits import RewardTraits

UNEVEN = {
    "env_kwargs": {"turns": 2},
    "groups": 5,
    "epochs": 2,
    "micro_batch_size": 3,
    "steps": 3,
    "checkpoint_every": 1,
    "rewards": {"coherence": {"encoder": "hashed"}, "penalty": {}, "task_gap": 1.0},
    "lr": "auto",
}


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "algorithm"), [(2, "grpo"), (3, "ppo")])
def test_several_processes_train_as_one_does(processes, algorithm, start, toy_config, tmp_path):
    changes = {**UNEVEN, "algorithm": {"type": algorithm}}
    alone_run = train(toy_config(output=str(tmp_path / "alone"), **changes))
    config = toy_config(output=str(tmp_path / "team"), **changes)
    together = start("train", config, processes=processes)
    assert together.wait() == 0, together.said
    assert_same_training(alone_run.folder.path, tmp_path / "team")
    assert any(row["policy/grad_norm"] for row in read_metrics(alone_run.folder.metrics))
    assert f"{processes} processes train it" in (tmp_path / "team" / "log.txt").read_text()
    assert together.said.count("run folder:") == 1  # the others print nothing


@pytest.mark.slow
def test_a_run_whose_helper_is_killed_goes_on_to_the_same_numbers_with_more_or_fewer(
    start, toy_config, tmp_path
):
    # At a rate so low that rounding moves no token: a single other one makes another run of it.
    # Slow, so that it is killed in the middle whatever else the machine does.
    changes = {
        **UNEVEN,
        "env": "slow_toy_env:Toy/SlowEcho-v0",
        "lr": 1e-5,
        "steps": 10,
        "checkpoint_every": 2,
    }
    whole = train(toy_config(output=str(tmp_path / "whole"), **changes))
    killed = start("train", toy_config(output=str(tmp_path / "run"), **changes), processes=2)
    killed.wait_for_steps(tmp_path / "run", 3)
    killed.rank(1).kill()
    assert killed.wait() != 0
    (told,) = killed.told
    assert "process of 2 is gone" in told or "process 1 of 2 is gone" in told
    assert "go on from the last checkpoint with --resume" in told
    left = list_checkpoints(tmp_path / "run" / "checkpoints")
    assert left and "of 2 is gone" in (tmp_path / "run" / "log.txt").read_text()
    resumed = start("train", "--resume", tmp_path / "run", "--steps", 8, processes=4)
    assert resumed.wait() == 0, resumed.said
    config = toy_config(output=str(tmp_path / "run"), **changes)
    with TrainingRun.resume(tmp_path / "run", config) as run:
        assert run.trainer.finished_steps == 8
        run.train()
    assert_same_training(whole.folder.path, tmp_path / "run", weights_apart=3e-5)


@pytest.mark.slow
def test_a_helper_that_ends_between_two_steps_is_told_too(start, toy_config):
    """``torchrun`` then asks the leader to end, which needs no helper for that, and would say nothing."""
    config = toy_config(steps=10_000, checkpoint_every=1)
    started = start("train", config, processes=2)
    started.wait_for_steps(config.output, 1)
    leader, helper = started.rank(0), started.rank(1)
    started.wait_for_steps(config.output, 3)
    leader.suspend()  # as a rule while it saves
    helper.kill()
    time.sleep(1)  # in which torchrun signals the leader
    leader.resume()
    assert started.wait() != 0
    (told,) = started.told
    assert "of 2 is gone" in told and "of 2 is gone" in (Path(config.output) / "log.txt").read_text()
    rows = read_metrics(Path(config.output) / "metrics.jsonl")
    saved = json.loads((latest_checkpoint(Path(config.output) / "checkpoints") / "progress.json").read_text())
    assert saved["step"] == len(rows) >= 3


@pytest.mark.slow
def test_where_the_leader_is_killed_the_others_end(start, toy_config, tmp_path):
    config = toy_config(steps=10_000, checkpoint_every=2, env_kwargs={"turns": 3})
    started = start("train", config, processes=2)
    started.wait_for_steps(config.output, 3)
    family = started.family
    started.rank(0).send_signal(signal.SIGKILL)
    assert started.wait() != 0 and not any(each.is_running() for each in family)
    with TrainingRun.resume(config.output, config.with_values(steps=4)) as run:
        assert run.trainer.finished_steps >= 2


@pytest.mark.slow
def test_ctrl_c_ends_the_step_and_saves(start, toy_config):
    config = toy_config(steps=10_000, checkpoint_every=5_000)
    started = start("train", config, processes=2)
    started.wait_for_steps(config.output, 3)
    started.interrupt()
    rows = read_metrics(Path(config.output) / "metrics.jsonl")
    assert "interrupted; resume with:" in started.said and not started.told
    saved = json.loads((latest_checkpoint(Path(config.output) / "checkpoints") / "progress.json").read_text())
    assert saved["step"] == len(rows) >= 3
    log = (Path(config.output) / "log.txt").read_text()
    assert log.endswith(f"INFO stopped after step {len(rows)}: it was interrupted\n")


@pytest.mark.slow
def test_what_goes_wrong_with_a_helper_is_told_in_one_line(start, toy_config, tmp_path):
    """The module of its environment cannot be imported there, as on a machine that lacks it."""
    config = toy_config(env="fault_env:Toy/Fault-v0", steps=2)
    hide = "import os, sys\nif os.environ.get('RANK') == '1': sys.modules['fault_env'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hide)
    started = start("train", config, processes=2)
    assert started.wait() != 0
    (told,) = started.told
    assert told.startswith("error: in process 1: UnknownEnvError: "), started.said


@pytest.mark.slow
def test_what_trains_in_one_process_says_so(start, tmp_path):
    started = start("sft", "--env", "Pixelis/ZoomRead-v0", "--output", tmp_path / "run", processes=2)
    assert started.wait() != 0
    assert started.told and all(
        "trains in one process, and torchrun has started 2" in e for e in started.told
    )


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_help_ends_all_processes_and_is_printed_once(start):
    started = start("train", "--help", processes=2)
    assert started.wait() == 0, started.said
    assert started.said.count("usage: ") == 1


# ---------------------------------------------------------------------- parts


def test_a_process_that_helps_ends_by_the_words_too(monkeypatch, capsys):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0 and capsys.readouterr().out == ""
    assert main(["--nonsense", "3"]) == USER_MISTAKE
    assert "unknown argument '--nonsense'" in capsys.readouterr().err
    assert main(["--env", "Pixelis/ZoomRead-v0", "--dry-run"]) == USER_MISTAKE
    assert "--dry-run trains in one process" in capsys.readouterr().err


def test_what_torchrun_says(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert launched() == (0, 1)
    alone("SFT")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert launched() == (1, 3)
    with pytest.raises(ConfigError, match=r"SFT trains in one process, and torchrun has started 3"):
        alone("SFT")


@pytest.mark.parametrize("given", [("3", "3"), ("-1", "2"), ("a", "2"), ("0", "")])
def test_an_environment_that_says_nonsense_is_refused(given, monkeypatch):
    monkeypatch.setenv("RANK", given[0])
    monkeypatch.setenv("WORLD_SIZE", given[1])
    with pytest.raises(ConfigError, match="start with torchrun, or unset both"):
        launched()


def test_what_a_team_cannot_train_is_refused(monkeypatch, toy_config, letter_model):
    monkeypatch.setenv("WORLD_SIZE", "5")
    policy = Policy.load(letter_model, device="cpu")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(ConfigError, match=r"this is process 1 of 5.*help_out"):
        Team.of(toy_config(), policy, None)
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(ConfigError, match=r"groups must be at least the number of processes, 5, got 4"):
        Team.of(toy_config(groups=4), policy, None)
    with pytest.raises(ConfigError, match=r"workers play for one process that trains, .* started 5"):
        Team.of(toy_config(groups=5, workers=2), policy, None)
    curious = build_rewards({"curiosity": {}, "task_gap": 1.0}, RewardTraits(task_gap=1.0))
    with pytest.raises(
        ConfigError, match=r"rewards\.curiosity learns from what is played, and each of several"
    ):
        Team.of(toy_config(groups=5), policy, curious)


def test_sums_of_two_processes_add_up_and_come_back_from_a_message():
    one = Totals(loss=0.5, tokens=3, parts=[(1.0, 2)], squares=1.0)
    two = Totals.from_json(json.loads(json.dumps(Totals(loss=0.25, tokens=4, parts=[(2.0, 1)]).to_json())))
    both = one + two
    assert (both.loss, both.tokens, both.parts) == (0.75, 7, [(1.0, 2), (2.0, 1)])
    assert both.squares != both.squares  # the norm of a sum is not the sum of norms
