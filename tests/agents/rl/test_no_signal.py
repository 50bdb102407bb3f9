"""Steps without a gradient are told once per stretch, with what to do."""

from __future__ import annotations

import pytest

from pixelis.agents.rl.alarms import PATIENCE, NoSignal
from pixelis.agents.rl.batch import make_batch
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.runs.metrics import read_metrics


@pytest.fixture
def steps(play):
    """Return a function that notes steps of one group with these rewards, or of lost episodes."""

    def note(watch, count, rewards, **fields):
        episodes = [play(reward, member=member, **fields) for member, reward in enumerate(rewards)]
        batch = make_batch(episodes, groups=1, group_size=len(rewards), max_completion_length=8)
        for _ in range(count):
            watch.note(batch, episodes)
            watch.tell(is_alarm=False)

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


def test_what_the_alarm_of_the_metrics_tells_is_not_told_beside_it(play, caplog):
    episodes = [play(0.0, member=member, success=False) for member in range(2)]
    batch, watch = make_batch(episodes, groups=1, group_size=2, max_completion_length=8), NoSignal(3)
    for step in range(1, 10):
        watch.note(batch, episodes)
        watch.tell(is_alarm=True)
        assert (watch.words or "").startswith(f"every group has the same reward for {step} steps") == (
            step > 2
        )
    assert not caplog.records


def test_tasks_without_labels_are_the_reason(steps, caplog):
    steps(NoSignal(2), 2, [0.0, 0.0], success=None, info={"answer_form": {"kind": "text"}})
    assert "the tasks have no labels, so let members vote (--rewards.vote '{}'" in caplog.text


def test_turns_that_are_cut_off_are_the_reason(steps, caplog):
    steps(NoSignal(2), 5, [0.0, 0.0], success=False, turns=4, cut_turns=3)
    assert len(caplog.records) == 1
    assert "0.75 of the turns end at the token limit, so raise --max-new-tokens" in caplog.text
    assert "--difficulty" not in caplog.text


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


def test_a_run_that_cannot_learn_says_once_why_there_is_no_gradient(toy_config):
    """Every letter is paid the same, and no turn is ended: the alarm has the trainer's words, told once."""
    config = toy_config(env_kwargs={"prize": 0.0}, steps=PATIENCE + 4, temperature=0.01, lr=1e-9)
    with TrainingRun.start(config) as run:
        run.complete()
        assert run.trainer.alarms.on == ("turns are cut off", "no gradient")
    log = (run.folder.path / "log.txt").read_text()
    words = f"no gradient (step {PATIENCE}): every group has the same reward for {PATIENCE} steps"
    assert log.count(f"WARNING ALARM: {words}") == log.count("every group") == 1 and log.count("ALARM") == 2
    assert log.count("1.00 of the turns end at the token limit") == 2 and "--difficulty" not in log
    assert [row["alarms/on"] for row in run.metrics] == [0] * 4 + [1] * (PATIENCE - 5) + [2] * 5
