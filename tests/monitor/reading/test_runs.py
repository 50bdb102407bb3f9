"""Runs are found, followed, and stay when their folder is gone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pixelis.agents.run_files.about import METRICS_VERSION
from pixelis.errors import ConfigError
from pixelis.monitor.reading import runs as module
from pixelis.monitor.reading.runs import FollowedRun, Runs


def write(folder: Path, first: int, last: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text("env: some\n")
    with (folder / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps({"step": step, "a": 1.0}) + "\n" for step in range(first, last + 1))


def test_runs_appear_grow_and_stay(tmp_path: Path):
    write(tmp_path / "one", 1, 3)
    runs = Runs([str(tmp_path)])
    runs.refresh()
    assert list(runs.runs) == ["one"]
    run = runs.runs["one"]
    before = run.revision
    runs.refresh()
    assert run.revision == before  # nothing new: a page sends nothing
    write(tmp_path / "one", 4, 5)
    write(tmp_path / "deep" / "er" / "two", 1, 1)
    runs.refresh()
    assert run.series.rows == 5 and run.revision > before
    assert list(runs.runs) == ["one", "deep/er/two"]
    shutil.rmtree(tmp_path / "one")
    runs.refresh()
    assert run.is_gone and run.series.rows == 5
    assert "is gone" in run.problems[0]


def test_a_long_run_is_shown_from_a_part_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PREVIEW_BYTES", 1_000)
    monkeypatch.setattr(module, "PREVIEW_ROWS", 10)
    write(tmp_path / "one", 1, 60_000)
    runs = Runs([str(tmp_path)])
    runs.refresh(seconds=1e-9)
    run = runs.runs["one"]
    run.read()
    assert run.is_preview and run.series.rows <= 11 and run.series.last["step"] == 60_000
    assert 0 < run.share_read < 1
    while runs.refresh():
        pass
    assert not run.is_preview and run.series.rows == 60_000 and run.share_read == 1


def test_names_are_told_apart(tmp_path: Path):
    write(tmp_path / "a" / "x", 1, 1)
    write(tmp_path / "b" / "x", 1, 1)
    runs = Runs([str(tmp_path / "a" / "x"), str(tmp_path / "b")])
    runs.refresh()
    assert list(runs.runs) == ["x", "x (2)"]


def test_problems_are_told_and_the_rest_is_there(tmp_path: Path):
    write(tmp_path / "one", 1, 2)
    (tmp_path / "one" / "config.yaml").write_text("{damaged")
    with (tmp_path / "one" / "metrics.jsonl").open("a") as file:
        file.write("nonsense\n")
    runs = Runs([str(tmp_path)])
    runs.refresh()
    runs.refresh()
    run = runs.runs["one"]
    assert run.series.rows == 2
    assert [text.split(" ")[0] for text in run.problems] == ["its", "1"]


@pytest.mark.parametrize(("said", "is_told"), [("1", False), ("2", True), ('"1.0"', True), ("{}", True)])
def test_metrics_of_a_newer_version_are_told(tmp_path: Path, said: str, is_told: bool):
    write(tmp_path / "one", 1, 2)
    (tmp_path / "one" / "about.json").write_text(f'{{"metrics_version": {said}}}')
    runs = Runs([str(tmp_path)])
    runs.refresh()
    told = [text for text in runs.runs["one"].problems if "update Pixelis" in text]
    assert len(told) == is_told and all("reads version 1 and older" in text for text in told)
    assert module.METRICS_VERSION == METRICS_VERSION  # as it is written
    (tmp_path / "one" / "about.json").unlink()  # a run of before there was one
    runs.refresh()
    assert runs.runs["one"].problems == () and runs.runs["one"].series.rows == 2


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (['{"a": NaN, "b": "x"}', '{"a": Infinity}', '{"a": null}'], "a (2 rows)"),
        (['{"never": NaN, "word": "x", "list": [1.0]}', '{"never": null}'], "never (1 rows)"),
    ],
    ids=["once a number", "never a number"],
)
def test_values_that_are_no_finite_numbers_are_told(tmp_path: Path, lines: list[str], told: str):
    write(tmp_path / "one", 1, 2)
    with (tmp_path / "one" / "metrics.jsonl").open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
    runs = Runs([str(tmp_path)])
    runs.refresh()
    runs.refresh()
    assert runs.runs["one"].series.means("a")[:2].tolist() == [1.0, 1.0]
    assert runs.runs["one"].problems == (
        f"{told}: NaN, infinity or no number; these rows are gaps in the curves",
    )


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_metrics_that_cannot_be_read_are_told(tmp_path: Path, kind: str):
    write(tmp_path / "one", 1, 2)
    metrics = tmp_path / "one" / "metrics.jsonl"
    metrics.unlink()
    metrics.mkdir() if kind == "folder" else os.mkfifo(metrics)
    runs = Runs([str(tmp_path)])
    runs.refresh()
    runs.refresh()
    (told,) = [text for text in runs.runs["one"].problems if "metrics.jsonl" in text]
    assert told.startswith("its metrics.jsonl cannot be read (")
    metrics.rmdir() if kind == "folder" else metrics.unlink()
    write(tmp_path / "one", 1, 2)
    runs.refresh()
    runs.refresh()
    assert runs.runs["one"].problems == () and runs.runs["one"].series.rows == 2


def test_alarms_are_those_of_the_thresholds_that_the_run_has_now(tmp_path: Path):
    write(tmp_path / "one", 1, 3)
    config = tmp_path / "one" / "config.yaml"
    with (tmp_path / "one" / "metrics.jsonl").open("a") as file:
        file.writelines(f'{{"step": {step}, "policy/kl_reference": 2.0}}\n' for step in range(4, 10))
    runs = Runs([str(tmp_path)])
    run = None
    found = []
    for alarms in ("{}", "{kl_reference: 3.0}", "{ignore: [no gradient]}", "{kl_reference: many}"):
        config.write_text(f"env: some\nalarms: {alarms}\n")
        while runs.refresh():
            pass
        runs.refresh()
        run = runs.runs["one"]
        found.append([alarm.name for alarm in run.watch.found])
        assert run.series.rows == 9
    assert found == [["KL is large"], [], ["KL is large"], ["KL is large"]]
    assert run is not None and "judged by the defaults" in run.problems[0]


def test_the_runs_that_were_written_last_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of more runs than are kept those that train go on; one that is let go of is read again when it does."""
    monkeypatch.setattr("pixelis.monitor.reading.runs.MOST_FOLLOWED", 2)
    files = []
    for place, name in enumerate(("a", "b", "c")):
        (tmp_path / name).mkdir()
        files.append(tmp_path / name / "metrics.jsonl")
        files[-1].write_text('{"step": 1, "success/rate": 0.5}\n')
        os.utime(files[-1], (place + 1, place + 1))
    runs = Runs([str(tmp_path)])
    runs.refresh()
    assert [len(run.series.names) > 0 for run in runs.runs.values()] == [False, True, True]
    assert runs.left_out == 1 and runs.runs["a"].state.name == "unknown"
    with files[0].open("a") as file:
        file.write('{"step": 2, "success/rate": 0.6}\n')
    runs.refresh()
    assert [run.series.rows for run in runs.runs.values()] == [2, 0, 1]
    monkeypatch.setattr("pixelis.monitor.reading.runs.MOST_BYTES", runs.runs["a"].nbytes)
    runs.refresh()
    assert [run.series.rows for run in runs.runs.values()] == [2, 0, 0]  # the newest is always kept


