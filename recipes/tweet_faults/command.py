"""``scripts/train_tweet_faults.py``: fit what tells the faults of a reply to a tweet."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from pixelis.cli import run_command
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.worse_replies import worse_sentences
from pixelis.envs.tweet.learned.faults import PROBE, FaultModel, fault_features, save_faults
from pixelis.envs.tweet.learned.features import embedded_pairs
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.errors import ConfigError
from pixelis.rewards.text.encoders import CachedEncoder
from tweet_faults.cases import FAULTY, FaultCase, fault_cases, load_faulty
from tweet_faults.fitting import fit_faults

POSTS = 128
"""A reply is compared with so many: steps of less than a hundredth, for 197 kB."""
DESCRIPTION = """\
Fit the heads that tell insults, the wrong tone, the voice of false claims, replies off the topic and stock
sentences (docs/reference/tweet_learned.md). Without --cases, to those of the recipe; the result is what
ships."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_train, words)


def _train(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("train_tweet_faults.py", description=DESCRIPTION)
    parser.add_argument("--output", type=Path, required=True, help="folder for the heads")
    parser.add_argument(
        "--cases",
        type=Path,
        default=FAULTY,
        help="JSONL of reply, kind (good, rude, insult, tone_deaf, untrue), tweet, topic",
    )
    parser.add_argument("--seed", type=int, default=0, help="decides derived cases and folds")
    options = parser.parse_args(words)
    if not 0 <= options.seed < 2**32:
        raise ConfigError(f"--seed: expected 0 to {2**32 - 1}, got {options.seed}")
    started = time.process_time()
    model = fit_cases(read_cases(options.cases, options.seed), options.seed)
    save_faults(model, options.output)
    print("| fault | cases | AUC, unseen groups |\n|---|---|---|")
    for fault, value in model.facts["auc_unseen_groups"].items():
        print(f"| {fault} | {model.facts['cases'][fault]} | {value:.3f} |")
    seconds = time.process_time() - started
    print(
        f"{model.facts['cases']['good']} good; {seconds:.0f} s of processor time; heads in {options.output}"
    )
    return 0


def read_cases(path: Path, seed: int) -> list[FaultCase]:
    """Return the cases of a file, and what follows from them and the package's tweets of the split ``train``.

    Raises:
        DatasetError: the file has bad rows.
    """
    rows = [row for _, row in TweetFile(SEED_TWEETS).rows() if row.split == "train"]
    return fault_cases(load_faulty(path), rows, worse_sentences(), seed)


def posts_of(cases: Sequence[FaultCase], seed: int) -> list[str]:
    """Return `POSTS` tweets of the cases, or all if there are fewer: with which replies are compared."""
    tweets = sorted({ReadText(one.tweet).for_encoder for one in cases if one.tweet})
    return sorted(np.random.default_rng(seed).permutation(tweets)[:POSTS].tolist())


def fit_cases(cases: Sequence[FaultCase], seed: int) -> FaultModel:
    """Return heads fitted to cases, with the shipped encoder.

    Raises:
        MissingDependencyError: a package of the extra ``text`` is not installed.
    """
    encoder = CachedEncoder("minilm", capacity=50_000)
    pairs = [(one.tweet, one.reply) for one in cases]
    features = fault_features(*embedded_pairs(encoder, pairs))
    kinds, groups = [one.fault for one in cases], [one.group for one in cases]
    probe, posts = encoder([PROBE])[0], encoder(posts_of(cases, seed))
    model = fit_faults(features, kinds, groups, probe=probe, posts=posts, encoder=encoder.name, seed=seed)
    digest = hashlib.sha256(json.dumps([asdict(one) for one in cases]).encode()).hexdigest()
    return replace(model, facts={**model.facts, "data_sha256": digest})
