"""Measure what keeping keys and values across turns saves, by counter and by clock.

Usage: python benchmarks/speed/multi_turn.py [--turns 8] [--members 8] [--groups 4]

Both ways of `pixelis.agents.rollout.decoding` play the same episodes with a random model: one keeps what was
read and reads a prompt once for its group, the other reads every history from its start at every turn, as a
trainer does that renders the chat again. Printed: tokens read, CPU seconds at one thread (median of the
repeats), and whether the sampled tokens are the same.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from grpo_speed import build_model, prompt_of

from pixelis.agents.episodes.episode import Segment
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.decoding import Decoder
from pixelis.agents.rollout.sampling import SamplingSettings

READ = 24  # tokens of what follows a turn


def play(policy: Policy, options: argparse.Namespace) -> tuple[list[list[int]], int, float]:
    """Play all turns; return the sampled tokens, the tokens read and the CPU seconds."""
    start, chat = time.process_time(), policy.chat
    decoder, rng = Decoder(policy), np.random.default_rng(0)
    prompts = [
        Segment.given(chat.tokenizer(prompt_of(group, options.prompt)).input_ids)
        for group in range(options.groups)
    ]
    decoder.start(prompts, [options.members] * options.groups)
    rows = options.groups * options.members
    sampled: list[list[int]] = [[] for _ in range(rows)]
    settings = SamplingSettings(max_new_tokens=options.completion)
    for turn in range(options.turns):
        written = decoder.write(rng.random((rows, options.completion)), settings)
        for tokens, segment in zip(sampled, written, strict=True):
            tokens += segment.tokens.tolist()
        if turn + 1 < options.turns:
            ids = [chat.tokenizer(prompt_of(1000 * turn + row, READ)).input_ids for row in range(rows)]
            decoder.read([Segment.given(each) for each in ids], written)
    return sampled, decoder.stats.prefilled_tokens, time.process_time() - start


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the cache across turns.")
    for name, value in (("turns", 8), ("groups", 4), ("members", 8), ("prompt", 64), ("completion", 24)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        build_model(Path(folder), "tiny", 4096)
        policy = Policy.load(folder, device="cpu")
    print("| way | tokens read | CPU s, median | range |\n|---|---|---|---|")
    results = {}
    for name, shares in (("keys and values kept", True), ("history read again", False)):
        policy.shares_prefixes = shares
        runs = [play(policy, options) for _ in range(options.repeats)]
        seconds = [run[2] for run in runs]
        results[name] = runs[0][0], runs[0][1], statistics.median(seconds)
        print(f"| {name} | {runs[0][1]} | {results[name][2]:.2f} | {min(seconds):.2f}–{max(seconds):.2f} |")
    (tokens, read, seconds), (others, read_again, longer) = results.values()
    same = sum(a == b for a, b in zip(tokens, others, strict=True))
    print(f"tokens read ÷ {read_again / read:.1f}, CPU ÷ {longer / seconds:.1f}")
    print(f"{same} of {len(tokens)} rows sampled the same tokens")


if __name__ == "__main__":
    main()
