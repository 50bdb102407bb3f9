"""Settings that hold for every test: no network, no window, one thread, the same generated examples."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# Before anything imports torch, SDL or the hub client: they read these once.
for _name, _value in {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "MPLBACKEND": "Agg",
}.items():
    os.environ.setdefault(_name, _value)

hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("suite")

_NOBODY = 65534
LINKED_FOLDERS = ("envs", "agents", "rewards", "wrappers")


@pytest.fixture(autouse=True)
def no_second_copy() -> Iterator[None]:
    """Fail the test that loads a linked folder under its bare name, as a second copy of its classes."""
    yield
    loaded = [name for name in LINKED_FOLDERS if name in sys.modules]
    assert not loaded, f"loaded as {loaded}; import pixelis.{loaded[0] if loaded else ''} instead"


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that may be read and not written; root, whom permissions do not bind, acts as nobody."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:  # not below tmp_path, which only its owner may enter
        folder = Path(name)
        folder.chmod(0o555)
        if is_root:
            os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.fixture(scope="session")
def letter_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model small enough to learn in seconds; it knows eight letters."""
    from letter_model import build_letter_model

    return build_letter_model(tmp_path_factory.mktemp("letter_model"))
