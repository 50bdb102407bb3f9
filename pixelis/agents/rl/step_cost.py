"""What a training step will cost, before it costs: seconds, tokens and memory by part, from a short probe.

The probe takes steps of a few groups for real (the model is loaded, played with and trained, and thrown
away), the first of which is not counted: it pays for what is loaded at first use. What a whole step costs is
then a line through what was seen:

    generation      a + b · groups: a turn has as many forward passes as its longest row, whatever the rows
    environments,   c · groups
    rewards
    update          d · tokens of the episodes trained on: gradient, reference and the KL of the step

Where whole steps fit into the probe they are what is told. All of it is what this process needs alone: what
workers save is not modelled.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.parts import TrainingParts
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rl.trainer import Trainer
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.levels import ReplayedLevels, SflLevels
from pixelis.agents.settings.rl import Grpo, TrainConfig, chosen_correction, replayed
from pixelis.agents.settings.run_settings import AUTO
from pixelis.agents.settings.workers import OF_WORKERS

SECONDS = 10.0
"""How long the probe may take, after its first step."""
TRIES = 3
"""Probes at most while no group has a difference that there is something to learn from."""
_PER_GROUP = {"environments": "time/env", "rewards": "time/rewards"}
_PER_TOKEN = {"reference": "time/reference", "update": "time/update", "step KL": "time/step_kl"}


@dataclass(frozen=True)
class Probe:
    """What a step of some groups was.

    Attributes:
        groups: how many.
        row: its metrics.
        whole: tokens of all its valid episodes, each with its prompt.
        kept: tokens whose keys and values are kept at the end, which is the most there are.
    """

    groups: int
    row: Row
    whole: int
    kept: int

    def seconds(self, metric: str) -> float:
        """Return a time in seconds, 0 where the step had none; the update without the KL of the step."""
        within = self.seconds("time/step_kl") if metric == "time/update" else 0.0
        return float(self.row.get(metric) or 0.0) - within

    @property
    def trained(self) -> int:
        """Of the whole tokens those of episodes that were trained on."""
        return int(self.row.get("tokens/trained_unshared") or 0) if self.row.get("policy/grad_norm") else 0

    @property
    def read(self) -> int:
        """Tokens in the gradient's forward passes, which read a common prompt once."""
        return int(self.row.get("tokens/trained") or 0) if self.trained else 0


@dataclass(frozen=True)
class StepCost:
    """What a step will cost.

    Attributes:
        probes: what was measured.
        groups: of a step.
        seconds: by part, where all groups are trained on.
        signal: share of the groups of the probe with a difference to learn from; the others cost no update.
        tokens: ``sampled``, ``prefilled`` and ``trained`` (all groups).
        memory: bytes by part.
        passes: forward passes of a step by what they are for.
    """

    probes: Sequence[Probe]
    groups: int
    seconds: Mapping[str, float]
    signal: float
    tokens: Mapping[str, float]
    memory: Mapping[str, float]
    passes: Mapping[str, int]

    @property
    def is_measured(self) -> bool:
        """Whether whole steps were taken."""
        return self.probes[-1].groups == self.groups

    @property
    def most_seconds(self) -> float:
        """Of a step in which every group is trained on."""
        return sum(self.seconds.values())

    @property
    def likely_seconds(self) -> float:
        """Of a step with as many groups to train on as in the probe."""
        update = sum(self.seconds[name] for name in _PER_TOKEN)
        return self.most_seconds - (1 - self.signal) * update


def step_cost(config: TrainConfig, seconds: float = SECONDS) -> StepCost:
    """Load the model, probe for some seconds, and return what a step will cost; nothing is left on disk.

    Raises:
        PixelisError: what `TrainingRun.start` would raise.
    """
    env, _ = TrainingRun.opened_env(config)
    config = TrainingRun.choose_model(config, env)
    policy = TrainingRun.load_policy(config, None)
    config = at_random(in_one_process(TrainingRun.settle(config, policy)))
    assert env is not None  # it is a required setting
    with tempfile.TemporaryDirectory(prefix="pixelis-probe-") as folder:
        probing = _Probing(config, env, policy, Path(folder))
        return probing.cost(seconds)


