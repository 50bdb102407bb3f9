"""The golden set: what every pixel environment shows and asks on fixed seeds, as hashes.

    python tests/envs/test_golden_scenes.py

writes ``golden_scenes.json`` anew. A change of it means that scenes, questions or answers are not what they
were, so results no longer compare: give the environment a new version (``…-v1``) and say so in its docstring.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
from pathlib import Path

import pytest

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.registration import ENVIRONMENTS

FILE = Path(__file__).with_name("golden_scenes.json")
SEEDS = range(5)


def env_class(entry):
    module, _, name = entry.entry_point.partition(":")
    return getattr(importlib.import_module(module), name)


def draws_its_own_scenes(entry):
    """Whether it is a pixel environment that needs nothing of its user's."""
    made_of = inspect.signature(env_class(entry).__init__).parameters.values()
    needs = [p for p in made_of if p.name != "self" and p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return issubclass(env_class(entry), PixelEnv) and not needs


PIXEL_ENVS = [entry for entry in ENVIRONMENTS if draws_its_own_scenes(entry)]


def hashes(entry):
    """Difficulty → one hash a seed (even seeds play ``train``, odd ones ``test``)."""
    env = env_class(entry)(reader="truth")
    found = {}
    for difficulty in env.source.difficulties:
        found[str(difficulty)] = []
        for seed in SEEDS:
            env.reset(seed=seed, options={"difficulty": difficulty, "split": ("train", "test")[seed % 2]})
            digest = hashlib.sha256(env.workspace.image.tobytes())
            film = getattr(env.workspace, "film", None)
            if film is not None:  # of a video, the first frame and the last
                digest.update(film.picture_of(film.frames - 1).image.tobytes())
            digest.update(f"\0{env.task.question}\0{env.task.answer}".encode())
            found[str(difficulty)].append(digest.hexdigest()[:16])
    return found


@pytest.mark.parametrize("entry", PIXEL_ENVS, ids=lambda entry: entry.id)
def test_seeds_show_and_ask_what_they_always_did(entry):
    golden = json.loads(FILE.read_text(encoding="utf-8"))
    assert entry.id in golden, f"new environment: run python {Path(__file__).name}"
    assert hashes(entry) == golden[entry.id], "scenes changed: a new version of the id, see the module's text"


def test_the_golden_set_holds_no_environment_that_is_gone():
    golden = json.loads(FILE.read_text(encoding="utf-8"))
    assert sorted(golden) == sorted(entry.id for entry in PIXEL_ENVS)
    for levels in golden.values():
        drawn = [digest for digests in levels.values() for digest in digests]
        assert len(drawn) == len(set(drawn)) == len(SEEDS) * len(levels)


if __name__ == "__main__":
    FILE.write_text(json.dumps({e.id: hashes(e) for e in PIXEL_ENVS}, indent=1) + "\n", encoding="utf-8")
