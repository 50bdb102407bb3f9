"""What curiosity is curious about: a tool never used before, and not a noisy TV."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pixelis.rewards.curiosity.term import CuriosityTerm


def load_worlds() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "studies" / "curiosity_worlds.py"
    spec = importlib.util.spec_from_file_location("curiosity_worlds", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


worlds = load_worlds()


@pytest.fixture(scope="module")
def samples():
    return worlds.play_zoom_read(range(40))


def test_auc_by_hand():
    assert worlds.auc([1.0, 2.0], [3.0, 4.0]) == 1.0
    assert worlds.auc([1.0, 2.0], [1.0, 4.0]) == (0.5 + 0.0 + 1.0 + 1.0) / 4


def test_tv_is_in_its_corner_only():
    image = np.zeros((8, 8, 3), np.uint8)
    shown = worlds.tv_on(image, np.random.default_rng(0), 0.5, 2)
    assert not image.any()
    assert shown[:4, 4:].any() and not shown[4:].any() and not shown[:, :4].any()
    assert (shown[0, 4] == shown[1, 5]).all()


def test_every_tool_is_used_about_as_often(samples):
    kinds = [sample.kind for sample in samples]
    assert len(kinds) == 320 and kinds[7::8] == ["answer"] * 40
    assert min(kinds.count(kind) for kind in worlds.KINDS) >= 35


@pytest.mark.slow
@pytest.mark.parametrize("held_out", ["ZOOM", "SEGMENT", "answer"])
def test_tool_never_used_is_worth_more_than_those_seen(samples, held_out: str):
    known = [sample.transition for sample in samples if sample.kind != held_out]
    new = [sample.transition for sample in samples if sample.kind == held_out]
    seen, fresh = known[:160], known[160:]
    term = CuriosityTerm()
    for _ in range(2):
        worlds.watch(term, seen)
    worth = term.measure(new)
    assert worlds.auc(term.measure(seen), worth) >= 0.9
    assert worlds.auc(term.measure(fresh), worth) >= 0.8  # other scenes, known tools


def after_watching(gate_learning_rate: float) -> tuple[list[float], list[float]]:
    """Return what the TV and the room's far part are worth after a long walk in the near part."""
    term = CuriosityTerm(gate_learning_rate=gate_learning_rate)
    room = worlds.Room(0.5, seed=0)
    watching, far = room.play(60, "near", tv=1), room.play(60, "far", tv=0)
    worlds.watch(term, room.play(1600))
    return term.measure(watching), term.measure(far)


@pytest.mark.slow
def test_noisy_tv_does_not_beat_a_new_place():
    tv, far = after_watching(0.1)
    assert worlds.auc(tv, far) >= 0.9
    assert np.mean(far) > 2 * np.mean(tv)


@pytest.mark.slow
def test_without_the_inverse_model_it_does():
    tv, far = after_watching(0.0)
    assert np.mean(far) < np.mean(tv)
