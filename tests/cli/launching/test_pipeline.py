"""``pixelis pipeline``: whole ones, killed and interrupted ones, changed files, steps that fail."""

from __future__ import annotations

import json
import re
import signal
import sys
from pathlib import Path

import pytest
from launching_commands import Command, Started, wait_until

from pixelis.agents.runs.metrics import read_metrics
from pixelis.cli.launching import pipeline
from pixelis.cli.launching.pipeline_file import Step
from pixelis.cli.launching.pipeline_state import PipelineState
from pixelis.errors import ConfigError

TEXT = """
folder: {folder}
steps:
  sft:
    command: sft
    settings:
      env: toy_env:Toy/Echo-v0
      data: echo.jsonl
      model: {model}
      steps: 4
      batch_size: 8
      lr: 0.01
      eval_episodes: 0
  grpo:
    command: train
    settings:
      env: toy_env:Toy/Echo-v0
      model: ${{sft}}
      groups: 4
      group_size: 4
      max_new_tokens: 2
      lr: 0.01
      steps: {steps}
      eval_episodes: 0
      checkpoint_every: 2
  table:
    command: evaluate
    settings: {{agent: "${{sft}},${{grpo}}", episodes: {episodes}, max_new_tokens: 2}}
  export:
    command: export
    settings: {{run: "${{grpo}}"}}
"""


@pytest.fixture
def write(tmp_path, letter_model):
    """Return a function that writes ``my.yaml``."""
    lines = [
        {"messages": [{"role": "user", "content": each}, {"role": "assistant", "content": each}]}
        for each in "abcd"
    ]
    (tmp_path / "echo.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines * 8))

    def file(folder: str = "out", steps: int = 30, episodes: int = 4, **replaced: str) -> None:
        text = TEXT.format(folder=folder, model=letter_model, steps=steps, episodes=episodes)
        for old, new in replaced.items():
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "my.yaml").write_text(text)

    return file


def begun(started: Started, step: int) -> Command:
    """Start the pipeline; return its process when the training has made some steps."""
    process = started.pixelis("pipeline", "my.yaml")
    metrics = started.folder / "out" / "grpo" / "metrics.jsonl"
    reached = wait_until(
        lambda: process.poll() is not None or (metrics.exists() and len(read_metrics(metrics)) >= step)
    )
    assert reached and process.poll() is None, process.printed()
    return process


