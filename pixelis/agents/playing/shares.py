"""What is played in several places: who plays which groups, what they are paid by, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from pixelis.agents.rollout.collector import EpisodeRequest
from pixelis.agents.rollout.sampling import RolloutStats
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sampler import Vllm
from pixelis.errors import ConfigError
from pixelis.rewards.stack.stack import RewardStack


def check_shareable(config: TrainConfig, rewards: RewardStack | None, places: str) -> None:
    """Check that a run's episodes can be played in several places.

    Args:
        config: of the run.
        rewards: its reward terms; None without any.
        places: what they are called, for the message.

    Raises:
        ConfigError: a reward term learns from what is played, or each place would start a server.
    """
    if isinstance(config.sampler, Vllm) and not config.sampler.urls:
        raise ConfigError(
            f"sampler vllm starts no server for several {places}; start some, and say where they are with "
            "--sampler.urls"
        )
    learning = [] if rewards is None else [n for n, term in rewards.terms.items() if term.state_dict()]
    if learning:
        raise ConfigError(
            f"rewards.{learning[0]} learns from what is played, and each of several {places} would learn "
            "from its own share; leave it out, or train in one process"
        )


def shared_out(requests: Sequence[EpisodeRequest], count: int) -> list[list[EpisodeRequest]]:
    """Return requests in ``count`` parts of whole groups that follow each other, as equal as can be."""
    groups: dict[int, list[EpisodeRequest]] = {}
    for request in requests:
        groups.setdefault(request.group, []).append(request)
    numbers = [*groups]
    ends = [round(len(numbers) * (rank + 1) / count) for rank in range(count)]
    starts = [0, *ends[:-1]]
    return [
        [request for number in numbers[start:end] for request in groups[number]]
        for start, end in zip(starts, ends, strict=True)
    ]


def in_parts(requests: Sequence[EpisodeRequest], groups: int) -> list[list[EpisodeRequest]]:
    """Return requests in parts of so many groups that follow each other; the last may have fewer."""
    numbers = list(dict.fromkeys(request.group for request in requests))
    part_of = {number: place // groups for place, number in enumerate(numbers)}
    parts: list[list[EpisodeRequest]] = [[] for _ in range(-(-len(numbers) // groups))]
    for request in requests:
        parts[part_of[request.group]].append(request)
    return parts


def added(every: Sequence[RolloutStats]) -> RolloutStats:
    """Return counters of several places as one: counts added up, and the longest times."""
    values = {each.name: [getattr(stats, each.name) for stats in every] for each in fields(RolloutStats)}
    return RolloutStats(
        **{name: max(found) if isinstance(found[0], float) else sum(found) for name, found in values.items()}
    )


def state_to_pay_by(rewards: RewardStack | None) -> Any:
    """Return what the other places pay by, with no episode that anyone has paid since."""
    if rewards is None:
        return None
    state = rewards.state_dict()
    if state["orchestrator"] is not None:
        state["orchestrator"] |= {"pending": [], "held": 0}
    return state


def add_paid(rewards: RewardStack | None, states: Sequence[Mapping[str, Any]]) -> None:
    """Let the statistics of rewards know what the other places have paid, by their states."""
    if rewards is None or rewards.orchestrator is None:
        return
    own = rewards.orchestrator.state_dict()
    for each in states:
        own |= {name: own[name] + each["orchestrator"][name] for name in ("pending", "held")}
    rewards.orchestrator.load_state_dict(own)
