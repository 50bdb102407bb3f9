"""The zoo: an agent is made, goes on where it was stopped, and is watched."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from pixelis.agents.publish.zoo import exhibit, exhibits
from pixelis.cli.main import main

SMALL = ["--steps", "2", "--groups", "2", "--group-size", "2", "--eval-episodes", "2"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("PIXELIS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.mark.slow
def test_an_agent_is_made_published_and_watched(cache, capsys):
    assert main(["zoo", "make", "CodeProblem", *SMALL]) == 0
    made = exhibit("CodeProblem")
    assert set(made.success) == {"before", "after"}
    card = (made.published / "README.md").read_text()
    assert "![success by step](curve.png)" in card and "before training" in card and "seed" in card
    assert (made.published / "adapter_model.safetensors").is_file()
    with Image.open(made.published / "curve.png") as curve:
        assert curve.size[0] > 400
    capsys.readouterr()
    assert main(["zoo"]) == 0
    assert " → " in capsys.readouterr().out
    assert main(["zoo", "make", "CodeProblem"]) == 0
    assert "remove that folder" in capsys.readouterr().out
    assert main(["enjoy", "CodeProblem", "--episodes", "2"]) == 0
    said = capsys.readouterr().out
    assert "task 2" in said and "── turn 1" in said
    assert main(["evaluate", "--agent", str(made.published), "--episodes", "1", "--mode", "greedy"]) == 0


@pytest.mark.slow
def test_one_that_was_stopped_goes_on(cache, monkeypatch):
    """Ctrl-C after a step: the same command finishes it."""
    from pixelis.agents.rl.trainer import Trainer

    step = Trainer.take_step

    def stopped(self, number):
        row = step(self, number)
        if number == 1:
            raise KeyboardInterrupt
        return row

    words = ["zoo", "make", "CodeProblem", *SMALL]
    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "take_step", stopped)
        assert main(words) == 130
    assert not exhibit("CodeProblem").is_made
    assert main(["zoo", "make", "CodeProblem"]) == 0
    rows = (exhibit("CodeProblem").run / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [1, 2]


def test_every_lesson_is_an_exhibit_and_the_table_names_it(cache, capsys):
    assert main(["zoo"]) == 0
    shown = capsys.readouterr().out
    assert len(exhibits()) >= 10 and all(name in shown for name in exhibits())
    assert shown.count("not made") == len(exhibits())


@pytest.mark.parametrize(
    "words, told",
    [
        (["zoo", "make", "ZoomReed"], "the zoo has no 'ZoomReed'. Did you mean 'ZoomRead'?"),
        (["zoo", "make"], "expected 'make NAME' or nothing"),
        (["zoo", "feed", "ZoomRead"], "expected 'make NAME' or nothing"),
        (["zoo", "make", "ZoomRead", "--output=x"], "are the zoo's own"),
        (["enjoy", "ZoomRead"], "make it: pixelis zoo make ZoomRead"),
        (["enjoy"], "give an agent before the flags"),
        (["enjoy", "oracle"], "--env must be given"),
    ],
)
def test_what_is_wrong_is_one_line(cache, capsys, words, told):
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_a_film_is_what_the_agent_saw(cache, tmp_path, capsys):
    film = tmp_path / "film.gif"
    assert main(["enjoy", "oracle", "--env", "Pixelis/ZoomRead-v0", "--film", str(film)]) == 0
    with Image.open(film) as found:
        assert getattr(found, "n_frames", 1) >= 2
    words = ["enjoy", "oracle", "--env", "Pixelis/CodeProblem-v0", "--film", str(tmp_path / "none.gif")]
    assert main(words) == 2 and "no pictures to make a film of" in capsys.readouterr().err
