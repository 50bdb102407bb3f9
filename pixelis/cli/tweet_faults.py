"""``scripts/train_tweet_faults.py``: fit what tells the faults of a reply to a tweet."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.envs.tweet.data.faulty_replies import FAULTY, FaultCase, fault_cases, load_faulty
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.worse_replies import worse_sentences
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from pixelis.envs.tweet.learned.faults import FaultModel

PROGRAM = "train_tweet_faults.py"
DESCRIPTION = """\
Fit the heads that tell insults, the wrong tone, the voice of false claims, replies off the topic and stock
sentences (docs/tweet_learned.md). Without --cases, to the package's; the result is what the package ships."""
EXAMPLES = """\
examples:
  train_tweet_faults.py --output runs/faults
  train_tweet_faults.py --output runs/faults --cases mine.jsonl"""
DATA, FIT = "Data", "Fit"


class FaultSettings(Settings):
    """The flags of ``train_tweet_faults.py``."""

    output: str | None = setting(None, "folder for the heads")
    cases: str | None = setting(
        None,
        "JSONL of reply, kind (good, rude, insult, tone_deaf, untrue), tweet, topic; none: the package's",
    )
    seed: int = setting(0, "decides derived cases and folds", ge=0, le=4294967295)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_train, words)


def _train(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, FaultSettings, EXAMPLES).read(words)
    if settings.output is None:
        raise ConfigError("--output is needed: a folder for the heads")
    started = time.process_time()
    cases = read_cases(Path(settings.cases) if settings.cases else FAULTY, settings.seed)
    model = fit_cases(cases, settings.seed)

    from pixelis.envs.tweet.learned.faults import save_faults

    save_faults(model, Path(settings.output))
    print("| fault | cases | AUC, unseen groups |\n|---|---|---|")
    for fault, value in model.facts["auc_unseen_groups"].items():
        print(f"| {fault} | {model.facts['cases'][fault]} | {value:.3f} |")
    seconds = time.process_time() - started
    print(
        f"{model.facts['cases']['good']} good; {seconds:.0f} s of processor time; heads in {settings.output}"
    )
    return 0


def read_cases(path: Path, seed: int) -> list[FaultCase]:
    """Return the cases of a file, and what follows from them and the package's tweets of the split ``train``.

    Raises:
        DatasetError: the file has bad rows.
    """
    rows = [row for _, row in TweetFile(SEED_TWEETS).rows() if row.split == "train"]
    return fault_cases(load_faulty(path), rows, worse_sentences(), seed)


def fit_cases(cases: Sequence[FaultCase], seed: int) -> FaultModel:
    """Return heads fitted to cases, with the shipped encoder.

    Raises:
        MissingDependencyError: a package of the extra ``text`` is not installed.
    """
    from pixelis.envs.tweet.learned.fault_fitting import fit_faults
    from pixelis.envs.tweet.learned.faults import PROBE
    from pixelis.envs.tweet.learned.features import FaultFeatures
    from pixelis.rewards.text.encoders import CachedEncoder

    encoder = CachedEncoder("minilm", capacity=50_000)
    features = FaultFeatures(encoder)([(one.tweet, one.reply) for one in cases])
    kinds, groups = [one.fault for one in cases], [one.group for one in cases]
    probe = encoder([PROBE])[0]
    model = fit_faults(features, kinds, groups, probe=probe, encoder=encoder.name, seed=seed)
    digest = hashlib.sha256(json.dumps([asdict(one) for one in cases]).encode()).hexdigest()
    return replace(model, facts={**model.facts, "data_sha256": digest})
