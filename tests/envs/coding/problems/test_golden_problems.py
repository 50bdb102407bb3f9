"""The golden set: which problems and hidden tests the families draw on fixed seeds, as hashes.

    python tests/envs/coding/problems/test_golden_problems.py

writes ``golden_problems.json`` anew. A change of it means that problems are not what they were, so results no
longer compare: give the environment a new version and say so in its docstring.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from pixelis.envs.coding.families import FAMILIES, hidden_tests

FILE = Path(__file__).with_name("golden_problems.json")
SEEDS = range(4)


def hashes(name):
    """Difficulty → a hash of problems, solutions and tests (even seeds ``train``, odd ones ``test``)."""
    family, found = FAMILIES[name], {}
    for difficulty in family.difficulties:
        digest = hashlib.sha256()
        for seed in SEEDS:
            problem = family.draw(np.random.default_rng(seed), difficulty, ("train", "test")[seed % 2])
            cases = [case.to_json() for case in hidden_tests(problem, seed).cases]
            digest.update(json.dumps([problem.to_json(), cases], sort_keys=True).encode())
            digest.update(family.reference(problem).encode())
        found[str(difficulty)] = digest.hexdigest()[:16]
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_seeds_draw_what_they_always_did(name):
    golden = json.loads(FILE.read_text(encoding="utf-8"))
    assert hashes(name) == golden[name]


def test_no_family_is_left_over():
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == set(FAMILIES)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: hashes(name) for name in FAMILIES}, indent=1) + "\n", encoding="utf-8")
