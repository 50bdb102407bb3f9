"""The policy that ``benchmarks/ued_study.py`` starts from: a small model that has seen poor demonstrations.

A random transformer would need most of a study to find out which letter to look at. So all weights are
trained first, without reinforcement, on demonstrations of ``Study/ShiftRow-v0``: 500 steps on right ones,
then 200 on poor ones, in which the letter of place i is right with probability 0.7 ** i and any letter
otherwise. So all that is asked for can be learnt, and the longer the level, the worse the start.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from ued_env import ASKED, HIDDEN, LETTERS, LONGEST, ROW

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "agents" / "grpo"))

from letter_model import build_letter_model  # pyright: ignore[reportMissingImports]

CLEAN, POOR = 500, 200
RIGHT = 0.7


def build_start(folder: Path, seed: int, batch: int = 64, lr: float = 3e-3) -> Path:
    """Write the model of a seed into a folder; 12 CPU seconds."""
    build_letter_model(folder, seed, letters=LETTERS + ASKED + HIDDEN)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    before = torch.tensor(tokenizer("<|user|>").input_ids).expand(batch, -1)
    between = torch.tensor(tokenizer("<|end|><|assistant|>").input_ids).expand(batch, -1)
    mark, dot, end = tokenizer(ASKED + HIDDEN + "<|end|>").input_ids
    optimiser, random = torch.optim.AdamW(model.parameters(), lr=lr), torch.Generator().manual_seed(seed)
    for step in range(CLEAN + POOR):
        rows = torch.randint(len(LETTERS), (batch, ROW), generator=random)
        hidden = torch.rand(batch, 1, generator=random) < 1 / 3
        longest = torch.where(hidden, LONGEST["hidden"], LONGEST["shown"])
        lengths = 1 + (torch.rand(batch, 1, generator=random) * longest).long()
        asked = torch.arange(ROW) < lengths
        said = torch.where(asked, demonstrations(rows, 1.0 if step < CLEAN else RIGHT, random), end)
        seen = [torch.where(hidden, dot, rows), torch.where(asked, mark, dot)]
        tokens = torch.cat([before, *seen, between, said], dim=1)
        labels = tokens.clone()
        labels[:, :-ROW] = -100
        labels[:, -ROW:][torch.arange(ROW) > lengths] = -100  # nothing is said after the end
        loss = model(input_ids=tokens, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.save_pretrained(folder)
    return folder


def demonstrations(rows: torch.Tensor, right: float, random: torch.Generator) -> torch.Tensor:
    """Return what is said to rows, int64 [n, 8], letter i right with probability ``right ** i``."""
    places = torch.arange(1, ROW + 1)
    asked_for = (rows + 1) % len(LETTERS)
    other = torch.randint(len(LETTERS), asked_for.shape, generator=random)
    return torch.where(torch.rand(asked_for.shape, generator=random) < right**places, asked_for, other)


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
