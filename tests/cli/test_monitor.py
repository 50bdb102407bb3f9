"""``pixelis monitor``: what it refuses, each in one line."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pixelis.cli import monitor

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "no folder at 'nowhere'"),
        (["--run", "nowhere"], "no folder at 'nowhere'"),
        ([".", "--port", "0"], "port"),
        ([".", "--prot", "1"], "Did you mean '--port'"),
    ],
)
def test_what_is_refused(words, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert monitor.main(words) == 2
    said = capsys.readouterr().err
    assert told in said and "Traceback" not in said


def test_a_port_that_is_taken(capsys, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert monitor.main([str(tmp_path), "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert f"cannot listen at 127.0.0.1:{port}" in said and f"such as {port % 65_535 + 1}" in said


def test_without_its_extra_it_says_how_to_get_it(tmp_path):
    code = (
        "import sys; sys.modules['nicegui'] = None; from pixelis.cli import monitor; sys.exit(monitor.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "error: the monitor needs NiceGUI: pip install 'pixelis[monitor]'\n"


def test_the_script_is_the_command():
    script = ROOT / "scripts" / "launch_monitor.py"
    done = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "--run" in done.stdout and "--port" in done.stdout
