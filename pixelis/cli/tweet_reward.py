"""``scripts/train_tweet_reward.py``: fit a reward model to preferences, and one for evaluation only."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.envs.tweet.data.preference_parts import PreferenceParts, derive_parts, split_preferences
from pixelis.envs.tweet.data.preferences import LabelledReply, Preference, load_labelled, load_preferences
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.tweet_text import normalised_text
from pixelis.envs.tweet.data.worse_replies import worse_sentences
from pixelis.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from pixelis.envs.tweet.learned.model import PreferenceModel

PROGRAM = "train_tweet_reward.py"
DESCRIPTION = """\
Fit two reward models to preferences between replies, on tweets and authors that they do not share: one to
train policies on (OUTPUT/training) and one for evaluation only (OUTPUT/evaluation). What they see is told in
docs/reference/tweet_learned.md. Without --preferences, these are derived from tweets with good replies."""
EXAMPLES = """\
examples:
  train_tweet_reward.py --output runs/reward --held-out benchmarks/data/tweet_pairs.jsonl
  train_tweet_reward.py --output runs/reward --preferences mine.jsonl
  train_agent.py --env Pixelis/TweetReply-v0 --env-kwargs.reward hybrid \\
    --env-kwargs.reward_model runs/reward/training \\
    --watch.scores.tweet_evaluation '{reward_model: runs/reward/evaluation}'"""
DATA, FIT = "Data", "Fit"


class RewardModelSettings(Settings):
    """The flags of ``train_tweet_reward.py``."""

    output: str | None = setting(None, "folder for the models training and evaluation")
    preferences: str | None = setting(None, "JSONL of tweet, chosen, rejected; author, topic, kind if known")
    tweets: str | None = setting(
        None, "JSONL or CSV of tweets with good replies to derive them from; null: the package's"
    )
    held_out: str | None = setting(
        None, "JSONL of tweet, reply, label (good, bad) to measure on; never fitted"
    )
    seed: int = setting(0, "decides parts, derived pairs, weights and order", ge=0, le=4294967295)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.preferences and self.tweets:
            raise ConfigError("--preferences and --tweets exclude each other; give the preferences alone")
        return self


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_train, words)


def _train(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, RewardModelSettings, EXAMPLES).read(words)
    if settings.output is None:
        raise ConfigError("--output is needed: a folder for the models")
    held_out = load_labelled(Path(settings.held_out)) if settings.held_out else []
    parts = read_parts(settings)
    check_apart(parts, held_out)
    started = time.process_time()
    models = fit_both(parts, settings.seed)
    seconds = time.process_time() - started

    from pixelis.envs.tweet.learned.model import save_model

    for role, model in models.items():
        save_model(model, Path(settings.output) / role)
    for line in _report(models, held_out, settings.output):
        print(line)
    print(f"fitted in {seconds:.0f} s of processor time; everything is in {settings.output}")
    return 0


def read_parts(settings: RewardModelSettings) -> PreferenceParts:
    """Return the preferences in four parts; of tweets those of the split ``train``.

    Raises:
        DatasetError: a file has bad rows, or too few.
    """
    if settings.preferences:
        return split_preferences(load_preferences(Path(settings.preferences)), settings.seed)
    tweets = TweetFile(Path(settings.tweets or SEED_TWEETS))
    rows = [row for _, row in tweets.rows() if row.split == "train"]
    return derive_parts(rows, worse_sentences(), settings.seed)


def check_apart(parts: PreferenceParts, held_out: Sequence[LabelledReply]) -> None:
    """Check that no tweet to be measured on is among those to be fitted to.

    Raises:
        DatasetError: one is, by its normalised text.
    """
    known = {normalised_text(one.tweet) for part in vars(parts).values() for one in part}
    for row in held_out:
        if normalised_text(row.tweet) in known:
            raise DatasetError(
                f"expected held-out tweets that are not among the preferences, got {row.tweet[:60]!r} in "
                "both; remove it from one of the files"
            )


def fit_both(parts: PreferenceParts, seed: int) -> dict[str, PreferenceModel]:
    """Return role → model, each fitted to its own parts.

    Raises:
        MissingDependencyError: a package of the extra ``text`` is not installed.
    """
    from pixelis.envs.tweet.learned.features import SentenceFeatures, SurfaceFeatures
    from pixelis.envs.tweet.learned.fitting import FitSettings
    from pixelis.envs.tweet.learned.training import train_model
    from pixelis.rewards.text.encoders import CachedEncoder

    encoder = CachedEncoder("minilm", capacity=50_000)
    given = {
        "training": (parts.train, parts.dev, SentenceFeatures(encoder), encoder.name),
        "evaluation": (parts.evaluation_train, parts.evaluation_dev, SurfaceFeatures(), ""),
    }
    models = {}
    for role, (train, dev, features, name) in given.items():
        model = train_model(
            _triples(train), _triples(dev), features, FitSettings(seed=seed), role=role, encoder=name
        )
        models[role] = replace(model, facts={**model.facts, "data_sha256": _digest(train, dev)})
    return models


def _triples(pairs: Sequence[Preference]) -> list[tuple[str, str, str]]:
    return [(one.tweet, one.chosen, one.rejected) for one in pairs]


def _digest(*parts: Sequence[Preference]) -> str:
    return hashlib.sha256(json.dumps([_triples(part) for part in parts]).encode()).hexdigest()


def _report(
    models: Mapping[str, PreferenceModel], held_out: Sequence[LabelledReply], output: str
) -> list[str]:
    lines = []
    for role, model in models.items():
        facts: Mapping[str, Any] = model.facts
        lines.append(
            f"{role}: {facts['pairs']} pairs, {facts['dev_pairs']} dev; {facts['epochs']} epochs; "
            f"temperature {model.temperature:.2f}; dev: {_shown(facts['dev'])}"
        )
    if not held_out:
        return [*lines, "nothing held out was measured; give --held-out"]

    from pixelis.envs.tweet.reward.held_out import kinds_table, measure, score_rows

    rows = [(one.tweet, one.reply, one.good) for one in held_out]
    scores = score_rows(output, rows)
    lines += [f"held out, {name}: {_shown(numbers)}" for name, numbers in measure(scores, rows).items()]
    return [*lines, *kinds_table(scores, rows, [one.kind for one in held_out])]


def _shown(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in numbers.items())
