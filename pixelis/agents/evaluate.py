"""Evaluation on held-out seeds: success with a confidence interval, of language and scripted policies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import gymnasium as gym
from rich.table import Table

from pixelis.agents.behaviour import behaviour_metrics, tool_scores
from pixelis.agents.episode import Episode
from pixelis.agents.policy import Policy
from pixelis.agents.rollout import Collector, EnvFactory, EpisodeRequest
from pixelis.agents.sampling import SamplingSettings
from pixelis.agents.scripted import play_scripted
from pixelis.errors import ConfigError

ORACLE = "oracle"
_WORDS = ("agent", "mode", "calls")
_COLUMNS = ("agent", "mode", "n", "success (95 %)", "reward", "turns", "calls")
_GAP = "oracle gap"

HELD_OUT: Mapping[str, Any] = {"split": "test"}


@dataclass(frozen=True)
class Evaluation:
    """What an agent reached over a set of seeds.

    Attributes:
        env_id: where it played.
        agent: its name.
        mode: ``greedy``, ``sampled`` or ``scripted``.
        episodes: how many counted; episodes in which the infrastructure failed do not.
        failed: how many of those there were.
        success_rate: share of the counted episodes that ended in success, in [0, 1].
        interval: its Wilson 95 % confidence interval.
        mean_reward: mean episode reward.
        mean_turns: mean number of env steps.
        tool_calls: tool name to its mean number of calls an episode (a call without a tool is ``(none)``).
        reward_terms: name to mean value.
        step: the training step of the weights that played; None where nobody said.
        visual_episodes: share of the counted episodes with a visual call (RaPR); None without episodes.
        tool_scores: ``TOOL/score`` to its mean over the calls that have it, see ``behaviour.tool_scores``.
        watched: name to the mean of a score that training was not paid by, see ``watch.scorers``.
        oracle_gap: the oracle's success rate on the same tasks minus this one's, see ``oracle_gaps``; None
            where no oracle played.
    """

    env_id: str
    agent: str
    mode: str
    episodes: int
    failed: int
    success_rate: float
    interval: tuple[float, float]
    mean_reward: float
    mean_turns: float
    tool_calls: dict[str, float] = field(default_factory=dict)
    reward_terms: dict[str, float] = field(default_factory=dict)
    step: int | None = None
    visual_episodes: float | None = None
    tool_scores: dict[str, float | int | None] = field(default_factory=dict)
    oracle_gap: float | None = None
    watched: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return {**asdict(self), "interval": list(self.interval)}


def evaluate(
    agent: Policy | str,
    env: str | EnvFactory,
    seeds: Sequence[int],
    *,
    settings: SamplingSettings | None = None,
    options: Mapping[str, Any] = HELD_OUT,
    name: str | None = None,
    batch_size: int = 32,
    rng_seed: int = 0,
) -> Evaluation:
    """Play one episode a seed, as `play` does, and summarise them.

    Args:
        agent: a language policy, or the name of a scripted policy that the env ships.
        env: a Gymnasium id or a factory.
        seeds: reset seeds, at least one.
        settings: how a language policy samples; greedy by default.
        options: reset options; by default the ``test`` split, whose tasks are never trained on.
        name: what to call the agent in the result.
        batch_size: episodes a language policy plays at the same time.
        rng_seed: for sampling.

    Raises:
        ConfigError: no seeds, or no scripted policy of that name.
    """
    episodes, mode = play(
        agent, env, seeds, settings=settings, options=options, batch_size=batch_size, rng_seed=rng_seed
    )
    default_name = agent if isinstance(agent, str) else agent.base_name
    return summarise(episodes, agent=name or default_name, mode=mode)


def play(
    agent: Policy | str,
    env: str | EnvFactory,
    seeds: Sequence[int],
    *,
    settings: SamplingSettings | None = None,
    options: Mapping[str, Any] = HELD_OUT,
    batch_size: int = 32,
    rng_seed: int = 0,
) -> tuple[list[Episode], str]:
    """Return the episodes, one a seed, and the mode; arguments and errors are those of `evaluate`."""
    if not seeds:
        raise ConfigError("an evaluation needs at least one seed")
    if isinstance(agent, str):
        return list(_scripted(agent, env, seeds, options)), "scripted"
    settings = settings or SamplingSettings(greedy=True)
    requests = [EpisodeRequest(seed, group, 0, options) for group, seed in enumerate(seeds)]
    with Collector(env) as collector:
        batches = [requests[i : i + batch_size] for i in range(0, len(requests), batch_size)]
        episodes = [e for batch in batches for e in collector.collect(agent, batch, settings, rng_seed)]
    return episodes, "greedy" if settings.greedy else "sampled"


def summarise(episodes: Sequence[Episode], *, agent: str, mode: str) -> Evaluation:
    """Summarise played episodes; those that are not valid for training are counted as failed and left out."""
    counted = [episode for episode in episodes if episode.valid_for_training]
    n = len(counted)
    successes = sum(bool(episode.success) for episode in counted)
    tools = Counter(call.get("tool") or "(none)" for episode in counted for call in episode.tool_calls)
    terms: Counter[str] = Counter()
    for episode in counted:
        terms.update(episode.reward_terms)
    return Evaluation(
        env_id=episodes[0].env_id if episodes else "",
        agent=agent,
        mode=mode,
        episodes=n,
        failed=len(episodes) - n,
        success_rate=successes / n if n else math.nan,
        interval=wilson_interval(successes, n),
        mean_reward=sum(episode.reward for episode in counted) / n if n else math.nan,
        mean_turns=sum(episode.turns for episode in counted) / n if n else math.nan,
        tool_calls={tool: count / n for tool, count in sorted(tools.items())},
        reward_terms={term: total / n for term, total in sorted(terms.items())},
        visual_episodes=_optional_float(behaviour_metrics(counted)["visual/episodes"]),
        tool_scores=tool_scores(counted),
    )


def oracle_gaps(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the evaluations, those of an env whose shipped oracle played as many tasks with their gap to it.

    The gap is the share of the tasks an agent lost though they can be solved with the tools as they are: what
    is missing is the agent's. All of them must have played the same seeds and options.
    """
    best = {
        (item.env_id, item.episodes + item.failed): item.success_rate
        for item in evaluations
        if (item.agent, item.mode) == (ORACLE, "scripted") and item.episodes
    }
    return [
        replace(item, oracle_gap=best[key] - item.success_rate)
        if (key := (item.env_id, item.episodes + item.failed)) in best and item.episodes
        else item
        for item in evaluations
    ]


