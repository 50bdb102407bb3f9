"""Measure every scripted policy of ``Pixelis/AskImage-v0`` on every row of a split; print, write JSON.

Usage: python benchmarks/ask_image_baselines.py [--data FILE] [--split test] [--output FILE]

The numbers on the environment's page come from
    python benchmarks/ask_image_baselines.py --output docs/envs/ask_image_baselines.json
    python scripts/env_docs.py
With a file of your own it tells whether your questions need the tools: see ``overview_only``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pixelis.envs.check.playing import play
from pixelis.envs.pixel.ask_image.env import AskImageEnv


@dataclass(frozen=True)
class Row:
    """One policy on all rows of a split.

    Attributes:
        policy: its name.
        difficulty: 0, the only one.
        episodes: how many were played: one a row.
        successes: how many succeeded.
        reward: mean reward.
        turns: mean number of turns.
    """

    policy: str
    difficulty: int
    episodes: int
    successes: int
    reward: float
    turns: float


def measure(env: AskImageEnv, policy: str, split: str) -> Row:
    """Play a policy once on every row of a split."""
    successes, reward, turns = 0, 0.0, 0
    count = env.questions.count(split)
    for index in range(count):
        _, row = env.questions.read(split, index)
        task = {"question": row.question, "answer": row.truth.truth, "data": row.to_data(), "split": split}
        episode = play(env, env.policies()[policy](env), index, {"task": task})
        successes += episode[-1][4]["success"]
        reward += episode[-1][1]
        turns += len(episode) - 1
    return Row(policy, 0, count, successes, reward / count, turns / count)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure AskImage's scripted policies on every row.")
    parser.add_argument(
        "--data", type=Path, help="JSONL file (default: the images that come with the package)"
    )
    parser.add_argument("--split", default="test", choices=("train", "test"))
    parser.add_argument("--reader", default="ocr", choices=("ocr", "truth"))
    parser.add_argument("--output", type=Path, help="write the numbers there as JSON")
    options = parser.parse_args()
    env = AskImageEnv(data=options.data, split=options.split, reader=options.reader)
    rows = []
    for policy in env.policies():
        rows.append(measure(env, policy, options.split))
        print(f"{policy:28} {rows[-1].successes}/{rows[-1].episodes}  {rows[-1].turns:.2f} turns", flush=True)
    if options.output:
        document = {"split": options.split, "reader": options.reader, "rows": [asdict(row) for row in rows]}
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
