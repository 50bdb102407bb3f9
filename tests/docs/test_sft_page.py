"""The page on SFT is run: its commands with few steps, its file of chats, its YAML, its Python."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
import yaml
from doc_pages import ROOT, Page, run

from pixelis.agents.rl.warm_start import sft_settings
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.cli.expert import COMMAND as EXPERT
from pixelis.cli.sft import COMMAND as SFT
from pixelis.cli.train import COMMAND as TRAIN

PAGE = Page("guide/sft.md")
QUICK = "--steps 1 --groups 1 --group-size 2 --max-new-tokens 2"
SHORT = {
    "train_sft.py": "--steps 2 --batch-size 2",
    "train_agent.py": QUICK,
    "analyse_lora.py": "",
    "expert_iteration.py": QUICK,
}
PLAY = "--eval-episodes 0 --env-kwargs.reader truth"  # no OCR engine, which takes seconds to load


def test_the_settings_of_the_page_are_accepted():
    for _, script, *words in PAGE.commands():
        name = Path(script).name
        assert (ROOT / script).is_file()
        if name == "train_sft.py":
            assert isinstance(SFT.read(words)[0], SftConfig)
        elif name == "expert_iteration.py":
            assert isinstance(EXPERT.read(words)[0], ExpertConfig)
        elif name == "train_agent.py":
            config, _ = TRAIN.read(words)
            assert config.model == "runs/sft" or sft_settings(config).model == "smollm2"


def test_the_curriculum_of_the_page_is_accepted(tmp_path: Path):
    (text,) = PAGE.blocks("yaml")
    file = tmp_path / "curriculum.yaml"
    file.write_text(text)
    config, _ = SFT.read(["--config", str(file)])
    assert list(config.make_curriculum().names) == list(yaml.safe_load(text)["curriculum"]["stages"])
    assert config.make_curriculum().levels == (0, 1, 2)


@pytest.mark.slow
def test_the_commands_of_the_page_work_one_after_the_other(tmp_path: Path):
    (chats,) = PAGE.blocks("json")
    (tmp_path / "chats.jsonl").write_text(chats * 4)
    for _, script, *words in PAGE.commands():
        if "web_browse" in words:  # a real model; see test_warm_start.py
            continue
        short = SHORT[Path(script).name]
        if Path(script).name == "train_sft.py":
            few = "" if "--data" in words else " --demonstrations 4"
            short = f"--epochs 1 --batch-size 2{few}" if "--epochs" in words else f"{short}{few}"
        extra = shlex.split(short + (f" {PLAY}" if "--env" in words else ""))
        run(tmp_path, [sys.executable, str(ROOT / script), *words, *extra])
    newest = sorted((tmp_path / "runs" / "grpo" / "checkpoints").iterdir())[-1]
    assert (newest / "adapter" / "reference" / "adapter_config.json").is_file()
    assert (tmp_path / "compared" / "layers.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_python_of_the_page_works(tmp_path: Path):
    (code,) = PAGE.blocks("python")
    run(tmp_path, [sys.executable, "-c", code])
    assert (tmp_path / "adapter" / "adapter_config.json").is_file()
