"""The page on SFT is run: its commands with few steps, its file of chats, its YAML, its Python."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pixelis.agents.expert.config import ExpertConfig
from pixelis.agents.sft.config import SftConfig
from pixelis.cli.expert import COMMAND as EXPERT
from pixelis.cli.sft import COMMAND as SFT
from pixelis.cli.train import read_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sft.md").read_text(encoding="utf-8")
QUICK = "--steps 1 --groups 1 --group-size 2 --max-new-tokens 2"
SHORT = {
    "train_sft.py": "--steps 2 --demonstrations 4 --batch-size 2",
    "train_agent.py": QUICK,
    "analyse_lora.py": "",
    "expert_iteration.py": QUICK,
}
PLAY = "--eval-episodes 0 --env-kwargs.reader truth"  # no OCR engine, which takes seconds to load


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def commands() -> list[list[str]]:
    return [shlex.split(line) for block in blocks("bash") for line in block.splitlines()]


def run(folder: Path, words: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_settings_of_the_page_are_accepted():
    for _, script, *words in commands():
        name = Path(script).name
        assert (ROOT / script).is_file()
        if name == "train_sft.py":
            assert isinstance(SFT.read(words)[0], SftConfig)
        elif name == "expert_iteration.py":
            assert isinstance(EXPERT.read(words)[0], ExpertConfig)
        elif name == "train_agent.py":
            assert read_settings(words)[0].model == "runs/sft/adapter"


def test_the_curriculum_of_the_page_is_accepted(tmp_path: Path):
    (text,) = blocks("yaml")
    file = tmp_path / "curriculum.yaml"
    file.write_text(text)
    config, _ = SFT.read(["--config", str(file)])
    assert [stage.name for stage in config.make_curriculum().stages] == list(
        yaml.safe_load(text)["curriculum"]
    )
    assert config.make_curriculum().levels == (0, 1, 2)


@pytest.mark.slow
def test_the_commands_of_the_page_work_one_after_the_other(tmp_path: Path):
    (chats,) = blocks("json")
    (tmp_path / "chats.jsonl").write_text(chats * 4)
    for _, script, *words in commands():
        extra = shlex.split(SHORT[Path(script).name] + (f" {PLAY}" if "--env" in words else ""))
        run(tmp_path, [sys.executable, str(ROOT / script), *words, *extra])
    newest = sorted((tmp_path / "runs" / "grpo" / "checkpoints").iterdir())[-1]
    assert (newest / "adapter" / "reference" / "adapter_config.json").is_file()
    assert (tmp_path / "compared" / "layers.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_python_of_the_page_works(tmp_path: Path):
    (code,) = blocks("python")
    run(tmp_path, [sys.executable, "-c", code])
    assert (tmp_path / "adapter" / "adapter_config.json").is_file()
