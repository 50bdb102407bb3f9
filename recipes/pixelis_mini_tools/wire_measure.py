"""Which steps of an episode of WireTrace a model gets right, given what stands before them."""

from __future__ import annotations

import re
from collections import defaultdict

import torch
from pixelis_mini.tokenizer import as_text

from pixelis.agents import Policy
from pixelis_mini_tools.wire import START
from pixelis_mini_tools.wire_words import unrendered

_STEPS = {
    "label not there": r"<\|assistant\|>\w+(\?) ",
    "label and its place": r"<\|assistant\|>\w+( \[0\.\d+, 0\.\d+)\.",
    "place to look": r'"center": (\[[\d., ]+\]), "factor": 8',
    "line of a cable": r"(\d+: \w+ \[)\w+\. ",
    "who has the colour": r"Asked: \w+ \[(\w+)\. ",
    "what next": r"Asked: \w+ \[\w+\. (<\w+>)",
    "answer": r"<answer>(\w+)<",
}


@torch.no_grad()
def right_steps(policy: Policy, seeds: range) -> dict[str, tuple[int, int]]:
    """Return of each step how many are the likeliest tokens to the last one, and how many there are."""
    found: dict[str, list[bool]] = defaultdict(list)
    for played in unrendered(seeds):
        text = as_text(played.turns)
        coded = policy.tokenizer(
            text, return_offsets_mapping=True, return_tensors="pt", add_special_tokens=False
        )
        ids, places = coded.input_ids[0], coded.offset_mapping[0]
        right = policy.model(input_ids=coded.input_ids).logits[0, :-1].argmax(-1) == ids[1:]
        for name, pattern in _STEPS.items():
            for match in re.finditer(pattern, text):
                begin, end = match.span(1)
                inside = (places[1:, 0] < end) & (places[1:, 1] > begin)
                none = name.startswith("who") and match[1] == START
                found[f"{name}, no one" if none else name].append(bool(right[inside].all()))
    return {name: (sum(each), len(each)) for name, each in found.items()}
