"""MiniLM on onnxruntime and on torch: sentences a second of processor time, one thread, the same vectors.

    python benchmarks/speed/encoder_speed.py [--rounds 7]

The texts are the labelled tweets and replies. Each round times both on the same texts, one text a call and 32
a call; medians of the rounds, and the least and the greatest ratio. The torch side is ``transformers``'
``BertModel`` with the same tokens, sorted by length and pooled as here; what it takes to import is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertModel

from pixelis.rewards.text.minilm import CHUNK, MAX_TOKENS, MiniLM, find_weights

PAIRS = Path(__file__).parents[1] / "data" / "tweet_pairs.jsonl"


class TorchMiniLM:
    """The same encoder, by the library that the checkpoint was written for."""

    def __init__(self) -> None:
        folder = find_weights()
        self._model = BertModel.from_pretrained(folder).eval()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit vectors, float32 [n, 384]."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        rows = np.zeros((len(tokens), 384), np.float32)
        by_length = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        for start in range(0, len(by_length), CHUNK):
            chunk = by_length[start : start + CHUNK]
            rows[chunk] = self._encode([torch.tensor(tokens[row]) for row in chunk])
        return rows

    @torch.inference_mode()
    def _encode(self, tokens: list[torch.Tensor]) -> np.ndarray:
        ids = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True)
        lengths = torch.tensor([len(one) for one in tokens])
        mask = torch.arange(ids.shape[1]) < lengths[:, None]
        hidden = self._model(input_ids=ids, attention_mask=None if mask.all() else mask.long())
        sums = torch.einsum("nld,nl->nd", hidden.last_hidden_state, mask.float())
        return torch.nn.functional.normalize(sums).numpy()


def rate(encode: Callable[[Sequence[str]], np.ndarray], texts: Sequence[str], size: int) -> float:
    """Return texts a second of processor time, in calls of ``size`` texts."""
    started = time.process_time()
    for start in range(0, len(texts), size):
        encode(texts[start : start + size])
    return len(texts) / (time.process_time() - started)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Time MiniLM on onnxruntime and on torch.")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    texts = list(dict.fromkeys(text for row in rows for text in (row["tweet"], row["reply"]) if text.strip()))
    here, there = MiniLM(), TorchMiniLM()
    print(f"greatest difference of {len(texts)} vectors: {np.abs(here(texts) - there(texts)).max():.1e}")
    for size, count in ((1, 64), (32, 192)):
        rates = np.array(
            [[rate(one, texts[:count], size) for one in (here, there)] for _ in range(options.rounds)]
        )
        ratios, (ours, theirs) = rates[:, 0] / rates[:, 1], np.median(rates, axis=0)
        print(
            f"{size} a call: onnxruntime {ours:.0f}, torch {theirs:.0f} texts a second; "
            f"ratio {np.median(ratios):.2f} ({ratios.min():.2f}-{ratios.max():.2f})"
        )


if __name__ == "__main__":
    main()