def in_one_process(config: TrainConfig) -> TrainConfig:
    """Return settings without workers, and otherwise with the same work in a step."""
    if config.workers is None:
        return config
    fields = TrainConfig.model_fields
    values = {name: fields[name].get_default(call_default_factory=True) for name in ("workers", *OF_WORKERS)}
    if config.loss.correction.type == "auto":  # it goes by how old the weights are that play
        values["loss"] = {"correction": chosen_correction(config)}
    return config.with_values(**values)


def at_random(config: TrainConfig) -> TrainConfig:
    """Return settings under which a step plays and trains on the levels of its groups, and on no others."""
    levels = config.levels
    if not isinstance(levels, (ReplayedLevels, SflLevels)):
        return config
    kept = {name: getattr(levels, name) for name in ("dials", "oracle")}
    return config.with_values(levels={"type": "uniform", **kept})


class _Probing:
    """Steps of some groups, each of a trainer of its own on the same policy."""

    def __init__(self, config: TrainConfig, env: TaskEnv, policy: Policy, folder: Path) -> None:
        self.config, self.env, self.policy, self.folder = config, env, policy, folder
        self.count = 0

    def take(self, groups: int) -> Probe:
        """Take a step of so many groups, with tasks that no other probe had."""
        self.count += 1
        values = {"groups": groups, "output": str(self.folder / str(self.count)), **self._algorithm(groups)}
        config = self.config.with_values(**values, seed=self.config.seed + self.count - 1)
        run = RunFolder.create(str(config.output), config.to_mapping())
        trainer = Trainer(config, self.policy, self.env, run, TrainingParts.of(config, self.env))
        try:
            row, episodes, _ = trainer.step()
        finally:
            trainer.close()
        valid = [each for each in episodes if each.valid_for_training]
        return Probe(groups, row, sum(map(len, valid)), kept_tokens(valid))

    def _algorithm(self, groups: int) -> dict[str, Any]:
        """Return the settings by which so many groups are refilled and replayed by their share."""
        algorithm = self.config.algorithm
        if not isinstance(algorithm, Grpo) or groups == self.config.groups:
            return {}
        values = algorithm.model_dump()
        if algorithm.refill_episodes:
            values["refill_episodes"] = math.ceil(algorithm.refill_episodes * groups / self.config.groups)
        if algorithm.replay is not None and not replayed(self.config, groups):
            values["replay"] = None
        return {"algorithm": values}

    def cost(self, seconds: float) -> StepCost:
        """Probe and say what a step of the settings costs."""
        self.take(1)
        start, groups = time.perf_counter(), self.config.groups
        probes = [self.take(1)]
        one = time.perf_counter() - start
        if groups > 1:
            probes.append(self.take(min(groups, max(2, int((seconds - one) / one)))))
        while not any(each.trained for each in probes) and len(probes) < TRIES + 1:
            probes.append(self.take(probes[-1].groups))
        return cost_of(probes, groups, self.policy, self.config)


