"""Where the monitor listens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nicegui")
from pixelis.errors import ConfigError
from pixelis.monitor.app.server import listening


def test_an_address_is_taken_by_who_listens_first():
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen at 127.0.0.1:{port}: Address already in use; "):
            listening("127.0.0.1", port)
    listening("127.0.0.1", port).close()


@pytest.mark.slow
def test_a_port_that_is_taken_after_it_was_checked_is_one_line(tmp_path: Path):
    """Two monitors that start at one moment both find the port free."""
    code = "import sys; from pixelis.cli import monitor; monitor.check_port = print; sys.exit(monitor.main())"
    with listening("127.0.0.1", 0) as first:
        words = [sys.executable, "-c", code, str(tmp_path), "--port", str(first.getsockname()[1])]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot listen at") and done.stderr.count("\n") == 1
