"""Settings that hold for every test: no network, no window, one thread, the same generated examples."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

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

LINKED_FOLDERS = ("envs", "agents", "rewards", "wrappers")


@pytest.fixture(autouse=True)
def no_second_copy() -> Iterator[None]:
    """Fail the test that loads a linked folder under its bare name, as a second copy of its classes."""
    yield
    loaded = [name for name in LINKED_FOLDERS if name in sys.modules]
    assert not loaded, f"loaded as {loaded}; import pixelis.{loaded[0] if loaded else ''} instead"
