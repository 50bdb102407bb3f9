"""Evaluation on held-out seeds: success with a confidence interval, of language and scripted players."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from rich.table import Table

from pixelis.agents.episodes.behaviour import behaviour_metrics, tool_scores
from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.failures import EARLY, FailureWatch, all_failed, reason_of
from pixelis.agents.episodes.scripted import Transcript, play_all
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import Collector, EnvFactory, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.errors import ConfigError

ORACLE = "oracle"
NOTHING = "–"
"""What is shown where there is no number."""
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
        success_rate: share of the counted episodes that ended in success, in [0, 1], unlabelled ones left
            out; NaN where the environment does not say (no ``success`` in any last info), which is not the
            same as 0.
        interval: its Wilson 95 % confidence interval, in which a task that was played more than once counts
            once; two NaN likewise.
        mean_reward: mean episode reward.
        mean_turns: mean number of env steps.
        tool_calls: tool name to its mean number of calls an episode (a call without a tool is ``(none)``).
        reward_terms: name to mean value.
        step: the training step of the weights that played; None where nobody said.
        visual_episodes: share of the counted episodes with a visual call (RaPR); None without episodes.
        tool_scores: ``TOOL/score`` to its mean over the calls that have it, see ``behaviour.tool_scores``.
        watched: name to the mean of a score that training was not paid by, see ``watch.scorers``.
        planned: how many episodes there were to be; None where that was not kept, more than ``episodes`` and
            ``failed`` together where the evaluation was cut off.
        different: how many different tasks the counted episodes are of; None where that was not kept.
        unlabelled: how many of the counted episodes are of tasks for which nobody knows what is right.
        tasks: what was played in words, see `TaskEnv.tasks_named`; None where that was not kept.
        failure: why the first episode failed, None where none did.
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
    planned: int | None = None
    failure: str | None = None
    tasks: str | None = None
    different: int | None = None
    unlabelled: int = 0

    @property
    def says_success(self) -> bool:
        """Whether the success rate is known."""
        return not math.isnan(self.success_rate)

    @property
    def is_partial(self) -> bool:
        """Whether fewer episodes were played than there were to be."""
        return self.planned is not None and self.episodes + self.failed < self.planned

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return {**asdict(self), "interval": list(self.interval)}


class Listener(Protocol):
    """Is told how an evaluation goes on."""

    def ended(self, count: int) -> None:
        """Take notice that so many episodes have ended, of those that are still in play together."""
        ...

    def played(self, episodes: Sequence[Episode]) -> None:
        """Take whole episodes, each once."""
        ...


PICTURED = 16
"""Episodes of an evaluation in a run whose pictures are kept, the first ones."""


@dataclass(frozen=True)
class AtOnce:
    """What a language policy plays at the same time.

    Attributes:
        episodes: at most.
        threads: that step their envs; None: see `Collector`.
        pictured: episodes whose pictures are kept in memory, the first ones of all that are played.
    """

    episodes: int = 32
    threads: int | None = None
    pictured: int = 0


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
        agent: a language policy, or the name of a scripted player that the env ships.
        env: a Gymnasium id or a factory.
        seeds: reset seeds, at least one.
        settings: how a language policy samples; greedy by default.
        options: reset options; by default the ``test`` split, whose tasks are never trained on.
        name: what to call the agent in the result.
        batch_size: episodes a language policy plays at the same time.
        rng_seed: for sampling.

    Raises:
        ConfigError: no seeds, or no scripted player of that name.
        EpisodesFailedError: no episode could be played to its end.
    """
    episodes, mode = play(
        agent, env, seeds, settings=settings, options=options, at_once=AtOnce(batch_size), rng_seed=rng_seed
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
    at_once: AtOnce = AtOnce(),
    rng_seed: int = 0,
    listener: Listener | None = None,
) -> tuple[list[Episode], str]:
    """Return the episodes, one a seed, and the mode; arguments and errors are those of `evaluate`.

    ``listener`` is given what has been played as it comes, so nothing is lost where the rest fails.
    """
    if not seeds:
        raise ConfigError("an evaluation needs at least one seed")
    settings = settings or SamplingSettings(greedy=True)
    requests = [
        EpisodeRequest(seed, group, 0, options, pictures=group < at_once.pictured)
        for group, seed in enumerate(seeds)
    ]
    mode = "scripted" if isinstance(agent, str) else "greedy" if settings.greedy else "sampled"
    taken = Taken(f"the evaluation of {agent}" if isinstance(agent, str) else "the evaluation", listener)
    if isinstance(agent, str):
        for transcript in play_all(env, requests, [agent] * len(requests)):
            taken.add([_in_words(transcript)])
    else:
        on_ended = None if listener is None else listener.ended
        with Collector(env, env_threads=at_once.threads, on_ended=on_ended) as collector:
            for start in range(0, len(requests), at_once.episodes):
                batch = requests[start : start + at_once.episodes]
                taken.add(collector.collect(agent, batch, settings, rng_seed))
    return taken.all(), mode


