"""What pixelis-mini's tokenizer learns beside its own words, and the model that begins with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken
from transformers import AutoModelForCausalLM, AutoTokenizer

from pixelis.envs.pixel.tools.palette import PALETTE

NUMBERS = (*(f"{value / 100:.2f}" for value in range(101)), *(f"{value / 10:.1f}" for value in range(11)))
"""Coordinates as calls and tools write them, one token each; not within longer numbers."""
_PIXEL_TOOLS, _ANSWER = (
    "\nTools: ZOOM, READ_TEXT, SEGMENT, GET_PROPERTIES, THINK",
    ". Answer with <answer>…</answer>.",
)
TOOLS = f"{_PIXEL_TOOLS}{_ANSWER}"
"""What stands under a question."""
_CALL = '<tool_call>{"name": "'
TEXTS = (
    *(
        f'{_CALL}{name}", "arguments": {{{rest}'
        for name, rest in (
            ("SEGMENT", "}}</tool_call>"),
            ("READ_TEXT", "}}</tool_call>"),
            ("GET_PROPERTIES", '"region": '),
            ("ZOOM", '"center": ['),
            ("TRACK", '"box": ['),
            ("SELECT_FRAME", '"frame": '),
        )
    ),
    '], "factor": ',
    '], "to": ',
    _PIXEL_TOOLS,
    ", TRACK, SELECT_FRAME",
    _ANSWER,
    "\nView [",
    "View [",
    ", area_share ",
    ", circularity ",
    ", solidity ",
    ", aspect_ratio ",
    ", orientation_degrees ",
    ", position ",
    "No text can be read here.",
    *(f": {colour} [" for colour in PALETTE),
)
SPREAD = 0.04
"""Standard deviation of what is added to a new token's embedding: two hundredths must not begin alike."""


def extend(source: Path, output: Path, max_length: int) -> None:
    """Write a folder with a model's weights and tokenizer and the new words.

    A new token begins as the mean of the tokens it takes the place of, and a little noise.
    """
    tokenizer: Any = AutoTokenizer.from_pretrained(source)
    model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    new = [text for text in (*TEXTS, *NUMBERS) if text not in tokenizer.get_vocab()]
    pieces = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in new]
    tokenizer.add_tokens([AddedToken(text, normalized=False, single_word=text in NUMBERS) for text in new])
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    embedding, generator = model.get_input_embeddings().weight, torch.Generator().manual_seed(0)
    with torch.no_grad():
        for text, parts in zip(new, pieces, strict=True):
            mean = embedding[parts].mean(0)
            noise = torch.randn(mean.shape, generator=generator) * SPREAD
            embedding[tokenizer.convert_tokens_to_ids(text)] = mean + noise
    model.config.max_position_embeddings = tokenizer.model_max_length = max_length
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
