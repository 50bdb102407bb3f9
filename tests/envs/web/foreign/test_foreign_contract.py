"""The contract on pages of others, in a real Chromium: no solution is known, all else is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelis.envs import check_env

FORM = Path(__file__).parents[4] / "benchmarks" / "quality" / "form.html"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("env_id", "keywords"),
    [("Pixelis/MiniWoB-v0", {}), ("Pixelis/WebPage-v0", {"url": FORM.as_uri(), "max_turns": 10})],
)
def test_the_contract(env_id, keywords):
    report = check_env(env_id, seeds=2, processes=False, keywords=keywords)
    assert report.ok, str(report)
    assert report.figures is not None and report.figures.of == "the random player"
