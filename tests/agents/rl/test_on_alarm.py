"""Alarms of real runs: a policy that a large learning rate ruins is told, stopped or slowed, and resumed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.run_files.checkpoint import MANIFEST, list_checkpoints
from pixelis.agents.run_files.saved_run import PROGRESS
from pixelis.agents.runs.alarm_rules import RULES
from pixelis.agents.runs.alarm_watch import AlarmWatch
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli import ALARMED
from pixelis.cli import train as command
from pixelis.errors import ConfigError

RUIN = {"groups": 4, "group_size": 8, "lr": 0.03, "steps": 22}
"""At this rate the toy's policy leaves its start in six steps and says the same letter ever after."""


@pytest.fixture
def words(letter_model, tmp_path):
    """The words of the command for such a run."""
    flags = [word for name, value in RUIN.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    base = ["--env", "toy_env:Toy/Echo-v0", "--model", str(letter_model), "--output", str(tmp_path / "run")]
    return [*base, *flags, "--max-new-tokens", "2", "--beta", "0.01", "--eval-episodes", "2"]


def told(log: Path) -> list[str]:
    return [line.split("WARNING ", 1)[1] for line in log.read_text().splitlines() if "WARNING" in line]


def test_a_ruined_run_tells_each_alarm_in_the_log_on_the_console_and_in_every_line(words, tmp_path, capsys):
    assert command.main(words) == 0
    rows, out = read_metrics(tmp_path / "run" / "metrics.jsonl"), capsys.readouterr().out.splitlines()
    watch = AlarmWatch()
    expected = [(watch.note(row), watch.on) for row in rows]  # as the monitor judges them
    alarms = [alarm for new, _ in expected for alarm in new]
    assert {"KL is large", "entropy falls", "no gradient"} <= {alarm.name for alarm in alarms}
    lines = told(tmp_path / "run" / "log.txt")
    assert [line.split(":")[1].strip() for line in lines] == [
        f"{alarm.name} (step {alarm.step})" for alarm in alarms
    ]
    assert [line for line in out if line.startswith("warning: ALARM")] == [
        f"warning: {line}" for line in lines
    ]
    assert RULES["KL is large"].advice in lines[0]
    steps = [line for line in out if line.startswith("step ")]
    for line, row, (_, on) in zip(steps, rows, expected, strict=True):
        assert row["alarms/on"] == len(on)
        assert line.split("  ")[1] == f"ALARM {', '.join(on)}" if on else "ALARM" not in line


def test_stop_ends_it_as_ctrl_c_does_and_it_can_go_on_to_the_same_numbers(words, tmp_path, capsys):
    assert command.main([*words, "--output", str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    assert command.main([*words, "--on-alarm", "stop"]) == ALARMED
    out, run = capsys.readouterr().out.splitlines(), tmp_path / "run"
    step = len(read_metrics(run / "metrics.jsonl"))
    assert 5 <= step < 10 and list_checkpoints(run / "checkpoints")[-1].name == f"step-{step:08d}"
    assert out[-2] == f"stopped after step {step} by an alarm (KL is large); resume with:"
    resume = shlex.split(out[-1])
    assert resume[-2:] == ["--resume", str(run)]
    assert "after" not in json.loads((run / "evaluation.json").read_text())
    log = (run / "log.txt").read_text()
    assert log.endswith(f"INFO stopped after step {step}: on_alarm stop (KL is large)\n")

    codes = []
    while len(read_metrics(run / "metrics.jsonl")) < RUIN["steps"]:  # each further alarm stops it once more
        codes.append(command.main(resume[-2:]))
    assert codes == [ALARMED] * (len(codes) - 1) + [0] and len(codes) > 1
    assert comparable_metrics(run / "metrics.jsonl") == comparable_metrics(
        tmp_path / "whole" / "metrics.jsonl"
    )
    assert "after" in json.loads((run / "evaluation.json").read_text())
    assert told(run / "log.txt") == told(tmp_path / "whole" / "log.txt")


def test_thresholds_decide_what_stops_it_and_may_be_others_when_it_goes_on(words, tmp_path, capsys):
    """With a KL that is never too large and alarms that are never on, a ruined run ends by itself."""
    quiet = ["--alarms.kl_reference", "50", "--alarms.ignore", ",".join(set(RULES) - {"KL is large"})]
    assert command.main([*words, "--on-alarm", "stop", "--steps", "8", *quiet]) == 0
    run = str(tmp_path / "run")
    assert told(tmp_path / "run" / "log.txt") == []
    capsys.readouterr()
    assert command.main(["--resume", run, "--steps", "12", "--alarms.kl_reference", "0.5"]) == ALARMED
    assert "by an alarm (KL is large)" in capsys.readouterr().out


def rates(run: Path) -> list[float]:
    return [row["policy/lr"] for row in read_metrics(run / "metrics.jsonl")]


@pytest.mark.parametrize("algorithm", ["grpo", pytest.param("ppo", marks=pytest.mark.slow)])
def test_a_lowered_rate_is_resumed_to_the_same_numbers_wherever_it_was_stopped(
    toy_config, tmp_path, algorithm
):
    settings = {**RUIN, "algorithm": algorithm, "on_alarm": "lower_lr", "warmup_steps": 0}
    whole = toy_config(output=str(tmp_path / "whole"), **settings)
    with TrainingRun.start(whole) as run:
        run.train()
        share = run.trainer.alarms.rate_share
        assert run.trainer._learner.optimiser.rate == pytest.approx(0.03 * share)
    found = rates(tmp_path / "whole")
    first = next(place for place, rate in enumerate(found) if rate < 0.02)
    assert found[: first + 1] == [0.03] * first + [pytest.approx(0.01)]
    assert sorted(found, reverse=True) == found and found[-1] == pytest.approx(0.03 * share) and share < 1
    halves = toy_config(output=str(tmp_path / "halves"), **settings)
    stops = {2, first, first + 1, first + 2, first + 8}
    with TrainingRun.start(halves) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps in stops)
    while run.trainer.finished_steps < RUIN["steps"]:
        stops.discard(run.trainer.finished_steps)
        with TrainingRun.resume(halves.output, halves) as run:
            run.train(should_stop=lambda: run.trainer.finished_steps in stops)
    assert not stops
    metrics = [comparable_metrics(tmp_path / name / "metrics.jsonl") for name in ("halves", "whole")]
    assert metrics[0] == metrics[1]
    assert told(tmp_path / "halves" / "log.txt") == told(tmp_path / "whole" / "log.txt")


def test_a_checkpoint_that_is_older_than_alarms_goes_on_to_the_same_alarms(toy_config, tmp_path):
    whole, halves = (toy_config(output=str(tmp_path / name), **RUIN) for name in ("whole", "halves"))
    with TrainingRun.start(whole) as run:
        run.train()
    with TrainingRun.start(halves) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps == 12)
    progress = list_checkpoints(run.folder.checkpoints)[-1] / PROGRESS
    saved = json.loads(progress.read_text())
    assert saved.pop("no_signal") == {"steps": 5}
    assert saved.pop("alarms")["watch"]["rows"] == 12
    progress.write_text(json.dumps(saved))
    manifest = json.loads((progress.parent / MANIFEST).read_text())
    del manifest["sha256"][PROGRESS]
    (progress.parent / MANIFEST).write_text(json.dumps(manifest))
    (tmp_path / "halves" / "log.txt").unlink()
    with TrainingRun.resume(halves.output, halves) as run:
        run.train()
    whole_metrics = tmp_path / "whole" / "metrics.jsonl"
    assert comparable_metrics(run.folder.metrics) == comparable_metrics(whole_metrics)
    watch = AlarmWatch()
    early = [alarm for row in read_metrics(whole_metrics)[:12] for alarm in watch.note(row)]
    still = [alarm for alarm in early if alarm.name in watch.on]
    late = [
        line
        for line in told(tmp_path / "whole" / "log.txt")
        if int(line.split("step ")[1].split(")")[0]) > 12
    ]
    assert still and late
    lines = told(run.folder.path / "log.txt")
    assert [line.split(":")[1].strip() for line in lines[: len(still)]] == [
        f"{alarm.name} (step {alarm.step})" for alarm in still
    ]
    assert [line.split(":")[1] for line in lines[len(still) :]] == [line.split(":")[1] for line in late]


def test_a_rate_that_is_steered_does_not_rise_above_what_an_alarm_left(toy_config, tmp_path):
    """Begun too high and hardly held, it would rise by a fifth an update where it was not for the alarm."""
    steered = {
        **RUIN, "lr": "auto", "steps": 16,
        "step_size": {"start": 0.03, "target": 0.5, "entropy_share": None, "take_back": None},
    }  # fmt: skip
    free = toy_config(output=str(tmp_path / "free"), **steered)
    held = toy_config(output=str(tmp_path / "held"), on_alarm="lower_lr", **steered)
    for config in (free, held):
        with TrainingRun.start(config) as run:
            run.train()
    one, two = rates(tmp_path / "free"), rates(tmp_path / "held")
    first = next(place for place, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
    assert two[first] == pytest.approx(one[first] / 3) and max(two[first:]) == two[first]
    with TrainingRun.resume(held.output, held) as run:
        sizer = run.trainer._learner.updater.sizer
        assert sizer._control._high == pytest.approx(two[first])


def test_a_word_that_on_alarm_does_not_know_is_one_clear_error(letter_model):
    with pytest.raises(ConfigError) as caught:
        TrainConfig(model=str(letter_model), on_alarm="foo")
    assert str(caught.value) == "on_alarm must be one of warn, stop, lower_lr, got 'foo'"


@pytest.mark.slow
@pytest.mark.parametrize(("lr", "stops"), [(0.02, True), (0.001, False)])
def test_pixelis_tiny_is_stopped_where_it_is_ruined_and_only_there(lr, stops, tmp_path, capsys):
    words = [
        "--config",
        "lessons/ZoomRead",
        "--env-kwargs.reader",
        "truth",
        "--eval-episodes",
        "0",
        "--seed",
        "3",
    ]
    words += ["--lr", str(lr), "--steps", "14", "--on-alarm", "stop", "--output", str(tmp_path / "run")]
    assert command.main(words) == (ALARMED if stops else 0)
    log = (tmp_path / "run" / "log.txt").read_text()
    assert ("ALARM" in log) == ("ALARM" in capsys.readouterr().out) == stops
