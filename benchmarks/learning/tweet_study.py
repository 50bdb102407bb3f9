"""The quality-diversity study of replies to tweets: train each paradigm, sample replies, write the report.

    python benchmarks/learning/tweet_study.py --output runs/tweet_study [--model MODEL] [--seeds 0 1 2]
    [--steps N] [--paradigms NAME ...] [--smoke]

Each paradigm is a configuration in configs/tweet/, trained by the command that a person would type, from the
tweets of its phase (`scripts/split_data.py`: SFT, GRPO, held out). Then replies to the held-out tweets are
sampled and measured. What is finished is not done again: call it as often as it takes, or with more seeds.

The folder gets ``report.md`` (the table), ``study.json`` (all numbers), ``pareto.png`` and ``.svg``,
``diversity.*`` (over training) and ``lora_norms.*``; below ``data/`` the phases, and below
``runs/PARADIGM/seedN/`` each run with its ``samples.jsonl``. docs/guide/tweet_training.md explains the
columns.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tweet_study_report import Paradigm, write_report

from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.checkpoint import step_of
from pixelis.agents.run_files.saved_run import ADAPTER, checkpoint_of, settings_of
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.split import SplitSettings
from pixelis.envs.tweet.data.split_folder import write_split
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.tweet_reply.env import TweetReplyEnv
from pixelis.envs.tweet.tweet_reply.tasks import task_of_row
from pixelis.errors import CheckpointError, ConfigError, PixelisError, suggest
from pixelis.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs" / "tweet"
SAMPLES = "samples.jsonl"
_AT_ONCE = 64  # episodes that are sampled together
SMOKE = {"steps": 2, "sft_steps": 2, "tweets": 3, "samples": 4, "seeds": [0]}
SMOKE_WORDS = ["--max-new-tokens", "24"]
SMOKE_SFT = [*SMOKE_WORDS, "--demonstrations", "8", "--batch-size", "4"]
SMOKE_SFT += ["--diversity.measure", "ngrams", "--diversity.prompts", "2"]
SMOKE_GRPO = [*SMOKE_WORDS, "--diversity", "ngrams", "--groups", "2"]


PARADIGMS = {
    each.name: each
    for each in (
        Paradigm("base", "none"),
        Paradigm("sft", "sft", one_of_six=True),
        Paradigm("polychromic_sft", "sft", one_of_six=True),
        Paradigm("sft_conservative", "sft", one_of_six=True),
        Paradigm("polychromic_sft_conservative", "sft", one_of_six=True),
        Paradigm("grpo_from_sft", "grpo", "sft", one_of_six=True),
        Paradigm("grpo_from_polychromic", "grpo", "polychromic_sft", one_of_six=True),
        Paradigm("grpo_from_base", "grpo"),
        Paradigm("polychromic_grpo_from_sft", "grpo", "sft"),
        Paradigm("gdpo_from_sft", "grpo", "sft"),
        Paradigm("grpo_bonus_from_sft", "grpo", "sft"),
        Paradigm("grpo_from_sft_conservative", "grpo", "sft"),
        Paradigm("grpo_from_polychromic_conservative", "grpo", "polychromic_sft"),
    )
}


@dataclass(frozen=True)
class Study:
    """What is asked for.

    Attributes:
        output: the folder.
        model: what is trained.
        seeds: one run of each paradigm for each.
        paradigms: names.
        steps: optimiser steps of GRPO; None: those of the configuration.
        sft_steps: likewise of SFT.
        tweets: held-out tweets that are replied to, the first ones.
        samples: replies to each.
        words: kind of paradigm → what else its command is given.
    """

    output: Path
    model: str
    seeds: Sequence[int]
    paradigms: Sequence[str]
    steps: int | None
    sft_steps: int | None
    tweets: int
    samples: int
    words: Mapping[str, Sequence[str]]

    def folder(self, name: str, seed: int) -> Path:
        """Return where a run is."""
        return self.output / "runs" / name / f"seed{seed}"


def with_starts(names: Iterable[str]) -> list[str]:
    """Return paradigms and those they start from, each after its start.

    Raises:
        ConfigError: there is none such.
    """
    found: dict[str, None] = {}
    for name in names:
        if name not in PARADIGMS:
            raise ConfigError(f"there is no paradigm {name!r}.{suggest(name, PARADIGMS)}")
        start = PARADIGMS[name].start
        found |= {start: None, name: None} if start else {name: None}
    return list(found)


def command_words(study: Study, paradigm: Paradigm, seed: int) -> list[str]:
    """Return the words of the command that trains a paradigm."""
    data = study.output / "data"
    model = study.model
    if paradigm.start:
        model = str(checkpoint_of(study.folder(paradigm.start, seed)) / ADAPTER)
    words = ["--config", str(CONFIGS / f"{paradigm.name}.yaml"), "--model", model, "--seed", str(seed)]
    words += ["--env-kwargs.data", str(data / f"{paradigm.kind}.jsonl")]
    words += ["--env-kwargs.held_out", str(data / "held_out.jsonl")]
    words += ["--output", str(study.folder(paradigm.name, seed))]
    steps = study.sft_steps if paradigm.kind == "sft" else study.steps
    words += [] if steps is None else ["--steps", str(steps)]
    return [*words, *study.words.get(paradigm.kind, ())]


def train(study: Study, paradigm: Paradigm, seed: int) -> None:
    """Train a paradigm by its command, unless that is done; go on with a run that was cut off.

    Raises:
        PixelisError: the command failed; it has said why.
    """
    main = _command(paradigm.kind)
    folder = study.folder(paradigm.name, seed)
    if (folder / "finished.json").is_file():
        return
    words = command_words(study, paradigm, seed)
    try:
        checkpoint_of(folder)
        words = ["--resume", str(folder)]
    except CheckpointError:
        pass  # there is nothing to go on with
    print(f"== {paradigm.name}, seed {seed}", flush=True)
    code = main(words)
    if code:
        raise PixelisError(f"training {paradigm.name} with seed {seed} stopped with code {code}")
    done = {"step": step_of(checkpoint_of(folder)), "settings": settings_of(folder)}
    write_atomically(folder / "finished.json", json.dumps(done, indent=1, default=str) + "\n")


def _command(kind: str) -> Callable[[Sequence[str]], int]:
    if kind == "sft":
        from pixelis.cli.sft import main
    else:
        from pixelis.cli.train import main
    return main


def sample(study: Study, paradigm: Paradigm, seed: int) -> None:
    """Sample replies to the held-out tweets into the run's ``samples.jsonl``, unless they are there."""
    folder = study.folder(paradigm.name, seed)
    path = folder / SAMPLES
    asked = {"tweets": study.tweets, "samples": study.samples}
    if path.is_file() and json.loads(path.read_text(encoding="utf-8").partition("\n")[0]) == asked:
        return
    model = study.model if paradigm.kind == "none" else checkpoint_of(folder) / ADAPTER
    policy = Policy.load(model)
    print(f"== replies of {paradigm.name}, seed {seed}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    held_out = study.output / "data" / "held_out.jsonl"
    settings = sampling_settings(study)
    rows = [asked, *replies(policy, held_out, study.tweets, study.samples, settings, seed)]
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows))