def cost_of(probes: Sequence[Probe], groups: int, policy: Policy, config: TrainConfig) -> StepCost:
    """Return what a step of so many groups costs by what probes were."""
    largest = max(probes, key=lambda each: each.groups)
    most = [each for each in probes if each.groups == largest.groups]
    times = groups / largest.groups
    generation = line_at(groups, [(each.groups, each.seconds("time/generation")) for each in probes])
    whole = times * sum(each.whole for each in most) / len(most)
    parts = {"generation": generation}
    for name, metric in _PER_GROUP.items():
        parts[name] = times * sum(each.seconds(metric) for each in most) / len(most)
    trained = sum(each.trained for each in probes)
    for name, metric in _PER_TOKEN.items():
        spent = sum(each.seconds(metric) for each in probes if each.trained)
        parts[name] = whole * spent / trained if trained else 0.0
    known = ("time/generation", *_PER_GROUP.values(), *_PER_TOKEN.values())
    rest = sum(each.seconds("time/step") - sum(map(each.seconds, known)) for each in most) / len(most)
    parts["the rest"] = max(0.0, times * rest)
    everyone = sum(each.whole for each in probes)
    read = whole * sum(each.read for each in probes) / trained if trained else 0.0
    tokens = {
        name: times * sum(int(each.row.get(f"tokens/{name}") or 0) for each in most) / len(most)
        for name in ("sampled", "prefilled")
    }
    kept = times * sum(each.kept for each in most) / len(most)
    micro_batches = -(-groups * config.group_size // config.micro_batch_size)
    return StepCost(
        probes,
        groups,
        parts,
        trained / everyone if everyone else 0.0,
        {**tokens, "trained": read},
        memory_of(policy, kept, config),
        {"gradient": micro_batches * config.epochs, **({"reference": micro_batches} if config.beta else {})},
    )


def line_at(groups: int, seen: Sequence[tuple[int, float]]) -> float:
    """Return what a line through points says at ``groups``: least squares, and never below the largest seen.

    With points at one place alone it goes through 0. A slope below 0 counts as 0.
    """
    places = sorted({place for place, _ in seen})
    means = {place: _mean([value for each, value in seen if each == place]) for place in places}
    if len(places) == 1:
        return means[places[0]] * groups / places[0]
    if places[-1] == groups:
        return means[groups]
    middle, level = _mean(places), _mean(list(means.values()))
    spread = sum((place - middle) ** 2 for place in places)
    slope = sum((place - middle) * (means[place] - level) for place in places) / spread
    return means[places[-1]] + max(0.0, slope) * (groups - places[-1])


def memory_of(policy: Policy, kept: float, config: TrainConfig) -> dict[str, float]:
    """Return bytes by part.

    Args:
        policy: as it is after the probe.
        kept: tokens whose keys and values are kept in a step.
        config: of the run.
    """
    trained = list(policy.trainable_parameters())
    ours = {id(each) for each in trained}
    frozen = [each for each in policy.model.parameters() if id(each) not in ours]
    adapter = float(sum(each.numel() * each.element_size() for each in trained))
    copies = 3 if config.lr == AUTO and config.step_size.take_back is not None else 0
    parts = {
        "weights": float(sum(each.numel() * each.element_size() for each in frozen)),
        "trained weights and their gradient": 2 * adapter,
        "optimiser (moments, and copies to take a step back)": (2 + copies) * adapter,
        "keys and values": kept * kept_bytes(policy),
    }
    if policy.device.type == "cuda":
        rest = "activations (of the most that the device held, the rest)"
        held = torch.cuda.max_memory_reserved(policy.device)
    else:
        rest = "activations, libraries and environments (of the process, the rest)"
        held = psutil.Process().memory_info().rss
    parts[rest] = max(0.0, held - sum(parts.values()))
    return parts


def kept_bytes(policy: Policy) -> int:
    """Return bytes of the keys and values of one token; 0 where the model's settings do not tell."""
    config = policy.base.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or getattr(config, "num_attention_heads", 0)
    width = getattr(config, "head_dim", None) or config.hidden_size // max(1, config.num_attention_heads)
    return 2 * config.num_hidden_layers * heads * width * policy.base.dtype.itemsize


def kept_tokens(episodes: Sequence[Episode]) -> int:
    """Return the tokens whose keys and values are kept: a prompt's once for its group, the rest of each."""
    prompts = {(each.group, each.segments[0].content): len(each.segments[0]) for each in episodes}
    return sum(prompts.values()) + sum(len(each) - len(each.segments[0]) for each in episodes)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
