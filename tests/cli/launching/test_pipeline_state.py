"""Which steps are done: written down, read back, compared with what the file says now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixelis.cli.launching.pipeline_file import Step
from pixelis.cli.launching.pipeline_state import BEGUN, DONE, HEADER, PipelineState
from pixelis.errors import CheckpointError, ConfigError, OutputError


def step(folder: Path, name: str = "sft", command: str = "sft", **settings: object) -> Step:
    suffix = ".json" if command == "evaluate" else ""
    return Step(name, command, {"lr": 0.1, **settings}, folder / f"{name}{suffix}")


def test_what_is_begun_and_done_is_read_back(tmp_path):
    first, second = step(tmp_path), step(tmp_path, "grpo", "train")
    state = PipelineState(tmp_path)
    state.begin(first)
    state.finish(first, 1.23)
    state.begin(second)
    again = PipelineState(tmp_path)
    assert (again.of(first), again.of(second), again.of(step(tmp_path, "new"))) == (DONE, BEGUN, "")


def test_a_step_that_is_done_as_it_stands_is_fine_whatever_the_order_of_its_settings(tmp_path):
    done = step(tmp_path, mix={0: 1.0, 1: 2.0}, name="sft")
    state = PipelineState(tmp_path)
    state.finish(done, 1)
    done.output.mkdir()
    turned = Step("sft", "sft", dict(reversed(done.settings.items())), done.output)
    PipelineState(tmp_path).check(turned)


def test_changes_are_named_and_what_to_do(tmp_path):
    done = step(tmp_path, lora={"rank": 4})
    PipelineState(tmp_path).finish(done, 1)
    done.output.mkdir()
    now = Step("sft", "sft", {"lr": 0.2, "lora": {"rank": 4, "alpha": 8}}, done.output)
    with pytest.raises(ConfigError) as error:
        PipelineState(tmp_path).check(now)
    told = str(error.value)
    assert "step 'sft' was done with other settings" in told
    assert "lora.alpha was None and is 8, lr was 0.1 and is 0.2" in told and "--redo-from sft" in told
    with pytest.raises(ConfigError, match="command was 'sft' and is 'expert'"):
        PipelineState(tmp_path).check(Step("sft", "expert", done.settings, done.output))


def test_many_changes_are_cut(tmp_path):
    done = step(tmp_path, **{f"s{number}": 0 for number in range(9)})
    PipelineState(tmp_path).finish(done, 1)
    with pytest.raises(ConfigError, match="and 4 more"):
        PipelineState(tmp_path).check(step(tmp_path, **{f"s{number}": 1 for number in range(9)}))


def test_a_step_whose_work_is_gone_is_told(tmp_path):
    done = step(tmp_path)
    PipelineState(tmp_path).finish(done, 1)
    with pytest.raises(ConfigError, match=r"what it wrote .* is gone; --redo-from sft"):
        PipelineState(tmp_path).check(done)


def test_what_is_put_aside_is_kept_and_forgotten(tmp_path):
    first, second = step(tmp_path), step(tmp_path, "eval", "evaluate")
    state = PipelineState(tmp_path)
    for number in (1, 2):
        for each in (first, second):
            state.finish(each, 1)
            each.log.write_text(f"{number}")
        second.output.write_text("{}")
        (tmp_path / "eval.transcripts.jsonl").touch()
        (tmp_path / "eval.notes.md").touch()  # somebody else's
        aside = state.put_aside([second])
        assert aside == tmp_path / "replaced" / str(number)
        names = sorted(path.name for path in aside.iterdir())
        assert names == ["eval.json", "eval.log", "eval.transcripts.jsonl"]
        assert (aside / "eval.log").read_text() == f"{number}"
        assert (PipelineState(tmp_path).of(first), PipelineState(tmp_path).of(second)) == (DONE, "")
    assert first.log.exists() and state.put_aside([second]) is None
    assert (tmp_path / "eval.notes.md").exists()


def test_all_that_steps_write_is_put_aside_and_nothing_else(tmp_path):
    table = ["eval.json", "eval.transcripts.jsonl", "eval.partial.json", "eval.partial.transcripts.jsonl"]
    ours = [*table, "eval.log.txt", "eval.yaml", "eval.log", "sft.yaml", "sft.log"]
    others = ["eval.csv", "sft.json", "sft.notes.md", "sft-2.log"]
    for name in [*ours, *others]:
        (tmp_path / name).touch()
    for name in ("sft", "sft-warm-start"):
        (tmp_path / name).mkdir()
    aside = PipelineState(tmp_path).put_aside([step(tmp_path), step(tmp_path, "eval", "evaluate")])
    assert {path.name for path in aside.iterdir()} == {*ours, "sft", "sft-warm-start"}
    assert {path.name for path in tmp_path.iterdir()} == {*others, "replaced", "pipeline.json"}


@pytest.mark.parametrize("name", ["eval.yaml", "eval.json"])
@pytest.mark.parametrize("text", ["", "lr: 1\n", f"#\n{HEADER}\n", "\ufeff"])
def test_what_no_pipeline_has_written_is_not_written_over(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    state, each = PipelineState(tmp_path), step(tmp_path, "eval", "evaluate")
    with pytest.raises(ConfigError, match=rf"step 'eval' would write over .*{name}', which no pipeline has"):
        state.check_free(each)
    state.begin(each)  # from then on it is the step's
    state.check_free(each)


def test_what_a_pipeline_has_written_whose_state_is_gone_is_done_anew(tmp_path):
    each = step(tmp_path, "eval", "evaluate")
    PipelineState(tmp_path).check_free(each)
    each.settings_file.write_text(f"{HEADER}\nlr: 1\n")
    each.output.write_text("{}")
    PipelineState(tmp_path).check_free(each)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 1, "steps": {"a": 1}}', '{"format": 1, "steps": {"a": {}}}']
)
def test_a_damaged_file_is_one_error(tmp_path, text):
    (tmp_path / "pipeline.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"pipeline.json' is damaged .* delete it"):
        PipelineState(tmp_path)


def test_another_version_is_told(tmp_path):
    (tmp_path / "pipeline.json").write_text(json.dumps({"format": 2, "steps": {}}))
    with pytest.raises(CheckpointError, match="has format 2, this version reads 1"):
        PipelineState(tmp_path)


def test_a_folder_that_cannot_be_written(read_only_folder):
    with pytest.raises(OutputError, match="choose another folder or make room"):
        PipelineState(read_only_folder).begin(step(read_only_folder))
