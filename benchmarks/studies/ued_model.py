"""The policy that ``ued_study.py`` starts from: a small model that has seen poor demonstrations.

A random transformer would need most of a study to find out which letter to look at. So all weights are
trained first, without reinforcement, on demonstrations of ``Study/ShiftRow-v0``: 1,000 steps on right ones,
then 500 in which the shifted letter of place i is right with probability 0.8 ** i, and any letter otherwise;
copied letters stay right. So all that can be asked for can be learnt, and the longer a shifted level, the
worse the start. Over the second part a smaller learning rate falls to 0: else the start follows the noise of
the last batches, some letter is by chance much worse than the others, and reinforcement gives up on it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from ued_env import EASY, FAMILIES, IMPOSSIBLE, LETTERS, MARKS, ROW

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "agents" / "rl"))

from letter_model import build_letter_model  # pyright: ignore[reportMissingImports]

CLEAN, POOR = 1000, 500
RIGHT = 0.8
POOR_LR = 1e-3


def build_start(folder: Path, seed: int, batch: int = 64, lr: float = 3e-3) -> Path:
    """Write the model of a seed into a folder; 30 CPU seconds."""
    build_letter_model(folder, seed, letters=LETTERS + MARKS, width=64, std=0.1)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    before = torch.tensor(tokenizer("<|user|>").input_ids).expand(batch, -1)
    between = torch.tensor(tokenizer("<|end|><|assistant|>").input_ids).expand(batch, -1)
    copy, shift, nothing, end = tokenizer(MARKS + "<|end|>").input_ids
    optimiser, random = torch.optim.AdamW(model.parameters(), lr=lr), torch.Generator().manual_seed(seed)
    for step in range(CLEAN + POOR):
        rows = torch.randint(len(LETTERS), (batch, ROW), generator=random)
        family = torch.randint(len(FAMILIES), (batch, 1), generator=random)
        easy, hidden = family == FAMILIES.index(EASY), family == FAMILIES.index(IMPOSSIBLE)
        lengths = torch.randint(1, ROW + 1, (batch, 1), generator=random)
        asked = torch.arange(ROW) < lengths
        shifted = demonstrations(rows, 1.0 if step < CLEAN else RIGHT, random)
        said = torch.where(asked, torch.where(easy, rows, shifted), end)
        said = torch.cat([said, torch.full((batch, 1), end)], dim=1)
        marks = torch.where(asked, torch.where(easy, copy, shift), nothing)
        tokens = torch.cat([before, torch.where(hidden, nothing, rows), marks, between, said], dim=1)
        labels = tokens.clone()
        labels[:, : -ROW - 1] = -100
        labels[:, -ROW - 1 :][torch.arange(ROW + 1) > lengths] = -100  # nothing is said after the end
        loss = model(input_ids=tokens, labels=labels).loss
        optimiser.param_groups[0]["lr"] = lr if step < CLEAN else POOR_LR * (CLEAN + POOR - step) / POOR
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.save_pretrained(folder)
    return folder


def demonstrations(rows: torch.Tensor, right: float, random: torch.Generator) -> torch.Tensor:
    """Return what is said to rows [n, 6], int64: letter i shifted with probability ``right ** i``."""
    right_ones = (rows + torch.arange(1, ROW + 1)) % len(LETTERS)
    other = torch.randint(len(LETTERS), rows.shape, generator=random)
    chance = right ** torch.arange(1, ROW + 1)
    return torch.where(torch.rand(rows.shape, generator=random) < chance, right_ones, other)


def success_rates(model: Any, tokenizer: Any, rows: Sequence[tuple[str, str]]) -> torch.Tensor:
    """Return how likely a model is to say just what is asked for, float32 [n].

    An episode of the study's environment is one answer, and one answer succeeds, so its probability (at
    temperature 1, the end included) is the success rate on that row, exactly.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        rows: what is shown and what is asked for; the latter of equal length.
    """
    texts = [f"<|user|>{shown}<|end|><|assistant|>{answer}<|end|>" for shown, answer in rows]
    tokens = torch.tensor(tokenizer(texts).input_ids)
    said = len(rows[0][1]) + 1
    with torch.no_grad():
        logs = model(input_ids=tokens[:, :-1]).logits[:, -said:].log_softmax(-1)
    return logs.gather(-1, tokens[:, -said:, None]).sum((1, 2)).exp()
