"""How many steps of the drills a model gets right, given the numbers before."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pixelis_mini.tokenizer import as_text
from transformers import AutoModelForCausalLM, AutoTokenizer

from pixelis_mini_tools.drills import DRILLS, Turns, boards, goods, lookups, plates, plates_of_lockers, steps

_RESULT = re.compile(r":( [^:]*?\d)\.(?= |$)")
_TOLD = re.compile(r"( [^ ]*\d\]?)\.(?= |$)")
_ANSWER = re.compile(r"<answer>([^<]+)<")
_PATTERNS: dict[Callable[..., Turns], re.Pattern[str]] = {
    lookups: _TOLD,
    plates: _ANSWER,
    boards: _ANSWER,
    goods: _ANSWER,
    plates_of_lockers: _ANSWER,
}


@torch.no_grad()
def right_steps(folder: Path, count: int = 60, seed: int = 991) -> dict[str, tuple[int, int]]:
    """Return of each drill how many results are the likeliest tokens to the last one, and how many there are.

    Args:
        folder: of the model and its tokenizer.
        count: drills of each kind; they are none of those that are trained on.
        seed: of the drills.
    """
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    found: dict[str, list[bool]] = defaultdict(list)
    for drill in DRILLS:
        rng = np.random.default_rng(seed)
        for _ in range(count * (3 if drill is steps else 1)):  # of five words
            turns = drill(rng)
            read, said = turns[-1]
            text = as_text(turns)
            coded = tokenizer(
                text, return_offsets_mapping=True, return_tensors="pt", add_special_tokens=False
            )
            likeliest = model(coded.input_ids).logits[0, :-1].argmax(-1)
            right = np.append(True, (likeliest == coded.input_ids[0, 1:]).numpy())
            places, start = coded.offset_mapping[0].numpy(), text.rindex(said)
            name = f"{drill.__name__}, {read}" if drill is steps else drill.__name__
            pattern = _PATTERNS.get(drill, _RESULT)
            for match in pattern.finditer(said):
                begin, end = match.start(1) + start, match.end(1) + start
                inside = (places[:, 0] >= begin) & (places[:, 1] <= end)
                found[name].append(bool(right[inside].all()))
    return {name: (sum(each), len(each)) for name, each in found.items()}
