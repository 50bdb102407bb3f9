"""The commands from the inside: every mistake is one line on stderr and exit code 2."""

from __future__ import annotations

import io
import json
import sys

import pytest

from pixelis.cli import FAILED, INTERRUPTED, USER_MISTAKE, evaluate, export, play, replay, run_command, train
from pixelis.errors import CheckpointError, OutputError, TrainingError, UserCodeError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def one_line(capsys):
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1, captured.err
    return captured.err


ENV_MISTAKES = [
    (["--env", "Pixelis/ZoomReed-v0"], "Did you mean 'Pixelis/ZoomRead-v0'?"),
    (["--env", "nosuchmodule:Toy-v0"], "cannot import module 'nosuchmodule'"),
    (["--env", "CartPole-v1"], "a dict with 'text'"),
    (["--difficulty", "9"], "from 0 to 4, got 9"),
    (["--env-kwargs.readr", "ocr"], "Did you mean 'reader'?"),
    (["--env-kwargs.reader", "eyes"], "eyes"),
    (["--dificulty", "1"], "Did you mean '--difficulty'?"),
]


@pytest.mark.parametrize("main", [train.main, evaluate.main, play.main], ids=["train", "evaluate", "play"])
@pytest.mark.parametrize(("words", "message"), ENV_MISTAKES, ids=lambda value: str(value)[:24])
def test_mistakes_about_the_env(capsys, main, words, message):
    assert main(words) == USER_MISTAKE
    assert message in one_line(capsys)


@pytest.mark.parametrize("main", [evaluate.main, play.main], ids=["evaluate", "play"])
def test_an_unknown_split(capsys, main):
    assert main(["--split", "tets"]) == USER_MISTAKE
    assert "one of train, test, got 'tets'. Did you mean 'test'?" in one_line(capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "./nowhere"], "there is none at './nowhere'"),
        (["--model", "some-user/some-model"], "HF_HUB_OFFLINE"),
        (["--group-size", "1"], "group_size must be at least 2, got 1"),
        (["--resume", "nowhere"], "no run at 'nowhere'"),
        (["--device", "abacus"], "device must be auto, cpu or cuda"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_mistakes_about_training(capsys, words, message):
    assert train.main(words) == USER_MISTAKE
    assert message in one_line(capsys)


def test_an_unknown_agent(capsys):
    assert evaluate.main(["--agent", "oracel"]) == USER_MISTAKE
    assert "Did you mean 'oracle'?" in one_line(capsys)


@pytest.mark.parametrize("agents", ["", ",", " , ,"])
def test_no_agent_at_all(capsys, agents):
    assert evaluate.main(["--agent", agents]) == USER_MISTAKE
    assert "--agent must name at least one agent" in one_line(capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--run and --output are both needed"),
        (["--run", "run"], "--run and --output are both needed"),
        (["--output", "new"], "--run and --output are both needed"),
        (["--run", "nowhere", "--output", "new"], "nowhere"),
        (["--run", "run", "--output", "new", "--dtype", "int8"], "got 'int8'"),
        (["--run", "run", "--output", "new", "--adapter-onyl"], "Did you mean '--adapter-only'?"),
    ],
)
def test_mistakes_about_exports(capsys, tmp_path, words, message):
    assert export.main(words) == USER_MISTAKE
    assert message in one_line(capsys) and not (tmp_path / "new").exists()


def test_a_run_folder_without_checkpoints(capsys, tmp_path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").write_text("lr: 1\n")
    assert evaluate.main(["--agent", "run"]) == USER_MISTAKE
    assert "no checkpoint in" in one_line(capsys)
    assert train.main(["--resume", "run"]) == USER_MISTAKE
    assert "no checkpoint in" in one_line(capsys)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (CheckpointError("a\nb"), USER_MISTAKE, "error: a b\n"),
        (OutputError("full"), FAILED, "error: full\n"),
        (TrainingError("nan"), FAILED, "error: nan\n"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted\n"),
    ],
)
def test_exit_codes(capsys, error, code, text):
    def fail(words):
        raise error

    assert run_command(fail, []) == code
    assert capsys.readouterr().err == text


def test_where_the_traceback_of_a_users_code_lies_is_told(capsys):
    def fail(words):
        error = UserCodeError("my_env.py, line 3: oh")
        error.log = "run/log.txt"
        raise error

    assert run_command(fail, []) == FAILED
    assert capsys.readouterr().err == "error: my_env.py, line 3: oh; the traceback is in run/log.txt\n"


def test_a_mistake_of_ours_is_not_hidden():
    def fail(words):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_command(fail, [])


def test_scripted_agents_in_a_table_and_a_file(capsys, tmp_path):
    words = [
        "--agent",
        "oracle, nothing",
        "--episodes",
        "3",
        "--env-kwargs.reader",
        "truth",
        "--output",
        "t/a.json",
    ]
    assert evaluate.main(words) == 0
    out = capsys.readouterr().out
    assert "oracle" in out and "nothing" in out and "saved as t/a.json" in out
    table = json.loads((tmp_path / "t" / "a.json").read_text())
    assert [row["success_rate"] for row in table["rows"]] == [1.0, 0.0]
    assert table["settings"]["split"] == "test"


