"""``scripts/play.py`` with a pipe as the player."""

from __future__ import annotations

import pytest
from PIL import Image

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
