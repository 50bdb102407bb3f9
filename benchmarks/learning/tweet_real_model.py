"""The README's result on a real model: ``python benchmarks/learning/tweet_real_model.py --runs FOLDER``.

SmolLM2-135M-Instruct learns to reply to tweets: SFT once (`configs/tweet_reply_sft.yaml`), then GRPO once a
seed (`configs/tweet_reply.yaml`), each by the command that a person types. Before, between and after, replies
to the held-out tweets are sampled and scored: by the reward that was paid, by the one that training never
sees (docs/reference/tweet_learned.md), and by how alike they are. What lies in ``--runs`` already is not done
again.

Intervals are of 2,000 draws of whole tweets with replacement; differences are paired by tweet.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from learning_runs import CONFIGS, LearningRuns, arguments, write_result
from result_tables import interval_cell, markdown_table
from tweet_study import replies
from tweet_study_report import measure_replies

from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.envs.tweet.reward import EvaluationReward, TweetReward

SFT, GRPO = CONFIGS / "tweet_reply_sft.yaml", CONFIGS / "tweet_reply.yaml"
HELD_OUT = "splits/seed/held_out.jsonl"
DRAWS = 2_000
EXAMPLES = 4
Rows = Sequence[Mapping[str, Any]]


def sampled(name: str, model: Path | str, runs: LearningRuns, samples: int) -> Rows:
    """Return replies to every held-out tweet, from disk if they were drawn before."""

    def missing(drawn: Rows) -> Iterator[Rows]:
        if not drawn:
            print(f"sampling replies of {name}", flush=True)
            settings = SamplingSettings(1.0, 1.0, 64)
            yield replies(Policy.load(model), runs.path / HELD_OUT, 1_000, samples, settings, 0)

    return runs.rows("replies", name, missing)


def score(rows: Rows) -> dict[str, Any]:
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
    lines = []
    for name, found in measured.items():
        numbers = found["numbers"]
        cells = [interval_cell(*interval(found[reward])) for reward in ("robust", "evaluation")]
        cells.append(f"{numbers['stopped']:.2f}")
        for key in ("self_bleu", "distinct_2", "vendi"):
            cells.append("–" if numbers[key] is None else f"{numbers[key]:.3f}")
        lines.append([name, *cells])
    return markdown_table(head, lines)


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


def examples(rows: Mapping[str, Rows]) -> list[dict[str, str]]:
    """Return the first tweets with the first reply of each model: nothing is picked."""
    first = next(iter(rows.values()))
    return [
        {"tweet": row["tweet"], **{name: given[place]["replies"][0]["text"] for name, given in rows.items()}}
        for place, row in enumerate(first[:EXAMPLES])
    ]


def main() -> None:
    """Train, sample, score, print, write."""
    parser = arguments(__doc__, "replies")
    parser.add_argument("--samples", type=int, default=4, help="replies to each tweet")
    options = parser.parse_args()
    runs = LearningRuns(options.runs)
    if not (runs.path / HELD_OUT).is_file():
        runs.command("split", "split_data.py", "--output", str(Path(HELD_OUT).parent))
    models = runs.train("tweet", SFT, GRPO, options.seeds)
    rows = {name: sampled(name, model, runs, options.samples) for name, model in models.items()}
    measured = {name: score(given) for name, given in rows.items()}
    differences = changes(measured)
    print(table(measured))
    for name, rewards in differences.items():
        print(
            name, "minus sft:", *(f"{reward} {interval_cell(*values)}" for reward, values in rewards.items())
        )
    result = {
        "command": "python benchmarks/learning/tweet_real_model.py",
        "samples": options.samples,
        "models": measured,
        "changes": differences,
        "examples": examples(rows),
    }
    write_result(options.json, result)


if __name__ == "__main__":
    main()