def replies(
    policy: Policy, held_out: Path, tweets: int, samples: int, settings: SamplingSettings, seed: int
) -> list[dict[str, Any]]:
    """Return one row for each of the first held-out tweets: the replies, their rewards and gates."""
    tasks = [task_of_row(row, line) for line, row in TweetFile.open(held_out).rows()][:tweets]
    rows: list[dict[str, Any]] = []
    step = max(1, _AT_ONCE // samples)
    with Collector(lambda: TweetReplyEnv(data=held_out, split="test", max_turns=1)) as collector:
        for first in range(0, len(tasks), step):
            asked = tasks[first : first + step]
            requests = [
                EpisodeRequest(seed, group, member, {"task": task.to_json()})
                for group, task in enumerate(asked)
                for member in range(samples)
            ]
            played = collector.collect(policy, requests, settings, seed + first)
            for group, task in enumerate(asked):
                own = played[group * samples : (group + 1) * samples]
                rows.append({"task": task.id, "tweet": task.data["tweet"], "replies": list(map(_reply, own))})
    return rows


def sampling_settings(study: Study) -> SamplingSettings:
    """Return how replies are sampled, the same for all: as GRPO samples them."""
    from pixelis.cli.train import COMMAND as TRAIN

    words = ["--config", str(CONFIGS / "grpo_from_base.yaml"), *study.words.get("grpo", ())]
    config: Any = TRAIN.read(words)[0]
    return SamplingSettings(config.temperature, config.top_p, config.max_new_tokens)


def _reply(episode: Any) -> dict[str, Any]:
    if not episode.valid_for_training:
        raise PixelisError(f"an episode failed: {episode.failure_reason}")
    given = episode.info["replies"]
    return {
        "text": given[0]["text"] if given else "",
        "gate": given[0]["gate"] if given else "no_answer",
        "reward": episode.reward,
    }


def arguments() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    keep_lines = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=keep_lines)
    parser.add_argument("--output", type=Path, required=True, help="folder for everything")
    parser.add_argument("--model", default="pixelis-tiny", help="what is trained (default pixelis-tiny)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--paradigms", nargs="+", default=list(PARADIGMS), metavar="NAME")
    parser.add_argument("--steps", type=int, help="steps of GRPO (default: the configuration's)")
    parser.add_argument("--sft-steps", type=int, help="steps of SFT (default: the configuration's epochs)")
    parser.add_argument("--tweets", type=int, default=48, help="held-out tweets replied to (default 48)")
    parser.add_argument("--samples", type=int, default=16, help="replies to each (default 16)")
    parser.add_argument("--sft-words", default="", help="more for train_sft.py, e.g. '--lr 1e-3'")
    parser.add_argument("--grpo-words", default="", help="more for train_agent.py")
    parser.add_argument("--smoke", action="store_true", help="two steps, three tweets, seed 0: does it run?")
    return parser


def study_of(options: argparse.Namespace) -> Study:
    """Return what the command line asks for.

    Raises:
        ConfigError: there is no such paradigm, or a number is too small.
    """
    values = vars(options) | (SMOKE if options.smoke else {})
    sft = [*(SMOKE_SFT if options.smoke else []), *options.sft_words.split()]
    grpo = [*(SMOKE_GRPO if options.smoke else []), *options.grpo_words.split()]
    if values["samples"] < 2 or values["tweets"] < 1:
        raise ConfigError(
            f"a study needs at least 2 samples and 1 tweet, got {values['samples']} and {values['tweets']}"
        )
    return Study(
        options.output,
        options.model,
        values["seeds"],
        with_starts(options.paradigms),
        values["steps"],
        values["sft_steps"],
        values["tweets"],
        values["samples"],
        {"sft": sft, "grpo": grpo},
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the study; return the exit status."""
    options = arguments().parse_args(words)
    try:
        study = study_of(options)
        write_split(SEED_TWEETS, study.output / "data", SplitSettings())
        for seed in study.seeds:
            for name in study.paradigms:
                paradigm = PARADIGMS[name]
                if paradigm.kind != "none":
                    train(study, paradigm, seed)
                sample(study, paradigm, seed)
        runs = {name: [study.folder(name, seed) for seed in study.seeds] for name in study.paradigms}
        print(write_report(runs, PARADIGMS, study.output))
    except PixelisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
