"""Copying what was read: READ_TEXT's observation, then the answer. Text alone, mixed into stage 1.

The last turn of an episode is a copy of four characters; the circuit for that takes far more steps to form
than stage 2 has, and costs little here.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LlavaForConditionalGeneration, LlavaProcessor

from pixelis.agents.models.chat import ChatFormat
from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.tools.workspace import format_box
from pixelis.envs.pixel.zoom_read.players import answer

IGNORE = -100
PAIRS_A_ROW = 5
_TWO_LINES = 0.15  # share of observations with a second line


class ReadingRows:
    """Rows of several observation-answer pairs, as the chat format writes them."""

    def __init__(self, processor: LlavaProcessor, model: LlavaForConditionalGeneration) -> None:
        self._chat = ChatFormat(processor, model.config, model.generation_config)

    def batch(self, count: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Return tokens and next-token targets, int64 ``(count, t)``; the answers alone are learned."""
        rows = [self._row(rng) for _ in range(count)]
        pad, length = self._chat.pad_id, max(len(tokens) for tokens, _ in rows)
        tokens = torch.full((count, length), pad)
        targets = torch.full((count, length), IGNORE)
        for index, (row, target) in enumerate(rows):
            tokens[index, : len(row)] = torch.tensor(row)
            targets[index, : len(row)] = torch.tensor(target)
        return tokens, targets

    def _row(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        tokens: list[int] = []
        targets: list[int] = []
        for _ in range(PAIRS_A_ROW):
            codes = sample_codes(rng, 2 if rng.random() < _TWO_LINES else 1, "train")
            seen = "\n".join(f"{code} {format_box(_somewhere(rng))}" for code in codes)
            last = tokens[-1] if tokens else None
            observation = self._chat.later(seen, last_token=last).tokens.tolist()
            turn = self._chat.written(answer(codes[rng.integers(len(codes))])).tolist()
            tokens += observation + turn
            targets += [IGNORE] * (len(observation) - 1) + turn + [IGNORE]
        return tokens, targets


def _somewhere(rng: np.random.Generator) -> tuple[float, float, float, float]:
    x, y = rng.uniform(0.05, 0.9, size=2)
    return (x, y, x + 0.04, y + 0.02)


def reading_loss(
    model: LlavaForConditionalGeneration, tokens: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of the answers' tokens and the share of them that are right."""
    hidden = model.model.language_model(input_ids=tokens).last_hidden_state
    learned = targets != IGNORE
    logits = model.lm_head(hidden[learned]).float()
    right = (logits.detach().argmax(-1) == targets[learned]).float().mean()
    return F.cross_entropy(logits, targets[learned]), right
