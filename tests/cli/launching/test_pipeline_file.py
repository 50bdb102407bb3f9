"""The file of a pipeline: what is read, what steps refer to, and every mistake before anything starts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from launching_commands import ROOT

from pixelis.agents.settings.files import SHIPPED, loaded
from pixelis.cli.launching.pipeline_file import KINDS, Pipeline
from pixelis.errors import ConfigError

WHOLE = """
folder: out
steps:
  first:
    command: sft
    settings: {env: Pixelis/ZoomRead-v0, steps: 1}
  second:
    command: train
    settings:
      extends: base.yaml
      model: ${first}
      lora: {rank: 4}
  table:
    command: evaluate
    settings: {agent: "${first},${second}/checkpoints/step-00000002", episodes: 3}
  export:
    command: export
    settings: {run: "${second}"}
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that writes a pipeline's file and reads it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text("steps: 2\nlr: 0.5\nlora: {alpha: 8}\noutput: elsewhere\n")

    def write(text: str) -> Pipeline:
        (tmp_path / "my.yaml").write_text(text)
        return Pipeline.read("my.yaml")

    return write


def test_steps_refer_to_what_earlier_ones_write_and_extend_other_files(written):
    pipeline = written(WHOLE)
    first, second, table, export = pipeline.steps
    assert (pipeline.folder, pipeline.file) == (Path("out"), Path("my.yaml"))
    assert first.output == Path("out/first") and first.settings["output"] == "out/first"
    assert second.settings == {
        "steps": 2,
        "lr": 0.5,
        "lora": {"alpha": 8, "rank": 4},
        "model": "out/first",
        "output": "out/second",
    }
    assert table.settings["agent"] == "out/first,out/second/checkpoints/step-00000002"
    assert table.output == Path("out/table.json") and table.log == Path("out/table.log")
    assert export.settings == {"run": "out/second", "output": "out/export"}
    assert [step.kind.trains for step in pipeline.steps] == [True, True, False, False]
    assert pipeline.position("table") == 2


def test_without_a_folder_it_is_called_after_its_file(written):
    assert written(WHOLE.replace("folder: out", "")).folder == Path("runs/my")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("command: sft", "command: sftt", "steps.first.command"),
        ("command: sft", "comand: sft", "comand"),
        ("folder: out", "foldr: out", "Did you mean 'folder'?"),
        ("steps: 1}", "step: 1}", "step 'first' of 'my.yaml': unknown setting 'step'"),
        ("env: Pixelis/ZoomRead-v0, ", "", "step 'first' of 'my.yaml': SFT needs demonstrations"),
        (
            "model: ${first}",
            "model: ${frist}",
            "step 'second' of 'my.yaml': ${frist} must name a step before",
        ),
        ("model: ${first}", "model: ${frist}", "Did you mean 'first'?"),
        ("model: ${first}", "model: ${export}", "${export} must name a step before this one"),
        ("steps: 1}", "model: '${first}'}", "${first} must name a step before this one. It is the first."),
        ("model: ${first}", "output: here", "step 'second' of 'my.yaml': leave output out"),
        ("extends: base.yaml", "extends: bass.yaml", "extends must name a YAML file"),
        ("lora: {rank: 4}", "lora: {rank: 0}", "step 'second' of 'my.yaml': lora.rank"),
        ("lora: {rank: 4}", "group_size: 1", "group_size must be at least 2"),
        ('settings: {run: "${second}"}', "settings: {}", "step 'export' of 'my.yaml': run must be given"),
        ("agent: ", "agnt: ", "agent must be given"),
        ("first:\n    command", "a/b:\n    command", "a step's name must be"),
        ("first:\n    command", "replaced:\n    command", "a step's name must be"),
    ],
)
def test_a_mistake_is_told_with_its_step(written, old, new, told):
    assert old in WHOLE
    with pytest.raises(ConfigError) as error:
        written(WHOLE.replace(old, new))
    assert told in str(error.value)


APART = """
folder: {folder}
steps:
  {name}:
    command: evaluate
    settings: {{agent: nothing, extends: {extends}}}
"""


@pytest.mark.parametrize("folder", [".", "sub/..", "{whole}"])
@pytest.mark.parametrize(
    ("name", "extends", "read"),
    [
        ("top", "top.yaml", "top.yaml"),
        ("deep", "top.yaml", "deep.yaml"),  # which top.yaml extends
        ("my", "deep.yaml", "my.yaml"),  # the pipeline's own
        ("table", "table.json", "table.json"),
        ("said", "said.log", "said.log"),
    ],
)
def test_no_step_writes_over_what_the_pipeline_is_read_from(written, tmp_path, folder, name, extends, read):
    (tmp_path / "sub").mkdir()
    for file, text in {"top.yaml": "extends: deep.yaml", "deep.yaml": "episodes: 2"}.items():
        (tmp_path / file).write_text(text)
    for file in ("table.json", "said.log"):
        (tmp_path / file).write_text('{"episodes": 2}')
    folder = folder.format(whole=tmp_path)
    with pytest.raises(ConfigError) as error:
        written(APART.format(folder=folder, name=name, extends=extends))
    assert f"step '{name}' would write over '{Path(folder, read)}'" in str(error.value)
    (step,) = written(APART.format(folder="out", name=name, extends=extends)).steps
    assert step.settings["episodes"] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must hold settings as"),
        ("folder: out", "steps"),
        ("steps: {}", "at least one step"),
        ("steps: [a, b]", "steps"),
        ("steps: {a: sft}", "steps.a"),
        (": :\n - {", "is not YAML"),
    ],
)
def test_files_that_hold_something_else(written, text, told):
    with pytest.raises(ConfigError, match=told):
        written(text)


def test_a_file_that_is_not_there():
    with pytest.raises(ConfigError, match="there is none at 'pipelines/zoomread'"):
        Pipeline.read("pipelines/zoomread")


def test_a_step_that_is_not_there_is_told_with_the_nearest(written):
    with pytest.raises(ConfigError, match=r"has no step 'secnd'\. Did you mean 'second'\?"):
        written(WHOLE).position("secnd")


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("pipelines/*.yaml")), ids=lambda path: path.stem)
def test_every_pipeline_that_ships_is_accepted_by_its_name(path):
    pipeline = Pipeline.read(f"pipelines/{path.stem}")
    assert pipeline.steps and {step.command for step in pipeline.steps} <= set(KINDS)


def test_the_page_shows_the_one_that_ships():
    page = (ROOT / "docs" / "guide" / "launch.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert loaded(block) == loaded((SHIPPED / "pipelines" / "zoom_read.yaml").read_text(encoding="utf-8"))
