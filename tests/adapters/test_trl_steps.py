"""Real steps of TRL's GRPOTrainer in our environments: one turn, and tools over several turns."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from pixelis.adapters.trl import dataset, pays
from pixelis.agents.models.loading import find_folder

EXAMPLE = Path(__file__).parents[2] / "examples" / "trl_web_browse.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # what TRL, accelerate and transformers have to say of each other
]


def rewards(trainer: Any) -> list[float]:
    trainer.train()
    return [row["reward"] for row in trainer.state.log_history if "reward" in row]


def test_problems_in_one_turn(tmp_path: Path):
    from trl import GRPOConfig, GRPOTrainer

    folder = find_folder("pixelis-mini")
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder),
        args=GRPOConfig(
            output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none", save_strategy="no",
            disable_tqdm=True, logging_steps=1, max_steps=2, per_device_train_batch_size=8, num_generations=4,
            max_completion_length=160, dataloader_pin_memory=False, seed=3, shuffle_dataset=False,
        ),
        reward_funcs=pays,
        train_dataset=dataset("Pixelis/CodeProblem-v0", range(8), {"max_turns": 1, "difficulty": 1}),
        processing_class=AutoTokenizer.from_pretrained(folder),
    )  # fmt: skip
    paid = rewards(trainer)
    assert len(paid) == 2 and max(paid) > 0  # this model solves half of them


def test_the_command_of_trl_takes_rows_and_reward_by_name(tmp_path: Path):
    rows = dataset("Pixelis/CodeProblem-v0", range(8), {"max_turns": 1, "difficulty": 1})
    rows.to_parquet(tmp_path / "rows" / "train.parquet")
    words = (
        "--dataset_name rows --reward_funcs pixelis.adapters.trl.pays --num_generations 4 --output_dir out "
        "--max_steps 1 --per_device_train_batch_size 8 --max_completion_length 128 --use_cpu --bf16 false "
        "--report_to none --logging_steps 1 --save_strategy no --seed 3"
    )
    command = [
        Path(sys.executable).parent / "trl",
        "grpo",
        "--model_name_or_path",
        find_folder("pixelis-mini"),
    ]
    env = {**os.environ, "HF_HOME": str(tmp_path / "hub"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *words.split()], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (paid,) = re.findall(r"'rewards/pays/mean': '([^']+)'", done.stdout + done.stderr)
    assert 0 < float(paid) < 1 and (tmp_path / "out" / "model.safetensors").is_file()


def test_web_sites_by_native_tools(tmp_path: Path):
    spec = importlib.util.spec_from_file_location("trl_web_browse", EXAMPLE)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    trainer = example.trainer(2, str(tmp_path), seed=1)
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    paid = rewards(trainer)
    called = [row["tools/call_frequency"] for row in trainer.state.log_history if "reward" in row]
    assert len(paid) == 2 and max(paid) > 0 and min(called) > 0, (paid, called)  # it solves a third and more
    changed = zip(before, trainer.model.parameters(), strict=True)
    assert any(not old.equal(new) for old, new in changed)
