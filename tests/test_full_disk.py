"""A disk that is full in the middle of a file: what was there is whole, and what is new is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pixelis.agents.viewing.film import write_film
from pixelis.cli.scaffold.new import write_package

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no resource limits")
LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from pixelis.agents.viewing.film import write_film
from pixelis.cli.scaffold.new import write_package
from pixelis.errors import OutputError

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
frames = list(np.random.default_rng(1).integers(0, 256, (3, 64, 64, 3), np.uint8))
for write, words in ((write_film, (frames, Path("film.gif"), 2.0)), (write_package, ("env", "rows", Path()))):
    try:
        write(*words)
    except OutputError as error:
        print(error)
"""


def test_a_film_and_a_package_are_whole_or_not_there(tmp_path: Path):
    write_film([np.zeros((64, 64, 3), np.uint8)], tmp_path / "film.gif", 2.0)
    before = (tmp_path / "film.gif").read_bytes()
    told = subprocess.run(
        [sys.executable, "-c", LIMITED], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert told.stdout.count("File too large") == 2, told.stdout
    assert (tmp_path / "film.gif").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]
    assert write_package("env", "rows", tmp_path)[0].is_file()  # the next try is not in its own way
