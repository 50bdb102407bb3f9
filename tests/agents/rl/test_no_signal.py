"""Steps without a gradient are told once per stretch, with what to do."""

from __future__ import annotations

import pytest

from pixelis.agents.rl.alarms import PATIENCE, NoSignal
from pixelis.agents.rl.batch import make_batch
from pixelis.agents.rl.run import train
from pixelis.agents.runs.metrics import read_metrics


@pytest.fixture
def steps(play):
    """Return a function that notes steps of one group with these rewards, or of lost episodes."""

    def note(watch, count, rewards, **fields):
        episodes = [play(reward, member=member, **fields) for member, reward in enumerate(rewards)]
        batch = make_batch(episodes, groups=1, group_size=len(rewards), max_completion_length=8)
        for _ in range(count):
            watch.note(batch, episodes)

    return note


def test_a_stretch_without_signal_is_told_once(steps, caplog):
    watch = NoSignal(3)
    steps(watch, 2, [1.0, 1.0])
    assert not caplog.records
    steps(watch, 20, [0.0, 0.0], success=False)
    assert len(caplog.records) == 1
    assert "every group has the same reward for 3 steps: no gradient (success rate 0.00)" in caplog.text
    assert "--difficulty" in caplog.text
    steps(watch, 1, [0.0, 1.0])
    steps(watch, 2, [1.0, 1.0])
    assert len(caplog.records) == 1
    steps(watch, 1, [1.0, 1.0])
    assert len(caplog.records) == 2  # a new stretch


def test_steps_without_any_valid_episode_name_the_reasons(steps, caplog):
    lost = {"valid_for_training": False, "failure_reason": "step raised OSError: no network"}
    steps(NoSignal(2), 5, [0.0, 0.0], **lost)
    assert len(caplog.records) == 1
    assert "no episode could be trained on for 2 steps" in caplog.text
    assert "step raised OSError: no network" in caplog.text


def test_a_run_on_a_solved_task_goes_on_and_says_so(toy_config):
    config = toy_config(env="fault_env:Toy/Fault-v0", env_kwargs={"flat": True}, steps=PATIENCE + 2)
    run = train(config)
    rows = read_metrics(run.folder.metrics)
    assert len(rows) == PATIENCE + 2 and all(row["groups/dropped"] == 4 for row in rows)
    assert all(row["policy/grad_norm"] is None and row["policy/entropy"] > 0 for row in rows)
    log = (run.folder.path / "log.txt").read_text()
    assert log.count("every group has the same reward for 10 steps: no gradient (success rate 1.00)") == 1