def stamps(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a killed pipeline leaves its step running")
def test_killed_in_its_training_it_goes_on_from_there(started, write, tmp_path):
    write(steps=100_000)
    process = begun(started, 3)
    code, said = started.whole("pipeline", "my.yaml")
    assert code == 2 and f"another process works in it ({process.pid})" in said, said
    process.kill()
    assert process.wait(20) == -signal.SIGKILL and started.all_ended(60)
    folder, sft = tmp_path / "out" / "grpo", stamps(tmp_path / "out" / "sft")
    done = len(read_metrics(folder / "metrics.jsonl"))
    assert (folder / "checkpoints" / f"step-{done:08d}").is_dir()  # it was told, and saved

    write(steps=done + 2)  # a setting that decides no number, so a training that has begun takes it
    code, said = started.whole("pipeline", "my.yaml", "--dry-run")
    assert code == 0, said
    plan = [line for line in said.splitlines() if re.match(r"\w+: (does|done|goes)", line)]
    assert plan[0] == "sft: done" and plan[1].startswith("grpo: goes on with pixelis train")
    assert plan[1].endswith("--resume out/grpo, into out/grpo") and plan[2].startswith("table: does")

    code, said = started.whole("pipeline", "my.yaml")
    assert code == 0, said
    assert "step 1/4, sft: done" in said and "--resume out/grpo" in said
    assert "all 4 steps are done; everything is in out" in said
    assert stamps(tmp_path / "out" / "sft") == sft and started.living() == []
    assert [row["step"] for row in read_metrics(folder / "metrics.jsonl")] == list(range(1, done + 3))
    table = json.loads((tmp_path / "out" / "table.json").read_text())
    assert {row["agent"] for row in table["rows"]} == {"out/sft", "out/grpo"}
    assert (tmp_path / "out" / "export" / "config.json").is_file()

    state = json.loads((tmp_path / "out" / "pipeline.json").read_text())
    state["steps"]["export"]["state"] = "begun"  # as a kill between the export and its note leaves it
    (tmp_path / "out" / "pipeline.json").write_text(json.dumps(state))
    code, said = started.whole("pipeline", "my.yaml")
    assert code == 0 and said.count(": done") == 3, said
    assert (tmp_path / "out" / "replaced" / "1" / "export" / "config.json").is_file()
    assert (tmp_path / "out" / "export" / "config.json").is_file()


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
def test_a_training_that_is_killed_is_told_and_ctrl_c_saves(started, write, tmp_path):
    write(steps=100_000)
    process = begun(started, 3)
    (training,) = [each for each in started.living() if each.cmdline()[2:4] == ["pixelis", "train"]]
    training.kill()
    assert process.wait(120) == 1
    assert "error: step 'grpo' failed (ended by signal 9, SIGKILL; the system does that" in process.printed()
    assert started.living() == []

    metrics = tmp_path / "out" / "grpo" / "metrics.jsonl"
    process = begun(started, len(read_metrics(metrics)) + 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130 and started.living() == []
    done = len(read_metrics(metrics))
    assert (tmp_path / "out" / "grpo" / "checkpoints" / f"step-{done:08d}").is_dir()
    said = process.printed()
    assert "interrupted in step 'grpo'; go on with:\n  python -m pixelis pipeline my.yaml" in said
    assert "stopping after this step and saving" in said
    assert "stopping after this step and saving" in (tmp_path / "out" / "grpo.log").read_text()


TABLES = """
folder: out
steps:
  first:
    command: evaluate
    settings: &played {{agent: nothing, env: Pixelis/ZoomRead-v0, env_kwargs: {{reader: truth}}, episodes: 1}}
  second:
    command: evaluate
    settings: {{<<: *played, agent: "{agent}", episodes: {episodes}}}
"""


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
def test_a_step_that_fails_a_file_that_changes_and_steps_done_anew(started, tmp_path):
    file, folder = tmp_path / "my.yaml", tmp_path / "out"
    file.write_text(TABLES.format(agent="${first}", episodes=1))  # a table is nobody who plays
    code, said = started.whole("pipeline", "my.yaml")
    assert code == 1, said
    (error,) = [line for line in said.splitlines() if line.startswith("error: step")]
    assert "step 'second' failed (exit code 2): " in error and "out/first.json" in error
    assert error.endswith("its log is out/second.log; go on with: python -m pixelis pipeline my.yaml")
    assert "error: " in (folder / "second.log").read_text()

    file.write_text(TABLES.format(agent="nothing", episodes=1))  # the step that failed, mended
    code, said = started.whole("pipeline", "my.yaml")
    assert code == 0 and "step 1/2, first: done" in said and "step 2/2, second: pixelis" in said, said
    before = stamps(folder)

    file.write_text(TABLES.format(agent="nothing", episodes=2))
    code, said = started.whole("pipeline", "my.yaml")
    assert code == 2 and said.count("\n") == 1, said
    assert "step 'second' was done with other settings: episodes was 1 and is 2" in said
    assert stamps(folder) == before
    code, said = started.whole("pipeline", "my.yaml", "--redo-from", "second")
    assert code == 0 and "what was there of second and later steps is in out/replaced/1" in said, said

    def episodes(table: Path) -> list[int]:
        """Return the episodes of each row of a table."""
        return [row["episodes"] for row in json.loads(table.read_text())["rows"]]

    assert episodes(folder / "second.json") == [2] and episodes(folder / "replaced/1/second.json") == [1]
    assert started.living() == []


OWN = "lr: 1  # mine\n"


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--redo-from", "first"), ("--dry-run",)])
def test_a_file_in_the_place_of_a_later_step_is_told_before_the_first(started, tmp_path, words):
    (tmp_path / "my.yaml").write_text(TABLES.format(agent="nothing", episodes=1))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "second.yaml").write_text(OWN)
    code, said = started.whole("pipeline", "my.yaml", *words)
    assert code == 2 and said.count("\n") == 1, said
    assert "step 'second' would write over 'out/second.yaml', which no pipeline has written" in said
    assert (tmp_path / "out" / "second.yaml").read_text() == OWN
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith("first")]


def test_a_file_that_came_while_earlier_steps_were_done_is_not_written_over(tmp_path):
    step = Step("grpo", "train", {}, tmp_path / "grpo")
    step.settings_file.write_text(OWN)
    with pytest.raises(ConfigError, match="which no pipeline has written"):
        pipeline._do(step, "step 2/2", PipelineState(tmp_path), children=None, relay=None)
    assert [path.name for path in tmp_path.iterdir()] == ["grpo.yaml"]
    assert step.settings_file.read_text() == OWN


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "FILE comes first"),
        (("none.yaml",), "there is none at 'none.yaml'"),
        (("my.yaml", "--redo-from", "grop"), "has no step 'grop'. Did you mean 'grpo'?"),
        (("my.yaml", "--redo-form", "grpo"), "Did you mean '--redo-from'?"),
        (("my.yaml", "other.yaml"), "unknown argument 'other.yaml'"),
    ],
)
def test_mistakes_in_the_words_are_one_line(words, told, write, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write()
    assert pipeline.main(words) == 2
    said = capsys.readouterr()
    assert told in said.err and said.err.count("\n") == 1 and not said.out
    assert not (tmp_path / "out").exists()


def test_a_dry_run_tells_every_command_and_writes_nothing(write, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write()
    assert pipeline.main(["my.yaml", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "sft: does pixelis sft --config out/sft.yaml, into out/sft\n" in said
    assert "    model: out/sft\n" in said and "export: does pixelis export" in said
    assert not (tmp_path / "out").exists()