class Taken:
    """The episodes of an evaluation as they come; ends one in which everything fails.

    Args:
        what: the evaluation, for messages.
        listener: is told of them.
    """

    def __init__(self, what: str, listener: Listener | None = None) -> None:
        self._what, self._listener = what, listener
        self._episodes: list[Episode] = []

    def add(self, episodes: Sequence[Episode]) -> None:
        """Take some.

        Raises:
            EpisodesFailedError: all of the first `EARLY` failed, so the others will.
        """
        self._episodes += episodes
        if self._listener is not None:
            self._listener.played(episodes)
        if len(self._episodes) >= EARLY and not any(each.valid_for_training for each in self._episodes):
            raise all_failed(self._episodes, self._what)

    def all(self) -> list[Episode]:
        """Return them; the log says which failed and why.

        Raises:
            EpisodesFailedError: all of them failed.
        """
        FailureWatch().note(self._episodes, self._what)
        return self._episodes


def summarise(episodes: Sequence[Episode], *, agent: str, mode: str) -> Evaluation:
    """Summarise played episodes; those that are not valid for training are counted as failed and left out.

    Where some episodes say whether they succeeded, one that does not say counts as none, unless the env says
    that nobody knows (``info["unlabelled"]``).
    """
    counted = [episode for episode in episodes if episode.valid_for_training]
    n, failed = len(counted), [episode for episode in episodes if not episode.valid_for_training]
    judged = [episode for episode in counted if not episode.is_unlabelled]
    ended = [episode for episode in judged if not episode.cut_off] or judged
    told = any(episode.success is not None or episode.cut_off for episode in ended)
    if len(judged) < n and all(episode.success is None for episode in judged):
        told = False  # of the labels of those that were cut off nothing is known
    successes, tasks = sum(bool(episode.success) for episode in judged), len(set(map(task_of, judged)))
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
        success_rate=successes / len(judged) if told else math.nan,
        interval=wilson_interval(successes * tasks / len(judged), tasks) if told else (math.nan, math.nan),
        mean_reward=sum(episode.reward for episode in counted) / n if n else math.nan,
        mean_turns=sum(episode.turns for episode in counted) / n if n else math.nan,
        tool_calls={tool: count / n for tool, count in sorted(tools.items())},
        reward_terms={term: total / n for term, total in sorted(terms.items())},
        visual_episodes=_optional_float(behaviour_metrics(counted)["visual/episodes"]),
        tool_scores=tool_scores(counted),
        failure=reason_of(failed[0]) if failed else None,
        different=len(set(map(task_of, counted))),
        unlabelled=n - len(judged),
    )


def task_of(episode: Episode) -> Hashable:
    """Return what episodes of one task have in common: the digest that the env tells, else the seed."""
    task = episode.info.get("task")
    known = task.get("hash") if isinstance(task, Mapping) else None
    return known if isinstance(known, str) else ("seed", episode.seed)


def oracle_gaps(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the evaluations, those of an env whose shipped oracle played as many tasks with their gap to it.

    The gap is the share of the tasks an agent lost though they can be solved with the tools as they are: what
    is missing is the agent's. All of them must have played the same seeds and options.
    """
    best = {
        (item.env_id, item.episodes + item.failed): item.success_rate
        for item in evaluations
        if (item.agent, item.mode) == (ORACLE, "scripted") and item.says_success
    }
    return [
        replace(item, oracle_gap=best[key] - item.success_rate)
        if (key := (item.env_id, item.episodes + item.failed)) in best and item.says_success
        else item
        for item in evaluations
    ]


def wilson_interval(successes: float, trials: float, z: float = 1.959964) -> tuple[float, float]:
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
        calls = "\n".join(f"{tool} {count:.1f}" for tool, count in item.tool_calls.items())
        table.add_row(
            item.agent,
            item.mode,
            counted_text(item),
            success_text(item),
            _number(item.mean_reward),
            _number(item.mean_turns, 2),
            calls,
            *(_number(item.watched.get(name)) for name in watched),
            *([_number(item.oracle_gap)] if gaps else []),
        )
    return table


def counted_text(item: Evaluation) -> str:
    """Return how many episodes counted, and failed; of how many, and how many tasks, where that differs."""
    failed = (
        f" (+{item.failed} failed, {item.failed / (item.episodes + item.failed):.0%})" if item.failed else ""
    )
    again = item.different is not None and item.different < item.episodes
    notes = [f"{item.different} different"] if again else []
    notes += [f"{item.unlabelled} without labels"] if item.unlabelled and item.says_success else []
    tasks = f" ({', '.join(notes)})" if notes else ""
    return f"{item.episodes}{f' of {item.planned}' if item.is_partial else ''}{tasks}{failed}"


def success_text(item: Evaluation) -> str:
    """Return the success rate with its interval, a dash where the environment does not say."""
    if not item.says_success:
        return NOTHING
    low, high = item.interval
    return f"{item.success_rate:.3f} ({low:.3f}–{high:.3f})"


def _number(value: float | None, digits: int = 3) -> str:
    return NOTHING if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _in_words(transcript: Transcript) -> Episode:
    """Return a scripted episode whose text is what was seen and said; no model was there to have tokens."""
    for turn in transcript.turns:
        transcript.episode.segments += [Segment.given([], turn.text), Segment.given([], turn.action)]
    return transcript.episode


def _optional_float(value: float | None) -> float | None:
    return None if value is None else float(value)
