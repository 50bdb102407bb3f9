"""Ctrl-C at any early time ends a command with one line and exit code 130, never with a traceback."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ZOOM_READ = ("--env", "Pixelis/ZoomRead-v0", "--env-kwargs.reader", "truth")
COMMANDS = {
    "train_agent.py": (*ZOOM_READ, "--steps", "50"),
    "train_sft.py": (*ZOOM_READ, "--steps", "50"),
    "evaluate_agent.py": (*ZOOM_READ, "--episodes", "200"),
    "train_agent.py --agent": ("--agent", "sb3-ppo", *ZOOM_READ, "--steps", "50000"),
}


def _interrupted(words: list[str], delay: float, folder: Path) -> tuple[int, str]:
    """Run a script; from ``delay`` seconds after Python itself is up press Ctrl-C until it has ended."""
    command = [sys.executable, "-X", "importtime", *words]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            if line.rstrip().endswith("| site"):
                break
        reader = threading.Thread(target=lambda: said.extend(process.stderr))
        reader.start()
        time.sleep(delay)
        for _ in range(400):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(0.25)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            process.kill()
        reader.join()
    return process.returncode, "".join(line for line in said if not line.startswith("import time:"))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_interrupted_while_it_begins_says_so_in_a_line(name: str, tmp_path: Path):
    draw = random.Random(name)
    for delay in (0.02, *(draw.uniform(0.05, 4.0) for _ in range(4))):
        script = str(ROOT / "scripts" / name.split()[0])
        code, said = _interrupted([script, *COMMANDS[name]], delay, tmp_path)
        assert code == 130, (delay, code, said)
        assert "Traceback" not in said and "Exception ignored" not in said, (delay, said)
