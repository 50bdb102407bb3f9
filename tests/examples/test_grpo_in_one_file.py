"""The one-file example is the same method as the trainer, and runs."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from warm_python import warm_python

from pixelis.agents.losses.advantages import group_advantages
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.loss import LossInputs, LossSettings, grpo_loss

FILE = Path(__file__).parents[2] / "examples" / "grpo_in_one_file.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("grpo_in_one_file", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(8))
def test_its_loss_and_gradient_are_the_trainers(example, seed):
    generator = torch.Generator().manual_seed(seed)
    logprobs = -torch.rand((6, 9), generator=generator, dtype=torch.float64) * 3
    old = logprobs + 0.4 * torch.randn((6, 9), generator=generator, dtype=torch.float64)
    advantages = torch.randn(6, generator=generator, dtype=torch.float64)
    mask = torch.rand((6, 9), generator=generator) < 0.6
    mask[:, 0] = True
    mine, theirs = (logprobs.clone().requires_grad_() for _ in range(2))
    loss = example.grpo_loss(mine, old, advantages, mask.double())
    counts = StepCounts(tokens=int(mask.sum()), sequences=6, max_completion_length=9)
    reference = grpo_loss(LossInputs(theirs, old, advantages, mask), LossSettings(), counts).loss
    loss.backward()
    reference.backward()
    assert abs(loss.item() - reference.item()) < 1e-6
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-6, rtol=0)


def test_its_advantages_are_the_trainers(example):
    rewards = np.array([[0.0, 1.0, 1.0, 0.25], [0.5, 0.0, 0.0, 0.0]])
    found = example.group_advantages(torch.tensor(rewards)).numpy()
    np.testing.assert_allclose(found, group_advantages(rewards, "group"), atol=1e-6)


def test_it_imports_nothing_of_the_trainer_and_fits_on_300_lines():
    text = FILE.read_text(encoding="utf-8")
    modules = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert not [module for module in modules if module and module.startswith("pixelis")]
    assert text.count("\n") <= 300


@pytest.mark.slow
def test_it_runs(tmp_path):
    words = [
        "--steps",
        "1",
        "--groups",
        "2",
        "--group-size",
        "4",
        "--eval-episodes",
        "4",
        "--reader",
        "truth",
    ]
    environment = {**os.environ, "PYTHONPATH": str(FILE.parents[1])}
    code, out, err = warm_python().run(["-W", "error", str(FILE), *words], tmp_path, environment, typed="")
    assert code == 0, err
    assert "step   1: success" in out and "after: " in out