def wilson_interval(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """Return the score interval of a proportion (Wilson, 1927); (0, 1) without trials.

    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), with p = successes / n; z = 1.96 covers 95 %.
    """
    if trials == 0:
        return 0.0, 1.0
    share, spread = successes / trials, z * z / trials
    centre = share + spread / 2
    margin = z * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    return max(0.0, (centre - margin) / (1 + spread)), min(1.0, (centre + margin) / (1 + spread))


def evaluation_table(evaluations: Sequence[Evaluation], title: str = "") -> Table:
    """Return a table of evaluations for `rich.print`."""
    table = Table(title=title or None)
    gaps = any(item.oracle_gap is not None for item in evaluations)
    watched = {name: None for item in evaluations for name in item.watched}
    for column in (*_COLUMNS, *watched, *([_GAP] if gaps else [])):
        justify = "left" if column in _WORDS else "right"
        table.add_column(column, justify=justify, no_wrap=column not in _WORDS, overflow="fold")
    for item in evaluations:
        low, high = item.interval
        calls = "\n".join(f"{tool} {count:.1f}" for tool, count in item.tool_calls.items())
        table.add_row(
            item.agent,
            item.mode,
            f"{item.episodes}" + (f" (+{item.failed} failed)" if item.failed else ""),
            f"{item.success_rate:.3f} ({low:.3f}–{high:.3f})",
            f"{item.mean_reward:.3f}",
            f"{item.mean_turns:.2f}",
            calls,
            *(_number(item.watched.get(name)) for name in watched),
            *([_number(item.oracle_gap)] if gaps else []),
        )
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _optional_float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _scripted(
    name: str, env: str | EnvFactory, seeds: Sequence[int], options: Mapping[str, Any]
) -> Iterator[Episode]:
    place = gym.make(env) if isinstance(env, str) else env()
    try:
        for group, seed in enumerate(seeds):
            episode = play_scripted(place, name, EpisodeRequest(seed, group, 0, options)).episode
            yield episode
            if not episode.valid_for_training:  # an env that failed is not trusted again
                place.close()
                place = gym.make(env) if isinstance(env, str) else env()
    finally:
        place.close()
