"""Two processes never train in one folder; a process that ended, however, is in nobody's way."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pixelis.agents.run_files.claim import claim
from pixelis.errors import ConfigError

HOLDER = """
import sys, time
from pathlib import Path
from pixelis.agents.run_files.claim import claim
with claim(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds a folder."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_folder_is_held_until_its_process_ends_however_it_ends(tmp_path, holder):
    with pytest.raises(ConfigError, match=rf"another process \({holder.pid}\).*--resume"), claim(tmp_path):
        pass
    holder.kill()
    holder.wait()
    for _ in range(2):  # and again, after it was given back
        with claim(tmp_path):
            pass
