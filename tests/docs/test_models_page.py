"""The page "Models" is run: its commands, its Python, the error it quotes, and its table of families."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import torch
import transformers
from doc_pages import ROOT, Page, as_script
from tiny_models import FAMILIES, VISION_FAMILIES, build_tokenizer

from pixelis.cli import USER_MISTAKE, export, train

PAGE = Page("guide/models.md")
COMMANDS = {"scripts/train_agent.py": train.main, "scripts/export_model.py": export.main}


def call(command: str) -> int:
    program, script, *words = as_script(shlex.split(command))
    assert program == "python" and (ROOT / script).is_file()
    return COMMANDS[script](words)


def test_the_table_holds_the_families_that_the_tests_train():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .* \| (.*) \|$", PAGE.text, re.MULTILINE)
    expected: set[tuple[str, str, str]] = set()
    for name, family in FAMILIES.items():
        config = family.config(build_tokenizer(family.chat))
        seen = "text, pictures" if name in VISION_FAMILIES else "text"
        auto = "IMAGE_TEXT_TO_TEXT" if name in VISION_FAMILIES else "CAUSAL_LM"
        model = getattr(transformers, f"MODEL_FOR_{auto}_MAPPING")[type(config)]
        expected.add((config.model_type, model.__name__, seen))
    assert len(rows) == len(expected) and set(rows) == expected


def test_the_quoted_error_is_what_the_command_says(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quoting = [index for index, (_, text) in enumerate(PAGE.all_blocks()) if text.startswith("error: ")]
    assert len(quoting) == 1
    assert call(PAGE.all_blocks()[quoting[0] - 1][1]) == USER_MISTAKE
    assert capsys.readouterr().err == PAGE.all_blocks()[quoting[0]][1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
def test_the_page_from_top_to_bottom(capsys, tmp_path, monkeypatch):
    """Train, export both ways, and let the two folders answer alike."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for language, text in PAGE.all_blocks():
        if language == "python":
            exec(compile(text, "docs/guide/models.md", "exec"), names)
        elif language == "bash" and "--quantization" not in text:
            assert call(text) == 0
    assert names["policy"].chat.sees_images
    assert torch.equal(names["out"], names["again"])
    assert "exported: merged model, step 2" in capsys.readouterr().out
    assert "this model | greedy | 4 |" in (tmp_path / "exported" / "README.md").read_text()