def test_files_of_episodes_are_listed_anew_when_there_are_others(tmp_path: Path):
    folder = tmp_path / "run" / "trajectories"
    folder.mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").write_text("env: x\n")
    runs = Runs([str(tmp_path)])
    runs.refresh()
    run = runs.runs["run"]
    assert run.episode_files() == []
    for step in (1, 2):
        (folder / f"step-{step:08d}.jsonl").write_text("{}\n")
        os.utime(folder, (step, step))
        assert [file.step for file in run.episode_files()] == [*range(1, step + 1)]
    assert run.episode_files() is run.episode_files()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(ConfigError, match="no folder"):
        Runs([str(tmp_path / "nothing")])


@pytest.fixture
def played(tmp_path: Path) -> FollowedRun:
    """A run with files of episodes, and a link to one outside."""
    write(tmp_path / "runs" / "one", 1, 1)
    folder = tmp_path / "runs" / "one" / "trajectories"
    folder.mkdir()
    for name in ("step-00000010", "step-00000002", "evaluation-after", "evaluation-before", ".hidden", "a b"):
        (folder / f"{name}.jsonl").write_text("")
    rows = [{"seed": 3}, {"seed": 4, "text": "said"}]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "evaluation-step-00000005.jsonl").write_text(f'{text}[1]\n\n{{"seed": 5}}\n{{"se')
    (tmp_path / "secret.jsonl").write_text(text)
    (folder / "step-00000003.jsonl").symlink_to("../../../secret.jsonl")
    runs = Runs([str(tmp_path / "runs")])
    runs.refresh()
    return runs.runs["one"]


def test_files_of_episodes_in_the_order_in_which_they_were_played(played: FollowedRun):
    names = ["evaluation-before", "step-00000002", "evaluation-step-00000005", "step-00000010"]
    assert [file.name for file in played.episode_files()] == [*names, "evaluation-after"]


def test_damaged_lines_are_told_and_the_rest_is_there(played: FollowedRun):
    read = played.read_episodes(played.episode_files()[2])
    assert [(each.line, each.seed) for each in read.episodes] == [(1, 3), (2, 4), (5, 5)]
    assert ["line 3 is no episode" in read.problems[0], "half a line" in read.problems[1]] == [True, True]


def test_of_a_huge_file_the_first_episodes_are_read(played: FollowedRun, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_EPISODE_BYTES", 50)
    read = played.read_episodes(played.episode_files()[2])
    assert [each.seed for each in read.episodes] == [3, 4]
    assert any("what is beyond 50 bytes is left out" in told for told in read.problems)


def test_a_line_is_given_as_it_was_written(played: FollowedRun):
    file = played.episode_files()[2]
    assert played.episode_row(file, 2) == {"seed": 4, "text": "said"}
    assert [played.episode_row(file, line) for line in (0, 3, 4, 6, 99)] == [None] * 5


def test_a_file_that_is_gone_or_became_a_link_is_told(played: FollowedRun, tmp_path: Path):
    before, *_, after = played.episode_files()
    folder = tmp_path / "runs" / "one" / "trajectories"
    (folder / "evaluation-before.jsonl").unlink()
    (folder / "evaluation-after.jsonl").unlink()
    (folder / "evaluation-after.jsonl").symlink_to("../../../secret.jsonl")
    for file in (before, after):
        read = played.read_episodes(file)
        assert not read.episodes and "could not be read" in read.problems[0]
        assert played.episode_row(file, 1) is None
