"""The page "Models" is run: its commands, its Python, the error it quotes, and its table of families."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from pixelis.cli import USER_MISTAKE, export, train

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
COMMANDS = {"scripts/train_agent.py": train.main, "scripts/export_model.py": export.main}
if str(ROOT / "tests" / "agents") not in sys.path:
    sys.path.insert(0, str(ROOT / "tests" / "agents"))

from tiny_models import FAMILIES, VISION_FAMILIES, build_tokenizer  # noqa: E402


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def call(command: str) -> int:
    program, script, *words = shlex.split(command)
    assert program == "python" and (ROOT / script).is_file()
    return COMMANDS[script](words)


def test_the_table_holds_the_families_that_the_tests_train():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE)
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
    quoting = [index for index, (_, text) in enumerate(blocks()) if text.startswith("error: ")]
    assert len(quoting) == 1
    assert call(blocks()[quoting[0] - 1][1]) == USER_MISTAKE
    assert capsys.readouterr().err == blocks()[quoting[0]][1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
def test_the_page_from_top_to_bottom(capsys, tmp_path, monkeypatch):
    """Train, export both ways, and let the two folders answer alike."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for language, text in blocks():
        if language == "python":
            exec(compile(text, "docs/models.md", "exec"), names)
        elif language == "bash" and "--quantization" not in text:
            assert call(text) == 0
    assert names["policy"].chat.sees_images
    assert torch.equal(names["out"], names["again"])
    assert "exported: merged model, step 2" in capsys.readouterr().out
    assert "this model | greedy | 4 |" in (tmp_path / "exported" / "README.md").read_text()
