"""Levels in training runs: what is drawn, what is reported, and that a killed run draws the same."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warm_python import warm_python

from pixelis.agents.episodes.seeds import level_generator, task_seeds
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rollout.collector import Collector
from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.selection import LevelSelection
from pixelis.errors import CheckpointError, ConfigError

SAMPLERS = ("uniform", "domain_random", "learnability", "plr", "accel", "sfl")
SMALL = {
    "plr": {"buffer": 6},
    "accel": {"buffer": 6, "edits": 2},
    "sfl": {"candidates": 4, "keep": 3, "every": 2},
}
DIALS = {"env": "dial_env:Toy/Dial-v0"}


def small(sampler, **dials):
    """Return the levels of a short run."""
    return {"type": sampler, **SMALL.get(sampler, {}), **dials}


@pytest.fixture
def played(monkeypatch):
    """Return the list to which every level of a training step is added as it is played."""
    levels, collect = [], Collector.collect

    def noting(self, policy, requests, settings, rng_seed):
        levels.append([(each.seed, each.group, dict(each.options)) for each in requests])
        return collect(self, policy, requests, settings, rng_seed)

    monkeypatch.setattr(Collector, "collect", noting)
    return levels


def train(config, until=None):
    with TrainingRun.start(config) as run:
        run.train(should_stop=(lambda: run.trainer.finished_steps >= until) if until is not None else None)
    return run


def test_by_default_a_run_plays_what_it_always_played(toy_config, played):
    config = toy_config(steps=2)
    train(config)
    expected = [
        [(seed, group, {}) for group, seed in enumerate(task_seeds(0, step, 4)) for _ in range(4)]
        for step in (1, 2)
    ]
    assert played == expected and config.levels.type == "none"


def test_a_run_from_before_there_were_levels_goes_on(toy_config, tmp_path):
    whole = train(toy_config(steps=4, output=str(tmp_path / "whole")))
    config = toy_config(steps=4)
    run = train(config, until=2)
    checkpoint = latest_checkpoint(run.folder.checkpoints)
    (checkpoint / "levels.json").unlink()
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    del manifest["sha256"]["levels.json"]
    progress = json.loads((checkpoint / "progress.json").read_text())
    progress["identity"] = {k: v for k, v in progress["identity"].items() if not k.startswith("level")}
    (checkpoint / "progress.json").write_text(json.dumps(progress))
    del manifest["sha256"]["progress.json"]
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))
    with TrainingRun.resume(config.output, config) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)


@pytest.mark.parametrize("levels", SAMPLERS)
def test_a_resumed_run_draws_the_same_levels(toy_config, tmp_path, played, levels):
    changes = {**DIALS, "levels": small(levels), "steps": 5, "lr": 0.003}
    whole = train(toy_config(output=str(tmp_path / "whole"), **changes))
    drawn, config = played[:], toy_config(output=str(tmp_path / "halves"), **changes)
    played.clear()
    train(config, until=3)
    with TrainingRun.resume(config.output, config) as resumed:
        resumed.train()
    assert played == drawn and len({str(step) for step in drawn}) == len(drawn)
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
    states = [
        (latest_checkpoint(run.folder.checkpoints) / "levels.json").read_bytes() for run in (whole, resumed)
    ]
    assert states[0] == states[1]


def test_what_is_only_scored_is_not_trained_on(toy_config):
    run = train(toy_config(**DIALS, levels=small("plr", fill=1.0), steps=6))
    rows = read_metrics(run.folder.metrics)
    first, last = rows[0], rows[-1]
    assert first["levels/scored_only"] == 4 and first["groups/count"] == 0
    assert first["episodes/count"] == 16 and first["episodes/trained"] == 0
    assert first["policy/grad_norm"] is None and first["levels/zero_variance"] is None
    assert last["levels/buffer"] == 6 and last["groups/count"] == 4 - last["levels/scored_only"] > 0
    for row in rows:
        assert row["groups/dropped"] <= row["groups/count"] and row["groups/left_out"] == 0


def test_candidates_are_played_beside_the_groups_of_a_step(toy_config, played):
    run = train(toy_config(**DIALS, levels=small("sfl", every=9), steps=2))
    assert [len(requests) for requests in played] == [16, 16, 16]  # never more than four groups at once
    rows = read_metrics(run.folder.metrics)
    assert [row["levels/scored_only"] for row in rows] == [4, 0]
    assert [row["groups/count"] for row in rows] == [4, 4] and rows[0]["episodes/count"] == 32
    assert [group for _, group, _ in played[1]] == [4] * 4 + [5] * 4 + [6] * 4 + [7] * 4


@pytest.mark.parametrize("levels", ["plr", "learnability", "sfl"])
def test_groups_without_signal_are_replaced_by_levels_that_are_trained_on(toy_config, levels):
    run = train(
        toy_config(
            **DIALS,
            levels=small(levels, **({"fill": 0.5} if levels in ("plr", "accel") else {})),
            steps=5,
            algorithm={"refill_episodes": 16},
        )
    )
    rows = read_metrics(run.folder.metrics)
    assert any(row["groups/left_out"] > 0 for row in rows)
    for row in rows:
        places = 4 if levels != "plr" else 4 - row["levels/scored_only"]
        assert row["groups/count"] - row["groups/left_out"] == places


@pytest.mark.parametrize("levels", ["learnability", "plr"])
def test_ppo_takes_its_levels_from_the_same_samplers(toy_config, levels):
    run = train(toy_config(**DIALS, levels=small(levels), algorithm="ppo", steps=4))
    rows = read_metrics(run.folder.metrics)
    assert all(row["levels/zero_variance"] is not None for row in rows[2:])
    assert all(row["episodes/trained"] == 4 * row["groups/count"] for row in rows)


def test_kinds_of_level_are_told_apart(toy_config):
    run = train(toy_config(**DIALS, levels="uniform", steps=8))
    rows = read_metrics(run.folder.metrics)
    known = {key.split("/")[1] for row in rows for key in row if key.startswith("levels/") and "=" in key}
    assert {"kind=long", "kind=short", "difficulty=3", "family=long", "kind=long,difficulty=0"} <= known
    assert {row.get("levels/difficulty=0/success") for row in rows} <= {1.0, None}
    assert {row.get("levels/difficulty=3/zero_variance") for row in rows} <= {1.0, None}
    assert len(run.tables()) == 1 and run.tables()[0].row_count == len(known)


def test_a_run_on_solved_levels_raises_the_alert(toy_config):
    config = toy_config(**DIALS, levels={"type": "uniform", "dials": {"difficulty": 0}, "window": 3}, steps=4)
    run = train(config)
    assert [row["levels/alert"] for row in read_metrics(run.folder.metrics)] == [0, 0, 1, 1]
    log = (run.folder.path / "log.txt").read_text()
    assert log.count("ALERT: for 3 steps every reward was the best there is") == 1


def test_evaluation_plays_the_same_tasks_whatever_chooses_the_levels(toy_config, tmp_path, played):
    seen = []
    for levels in ("none", "plr"):
        config = toy_config(**DIALS, levels=small(levels), eval_episodes=5, output=str(tmp_path / levels))
        played.clear()
        with TrainingRun.start(config) as run:
            run.evaluate("before")
        seen.append(played[:])
    first = (2**31, 0, {"split": "test"})  # the toy has the same tasks in both splits: other seeds
    assert seen[0] == seen[1] and seen[0][0][0] == first


def test_learnability_plays_what_can_be_learnt(toy_config):
    changes = {**DIALS, "levels": small("learnability", rotation=0.1), "groups": 8, "steps": 40}
    run = train(toy_config(**changes, max_new_tokens=1, lr=0.001))
    rows = read_metrics(run.folder.metrics)[10:]
    played = {d: sum(row.get(f"levels/difficulty={d}/groups", 0) for row in rows) for d in range(4)}
    assert played[1] > 0.5 * sum(played.values())  # a third of the cells
    assert played[0] > 0 == played[2] == played[3]  # the oracle cannot solve the last two
    assert sum(row["levels/refused"] for row in rows) > 0


def test_without_its_oracle_learnability_leaves_no_cell_out(toy_config):
    changes = {**DIALS, "levels": small("learnability", oracle=False), "groups": 8, "steps": 30}
    rows = read_metrics(train(toy_config(**changes, max_new_tokens=1)).folder.metrics)
    assert all(sum(row.get(f"levels/difficulty={d}/groups", 0) for row in rows) > 0 for d in range(4))


# ------------------------------------------------------------------ settings


def test_settings_that_the_environment_cannot_keep(toy_config):
    for changes, message in (
        ({"levels": {"type": "uniform", "dials": {"hardness": [1]}}}, "'hardness', which is no dial"),
        ({"levels": "accel", "env_kwargs": {"oracle": False}}, "levels accel needs the environment's oracle"),
        ({"levels": "nowhere_at_all:mine"}, "cannot import module 'nowhere_at_all'"),
    ):
        with pytest.raises(ConfigError, match=message):
            TrainingRun.start(toy_config(**{**DIALS, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"levels": {"type": "learnability", "band_low": 0.6}},
            "band_low must be at most levels.band_high 0.5, got 0.6",
        ),
        (
            {"levels": {"dials": {"difficulty": [1]}}},
            "levels.dials is not read with levels none, only with uniform",
        ),
        ({"levels": "best"}, "levels must be one of none, uniform"),
        ({"levels": {"type": "plr", "beta": 0.0}}, "levels.beta must be a finite number above 0"),
    ],
)
def test_settings_that_do_not_go_together(changes, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**changes)


def test_a_checkpoint_of_other_dials_is_refused(toy_config):
    config = toy_config(**DIALS, levels=small("plr"), steps=2)
    run = train(config)
    checkpoint = latest_checkpoint(run.folder.checkpoints)
    env = TaskEnv.open(config.env, {}, {})
    narrow = LevelSelection(config.with_values(levels={"dials": {"kind": "short"}}), env)
    with pytest.raises(CheckpointError, match=r"saved level .* does not exist with the dials"):
        narrow.load_files(checkpoint)
    (checkpoint / "levels.json").unlink()
    with pytest.raises(CheckpointError, match="corrupt"):
        narrow.load_files(checkpoint)


@given(st.integers(0, 2**32 - 1), st.integers(0, 10**6), st.integers(0, 9))
def test_what_is_drawn_depends_on_run_step_and_round(run_seed, step, round):
    def numbers(*place):
        return level_generator(*place).integers(2**62, size=2).tolist()

    here = numbers(run_seed, step, round)
    assert here == numbers(run_seed, step, round) != numbers(run_seed, step + 1, round)
    assert here != numbers(run_seed, step, round + 1) and here != numbers(run_seed ^ 1, step, round)
    assert here != np.random.default_rng([run_seed, step, 3]).integers(2**62, size=2).tolist()


# ------------------------------------------------------------------ killed

PROGRAM = """
import sys
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.run_files.run_folder import RunFolder
import json
config = TrainConfig.from_mapping(json.loads(sys.argv[1]))
run = TrainingRun.start(config) if sys.argv[2] == "start" else TrainingRun.resume(config.output, config)
with run:
    run.train(on_step=lambda row: print(row["step"], flush=True))
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_same_levels(toy_config, tmp_path):
    changes = {**DIALS, "levels": small("accel"), "steps": 16, "checkpoint_every": 4, "lr": 0.003}
    whole = train(toy_config(output=str(tmp_path / "whole"), **changes))
    config = toy_config(output=str(tmp_path / "killed"), **changes)
    here = Path(__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1])])}
    process = warm_python().start(["-c", PROGRAM, json.dumps(config.to_mapping()), "start"], tmp_path, env)
    while "10" not in process.printed.split() and process.poll() is None:
        time.sleep(0.005)
    time.sleep(0.02)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with TrainingRun.resume(config.output, config) as resumed:
        assert resumed.trainer.finished_steps == 8
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
    states = [
        (latest_checkpoint(run.folder.checkpoints) / "levels.json").read_bytes() for run in (whole, resumed)
    ]
    assert states[0] == states[1]