def test_a_table_without_a_name_is_called_after_who_played(capsys, tmp_path):
    assert (
        evaluate.main(["--agent", "nothing,oracle", "--episodes", "1", "--env-kwargs.reader", "truth"]) == 0
    )
    path = "runs/evaluations/zoomread-v0-nothing-oracle.json"
    assert f"saved as {path}" in capsys.readouterr().out and (tmp_path / path).exists()


def test_a_table_of_others_with_the_same_name_stays(capsys, tmp_path):
    words = ["--agent", "nothing", "--episodes", "1", "--env-kwargs.reader", "truth"]
    folder = tmp_path / "runs" / "evaluations"
    for difficulty, name in ((0, "nothing"), (1, "nothing-2"), (0, "nothing")):
        assert evaluate.main([*words, "--difficulty", str(difficulty)]) == 0
        assert f"saved as runs/evaluations/zoomread-v0-{name}.json" in capsys.readouterr().out
        table = json.loads((folder / f"zoomread-v0-{name}.json").read_text())
        assert table["settings"]["difficulty"] == difficulty
    assert len(list(folder.glob("*.json"))) == len(list(folder.glob("*.transcripts.jsonl"))) == 2


def test_a_name_that_is_too_long_for_a_file(capsys):
    assert evaluate.main(["--agent", "x" * 256]) == USER_MISTAKE
    assert "cannot look for a run at 'xxx" in one_line(capsys)
    assert replay.main(["x" * 256]) != 0
    assert "no run, file or folder at 'xxx" in one_line(capsys)


@pytest.mark.parametrize(
    "text", [b"env: \xff", b"made: 2024-99-99", b"[" * 5000], ids=["bytes", "date", "deep"]
)
def test_a_run_whose_settings_are_damaged(capsys, tmp_path, text):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_bytes(text)
    assert evaluate.main(["--agent", "run"]) == USER_MISTAKE
    assert "'run/config.yaml' is damaged: " in one_line(capsys)


@pytest.fixture
def typed(monkeypatch):
    def give(*lines):
        left = iter(lines)

        def read(prompt=""):
            try:
                return next(left)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", read)

    return give


def test_playing_a_whole_episode(capsys, tmp_path, typed):
    typed("help", "", "segment", "zoom 1", "read", "nonsense", "answer ????", "never reached")
    assert play.main(["--seed", "3", "--env-kwargs.reader", "truth", "--frames", "f"]) == 0
    out = capsys.readouterr().out
    assert "What code is on the" in out and "zoom box (4 numbers)" in out
    assert "no tool 'nonsense'" in out and "the episode ended: reward 0, success False" in out
    assert "5 frames are in f" in out
    assert sorted(path.name for path in (tmp_path / "f").iterdir()) == [
        f"frame-{i:03d}.png" for i in range(5)
    ]


def test_the_input_may_end_early_and_frames_of_others_are_kept(capsys, tmp_path, typed):
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "frame-007.png").write_bytes(b"old")
    (tmp_path / "frames" / "mine.txt").write_text("kept")
    typed("think hm", "quit")
    assert play.main([]) == 0
    names = sorted(path.name for path in (tmp_path / "frames").iterdir())
    assert names == ["frame-007.png", "frame-008.png", "frame-009.png", "mine.txt"]
    assert (tmp_path / "frames" / "frame-007.png").read_bytes() == b"old"


def test_an_answer_of_several_lines_is_typed_up_to_its_end(capsys, typed):
    typed("answer <<STOP", "one", "  two ", "", "STOP")
    assert play.main(["--env-kwargs.reader", "truth", "--frames", "f"]) == 0
    assert "the episode ended: reward 0, success False" in capsys.readouterr().out
    typed("answer <<STOP", "one")
    assert play.main(["--env-kwargs.reader", "truth", "--frames", "f"]) == 0
    said = capsys.readouterr().out
    assert "the input ended before STOP; nothing was said" in said and "the episode ended" not in said
    assert "1 frames are in f, from frame-002.png to frame-002.png" in said


def test_frames_need_a_folder(capsys, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert play.main(["--frames", "file"]) == USER_MISTAKE
    assert "must be a folder" in one_line(capsys)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (b"answer \xff", "what was typed is no text in utf-8; nothing was said"),
        (b"answer <<END\none\n\xe9\nanswer two\nEND", "what was typed is no text in utf-8; nothing was said"),
        (b"zoom " + b'{"a":' * 3000, "the brackets are nested too deep; nothing was said"),
        (b"zoom center=" + b"[" * 100_000, "the brackets are nested too deep; nothing was said"),
    ],
    ids=["line", "block", "object", "value"],
)
def test_what_cannot_be_read_is_told_and_the_next_line_is_played(capsys, monkeypatch, lines, told):
    typed = io.TextIOWrapper(io.BytesIO(lines + b"\nread\nanswer ????\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", typed)
    assert play.main(["--env-kwargs.reader", "truth", "--frames", "f"]) == 0
    said = capsys.readouterr().out
    assert said.count(told) == 1 and said.count("the episode ended: reward 0, success False") == 1
    assert "3 frames are in f" in said  # before the first turn, of read and of the answer
