"""The pages on environments and trainers of others: their code runs, and prints what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import Page, run


@pytest.mark.parametrize("name", ["guide/gymnasium.md", "guide/other_envs.md"])
def test_what_is_printed_stands_below(name: str, tmp_path: Path):
    page = Page(name)
    page.write_modules(tmp_path, "page.py")
    assert run(tmp_path, ["python", "page.py"]) == page.blocks("text")[0]


def test_the_adapters_blocks_run(tmp_path: Path):
    Page("guide/other_trainers.md").write_modules(tmp_path, "page.py")
    printed = run(tmp_path, ["python", "page.py"]).splitlines()
    assert printed[0].startswith("['prompt', 'env_id', 'seed', 'env_kwargs', 'options'] user")
    assert printed[1] == "[0.0]" and printed[2].startswith("What code is on the")
    assert "No tool call" in printed[-1]
