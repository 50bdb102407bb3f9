"""What packing saves in SFT: ``python benchmarks/speed/sft_packing.py [--steps 10]``.

One random Qwen2-type model (that of grpo_speed.py), one file of chats whose answers have 4 to 400 tokens,
most of them few (log-normal, median 40). Two supervised runs in one process take turns, step by step, on the
same demonstrations: padded, and packed into rows of ``--row`` tokens. Printed: median CPU and wall seconds a
step with their range, demonstrated tokens a CPU second, and the share of read tokens that is not padding.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from grpo_speed import build_model, prompt_of  # pyright: ignore[reportMissingImports]

from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.run import SftRun

WARM_UP = 2
TOLD = ("tokens/demonstrated", "tokens/fill", "train/loss")


def write_chats(path: Path, count: int) -> None:
    """Write chats of random letters, a letter a token."""
    draw = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for index in range(count):
            answer = min(400, max(4, round(draw.lognormvariate(3.7, 0.9))))
            asked = {"role": "user", "content": prompt_of(index, 16)}
            told = {"role": "assistant", "content": prompt_of(-1 - index, answer)}
            file.write(json.dumps({"messages": [asked, told]}) + "\n")


def measure(folder: Path, steps: int, batch: int, row: int) -> dict[str, list[dict[str, float]]]:
    """Let both ways take turns; return the cost of their steps."""
    build_model(folder / "model", "tiny", 512)
    write_chats(folder / "chats.jsonl", batch * 8)
    common: dict[str, Any] = {"model": str(folder / "model"), "data": str(folder / "chats.jsonl")}
    common |= {"lora": {"rank": 8}, "batch_size": batch, "steps": steps + WARM_UP}
    common |= {"held_out": 0.0, "lr": 1e-4}
    ways = {"padded": {"packing": False}, f"packed to {row}": {"packing": True, "pack_length": row}}
    runs = {
        name: SftRun.start(SftConfig(**common, **settings, output=str(folder / name), eval_episodes=0))
        for name, settings in ways.items()
    }
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
    for number in range(1, steps + WARM_UP + 1):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            step = run.trainer.take_step(number)
            cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
            costs[name].append({**cost, **{key: float(step[key] or 0) for key in TOLD}})
    for run in runs.values():
        run.close()
    return {name: rows[WARM_UP:] for name, rows in costs.items()}


def table(costs: dict[str, list[dict[str, float]]]) -> str:
    """Return the medians as Markdown."""
    lines = ["| | CPU s a step | wall s | tokens a CPU s | fill |", "|---|---|---|---|---|"]
    for name, rows in costs.items():
        cpu, wall = ([row[key] for row in rows] for key in ("cpu", "wall"))
        speed = sum(row["tokens/demonstrated"] for row in rows) / sum(cpu)
        fill = statistics.fmean(row["tokens/fill"] for row in rows)
        spans = [f"{statistics.median(x):.2f} ({min(x):.2f}–{max(x):.2f})" for x in (cpu, wall)]
        lines.append(f"| {name} | {spans[0]} | {spans[1]} | {speed:.0f} | {fill:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Time SFT steps with and without packing.")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32, help="demonstrations a step")
    parser.add_argument("--row", type=int, default=512, help="tokens of a packed row")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        costs = measure(Path(folder), arguments.steps, arguments.batch, arguments.row)
    losses = [[row["train/loss"] for row in rows] for rows in costs.values()]
    print(table(costs))
    print(f"largest difference in loss: {max(abs(a - b) for a, b in zip(*losses, strict=True)):.1e}")


if __name__ == "__main__":
    main()
