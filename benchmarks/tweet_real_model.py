"""The README's result on a real language model: ``python benchmarks/tweet_real_model.py --runs FOLDER``.

SmolLM2-135M-Instruct learns to reply to tweets: SFT once (`configs/tweet_reply_sft.yaml`), then GRPO once a
seed (`configs/tweet_reply.yaml`), each by the command that a person types. Before, between and after, replies
to the held-out tweets are sampled and scored: by the reward that was paid, by the one that training never
sees (docs/tweet_learned.md), and by how alike they are. What lies in ``--runs`` already is not done again.

Intervals are of 2,000 draws of whole tweets with replacement; differences are paired by tweet.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from tweet_study import replies  # noqa: E402  # pyright: ignore[reportMissingImports]
from tweet_study_report import measure_replies  # noqa: E402  # pyright: ignore[reportMissingImports]

from pixelis.agents.policy import Policy  # noqa: E402
from pixelis.agents.run_folder import write_atomically  # noqa: E402
from pixelis.agents.sampling import SamplingSettings  # noqa: E402
from pixelis.agents.saved_run import newest_adapter  # noqa: E402
from pixelis.rewards.tweet import EvaluationReward, TweetReward  # noqa: E402

HELD_OUT = "splits/seed/held_out.jsonl"
SFT = "runs/tweet-sft"
DRAWS = 2_000
EXAMPLES = 4


def command(script: str, *words: str, runs: Path) -> None:
    """Run one of the project's commands in the folder of the runs."""
    places = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    full = [sys.executable, str(ROOT / "scripts" / script), *words]
    print("$", " ".join([f"scripts/{script}", *words]), flush=True)
    subprocess.run(full, cwd=runs, check=True, env={**os.environ, "PYTHONPATH": places})


def train(runs: Path, seeds: Sequence[int]) -> dict[str, Path | str]:
    """Do what training is not done yet; return name → model or adapter, in the order of the table."""
    runs.mkdir(parents=True, exist_ok=True)
    if not (runs / HELD_OUT).is_file():
        command("split_data.py", "--output", str(Path(HELD_OUT).parent), runs=runs)
    configs = ROOT / "configs"
    if not (runs / SFT / "adapter").is_dir():
        command("train_sft.py", "--config", str(configs / "tweet_reply_sft.yaml"), "--output", SFT, runs=runs)
    models: dict[str, Path | str] = {"base": "smollm2", "sft": runs / SFT / "adapter"}
    for seed in seeds:
        name = f"runs/tweet-seed{seed}"
        if not _is_whole(runs / name):
            words = ["--config", str(configs / "tweet_reply.yaml"), "--seed", str(seed), "--output", name]
            command("train_agent.py", *words, runs=runs)
        models[f"grpo seed {seed}"] = newest_adapter(runs / name)[0]
    return models


def _is_whole(run: Path) -> bool:
    path = run / "evaluation.json"
    return path.is_file() and "after" in json.loads(path.read_text(encoding="utf-8"))


def sampled(name: str, model: Path | str, runs: Path, samples: int) -> list[dict[str, Any]]:
    """Return replies to every held-out tweet, from disk if they were drawn before."""
    path = runs / f"replies-{name.replace(' ', '-')}.json"
    if not path.is_file():
        print(f"sampling replies of {name}", flush=True)
        settings = SamplingSettings(1.0, 1.0, 64)
        rows = replies(Policy.load(model), runs / HELD_OUT, 1_000, samples, settings, 0)
        write_atomically(path, json.dumps(rows, indent=1, ensure_ascii=False))
    return json.loads(path.read_text(encoding="utf-8"))


def score(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is measured of a model's replies, rewards also tweet by tweet.

    All are scored by today's rewards, whatever was paid when they were drawn.
    """
    paid, unseen = TweetReward(), EvaluationReward()
    texts = [[one["text"] for one in row["replies"]] for row in rows]
    totals = paid.score_batch([row["tweet"] for row in rows], texts)
    scored = [
        {
            "replies": [
                {
                    "text": one["text"],
                    "reward": given.total if one["gate"] != "no_answer" else -1.0,
                    "gate": (given.gates or (None,))[0] if one["gate"] != "no_answer" else one["gate"],
                }
                for one, given in zip(row["replies"], group, strict=True)
            ]
        }
        for row, group in zip(rows, totals, strict=True)
    ]
    pairs = [(row["tweet"], text) for row, group in zip(rows, texts, strict=True) for text in group]
    never_seen = np.array(list(unseen(pairs))).reshape(len(rows), -1)
    return {
        "numbers": measure_replies(scored, paid.encoder),
        "robust": [statistics.fmean(one["reward"] for one in row["replies"]) for row in scored],
        "evaluation": never_seen.mean(1).tolist(),
    }


def interval(values: Sequence[float]) -> list[float]:
    """Return the mean of values and the middle 95 % of its draws with replacement."""
    array, rng = np.array(values), np.random.default_rng(0)
    means = array[rng.integers(len(array), size=(DRAWS, len(array)))].mean(1)
    return [float(array.mean()), *np.quantile(means, (0.025, 0.975)).tolist()]


def table(measured: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the docs."""
    head = [
        "model",
        "robust reward",
        "never-seen reward",
        "stopped by a gate",
        "Self-BLEU",
        "distinct-2",
        "Vendi",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, found in measured.items():
        numbers = found["numbers"]
        cells = [_cell(interval(found[reward])) for reward in ("robust", "evaluation")]
        cells.append(f"{numbers['stopped']:.2f}")
        for key in ("self_bleu", "distinct_2", "vendi"):
            cells.append("–" if numbers[key] is None else f"{numbers[key]:.3f}")
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def changes(
    measured: Mapping[str, Mapping[str, Any]], start: str = "sft"
) -> dict[str, dict[str, list[float]]]:
    """Return each GRPO run's difference from where it started: mean and interval of both rewards."""
    return {
        name: {
            reward: interval(np.subtract(found[reward], measured[start][reward]).tolist())
            for reward in ("robust", "evaluation")
        }
        for name, found in measured.items()
        if name.startswith("grpo")
    }


def _cell(values: Sequence[float]) -> str:
    return f"{values[0]:.3f} ({values[1]:.3f}–{values[2]:.3f})"


def examples(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, str]]:
    """Return the first tweets with the first reply of each model: nothing is picked."""
    first = next(iter(rows.values()))
    return [
        {"tweet": row["tweet"], **{name: given[place]["replies"][0]["text"] for name, given in rows.items()}}
        for place, row in enumerate(first[:EXAMPLES])
    ]


def main() -> None:
    """Train, sample, score, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, required=True, help="folder of runs and replies")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--samples", type=int, default=4, help="replies to each tweet")
    parser.add_argument("--json", type=Path, help="file for the numbers and examples")
    options = parser.parse_args()
    models = train(options.runs, options.seeds)
    rows = {name: sampled(name, model, options.runs, options.samples) for name, model in models.items()}
    measured = {name: score(given) for name, given in rows.items()}
    differences = changes(measured)
    print(table(measured))
    for name, rewards in differences.items():
        print(name, "minus sft:", *(f"{reward} {_cell(values)}" for reward, values in rewards.items()))
    if options.json is not None:
        result = {
            "command": "python benchmarks/tweet_real_model.py",
            "samples": options.samples,
            "models": measured,
            "changes": differences,
            "examples": examples(rows),
        }
        options.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
