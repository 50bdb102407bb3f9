"""``scripts/play.py`` with a pipe as the player."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from pixelis.envs.coding.code_problem.env import CodeProblemEnv

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def test_a_pipe_plays(run, tmp_path):
    read = '<tool_call>{"name": "READ_TEXT", "arguments": {}}</tool_call>'
    typed = f"segment\nzoom 0.5 0.5 4\n{read}\nanswer ABCD\n"
    code, out, err = run("play", "--env", "Pixelis/ZoomRead-v0", "--seed", 3, typed=typed)
    assert code == 0, err
    assert err == ""
    assert (
        "What code is on the" in out and "View [0.38, 0.38, 0.62, 0.62]" in out and "the episode ended" in out
    )
    frames = sorted((tmp_path / "frames").iterdir())
    assert [path.name for path in frames] == [f"frame-{number:03d}.png" for number in range(5)]
    for path in frames:
        with Image.open(path) as frame:
            assert min(frame.size) >= 384
    assert len({path.read_bytes() for path in frames}) == 5


def test_several_lines_of_code_and_an_answer_without_tools(warm_run, tmp_path):
    code, out, err = warm_run(
        "play", "--env", "Pixelis/CodeProblem-v0", typed="answer <<END\nx = 1\n\ny = (\nEND\n"
    )
    assert (code, err) == (0, "")
    assert "was never closed" in out and "in line 3" in out and "the episode ended: reward 0" in out
    assert "there were no pictures to write" in out and not (tmp_path / "frames").exists()
    solution = CodeProblemEnv()
    solution.reset(seed=0)
    typed = f"help\n```python\n{solution.task.answer}\n```\n"
    code, out, err = warm_run("play", "--env", "Pixelis/CodeProblem-v0", typed=typed)
    assert (code, err) == (0, "")
    assert "several lines" in out and "the episode ended: reward 1, success True" in out
    typed = f"run <<DONE\n{solution.task.answer}\nDONE\nsubmit\n"
    code, out, err = warm_run(
        *("play", "--env", "Pixelis/CodeProblem-v0", "--env-kwargs.mode", "multi"), typed=typed
    )
    assert (code, err) == (0, "")
    assert "visible tests passed" in out and "the episode ended: reward 1, success True" in out


def test_a_block_that_is_not_ended_says_nothing(warm_run):
    code, out, err = warm_run("play", "--env", "Pixelis/CodeProblem-v0", typed="answer <<END\nx = 1\n")
    assert (code, err) == (0, "")
    assert "the input ended before END; nothing was said" in out and "episode ended" not in out


def test_a_reply_is_an_answer(warm_run):
    code, out, err = warm_run(
        "play", "--env", "Pixelis/TweetReply-v0", typed="answer That is < 3 days, well done!\n"
    )
    assert (code, err) == (0, "") and "the episode ended: reward" in out


def test_a_form_is_filled_in(warm_run):
    flags = ("play", "--env", "Pixelis/WebBrowse-v0", "--env-kwargs.family", "forms", "--seed", 3)
    code, out, err = warm_run(*flags, typed="type e2@v1\ntype e2@v1 hello you\nscroll down\nanswer no\n")
    assert (code, err) == (0, "")
    assert "TYPE needs text" in out and '"hello you"' in out


def test_pictures_that_are_there_stay(warm_run, tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    mine = {"frame-000.png": b"mine", "frame-0041.png": b"mine too", "frame-of-my-cat.png": b"meow"}
    for name, data in mine.items():
        (folder / name).write_bytes(data)
    for first in (42, 44):
        code, out, err = warm_run("play", "--env", "Pixelis/CountTiny-v0", typed="answer 3\n")
        assert (code, err) == (0, "")
        assert f"2 frames are in frames, from frame-0{first}.png to frame-0{first + 1}.png" in out
    assert {name: (folder / name).read_bytes() for name in mine} == mine
    assert len(list(folder.iterdir())) == len(mine) + 4


def test_a_person_at_a_terminal(tmp_path):
    """The real command on a pseudo-terminal: prompts, a block of lines, and its indentation kept."""
    ours, theirs = pty.openpty()
    words = [sys.executable, str(ROOT / "scripts" / "play.py"), "--env", "Pixelis/CodeProblem-v0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    solution = CodeProblemEnv()
    solution.reset(seed=0)
    shown = read_until(ours, "\n> ")
    os.write(ours, f"answer <<END\n{solution.task.answer}\nEND\n".encode())
    shown += read_until(ours, "success True")
    assert "… " in shown and "the episode ended: reward 1" in shown
    assert process.wait(60) == 0
    os.close(ours)


def read_until(terminal, words):
    text, deadline = "", time.monotonic() + 120
    while words not in text and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            text += os.read(terminal, 65_536).decode(errors="replace").replace("\r\n", "\n")
    return text
