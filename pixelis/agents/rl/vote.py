"""Rewards without labels: within each group, what the majority answered counts as right."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pixelis.agents.episodes.answers import said_of
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.vote import VoteSettings, read_vote
from pixelis.envs.actions import parse_action, without_thought
from pixelis.errors import AnswerError, ConfigError, RewardError
from pixelis.rewards.answers.agreement import AnswerForm, Ballot, form_from, vote

if TYPE_CHECKING:
    from pixelis.agents.episodes.task_env import TaskEnv
    from pixelis.agents.settings.rl import TrainConfig

_LOG = logging.getLogger(__name__)


def check_held_out(config: TrainConfig, env: TaskEnv) -> None:
    """Check that what watches a vote is not what it trains on; warn where nothing watches it.

    Raises:
        ConfigError: evaluations in training would play the tasks that members vote on.
    """
    if read_vote(config.rewards) is None:
        return
    if not config.eval_every:
        _LOG.warning(
            "members vote and nothing tells whether they are right: give some tasks of the split 'test' "
            "labels and play them every few steps (--eval-every 20), see docs/guide/without_labels.md"
        )
    elif not env.holds_out:
        raise ConfigError(
            f"eval_every {config.eval_every} would check a vote on what it trains on, as {env.id} holds no "
            "tasks back; give some rows the split 'test', or leave eval_every 0"
        )


def voted(rewards: np.ndarray, episodes: Sequence[Episode], settings: VoteSettings) -> np.ndarray:
    """Return 1 for each episode whose answer is that of its group's majority, else 0.

    Args:
        rewards: float64 [P, G], NaN where an episode has none that can be trained on; otherwise not read.
        episodes: they are of, each with its ``group`` and ``member``.
        settings: how members vote; see `pixelis.rewards.answers.agreement.vote`.

    Returns:
        float64 [P, G], NaN where ``rewards`` is. All 0 for a group that abstains, which is then one without
        variance and is not trained on.

    Raises:
        RewardError: the env's ``info["answer_form"]`` is none.
    """
    found = np.where(np.isfinite(rewards), 0.0, np.nan)
    for group, members in _groups(episodes).items():
        scored = [each for each in members if np.isfinite(rewards[group, each.member])]
        ballot = ballot_of(scored, settings)
        found[group, [each.member for each in scored]] = ballot.agrees
    return found


def unlabelled(episodes: Sequence[Episode], rewards: np.ndarray) -> list[Episode]:
    """Return episodes as what is added to rewards may see them beside a vote: as if nobody knew the labels.

    Args:
        episodes: of a step.
        rewards: float64 [P, G], what `voted` paid.
    """
    return [
        replace(
            each,
            success=None,
            reward=float(rewards[each.group, each.member]) if each.valid_for_training else 0.0,
            turn_rewards=[],
            reward_terms={},
            reward_parts={},
        )
        for each in episodes
    ]


def vote_metrics(episodes: Sequence[Episode], settings: VoteSettings) -> Row:
    """Return how a step's groups voted; what cannot be measured is None.

    ``vote/agreement``: mean share of the majority; ``vote/entropy``: mean entropy of the different answers,
    in nats; ``vote/abstained``: share of groups without a majority; ``vote/answered``: share of members with
    an answer. ``vote/right``: share of the majorities that the env calls a success, where it says so. It is
    told for people and nothing is trained by it.
    """
    groups = [members for members in _groups(episodes).values() if members]
    ballots = [ballot_of(members, settings) for members in groups]
    right = [
        np.mean([bool(members[place].success) for place in np.flatnonzero(ballot.agrees)])
        for members, ballot in zip(groups, ballots, strict=True)
        if ballot.agrees.any() and all(each.success is not None for each in members)
    ]
    voters = sum(map(len, groups))
    return {
        "vote/agreement": _mean([ballot.share for ballot in ballots]),
        "vote/entropy": _mean([ballot.entropy for ballot in ballots]),
        "vote/abstained": _mean([float(bool(ballot.abstains)) for ballot in ballots]),
        "vote/answered": sum(ballot.answered for ballot in ballots) / voters if voters else None,
        "vote/right": _mean([float(each) for each in right]),
    }


def ballot_of(members: Sequence[Episode], settings: VoteSettings) -> Ballot:
    """Return how the members of one group voted."""
    form = _form(members[0], settings) if members else AnswerForm()
    weights = [confidence(each) for each in members] if settings.confidence else None
    answers = [given_answer(each, form, settings.pattern) for each in members]
    return vote(answers, form, weights, settings.threshold)


def given_answer(episode: Episode, form: AnswerForm, pattern: str | None = None) -> str | None:
    """Return what an episode answered in the end, None where it did not.

    That is ``info["final_answer"]`` where the env says so, unless it refused it; else what stands in
    ``<answer>`` in the last turn. The whole last turn, without the thought that it begins with, is the answer
    where the env's answers are not tagged, and where a pattern finds the answer in it.
    """
    said = said_of(episode)
    if said is not None:
        text = said.text if said.accepted else None
    else:
        said_last = episode.exchanges[-1].action if episode.exchanges else ""
        turn = said_last if isinstance(said_last, str) else ""  # as the env heard it, without control tokens
        text = parse_action(turn).answer
        if text is None and (pattern is not None or not form.tagged):
            text = without_thought(turn)
    if text is None or pattern is None:
        return text
    matches = list(re.finditer(pattern, without_thought(text)))
    return (matches[-1][1] if re.compile(pattern).groups else matches[-1][0]) if matches else None


def confidence(episode: Episode) -> float:
    """Return the geometric mean of the probabilities of the tokens of the last turn, in (0, 1].

    1 where nothing was sampled. As the sampler gave them, at its temperature.
    """
    last = next((each for each in reversed(episode.segments) if each.sampled), None)
    return 1.0 if last is None else math.exp(float(last.logprobs[last.loss_mask].mean()))


def _form(episode: Episode, settings: VoteSettings) -> AnswerForm:
    said, form = episode.info.get("answer_form"), AnswerForm()
    if said is not None:
        try:
            form = form_from(said)
        except (TypeError, KeyError, AnswerError) as error:
            raise RewardError(
                f"info['answer_form'] of {episode.env_id!r}: expected what AnswerForm.to_info gives, got "
                f"{said!r:.80} ({error})"
            ) from None
    return form if settings.kind == "auto" else replace(settings.form, tagged=form.tagged)


def _groups(episodes: Sequence[Episode]) -> Mapping[int, list[Episode]]:
    groups: dict[int, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.group, [])
        if episode.valid_for_training:
            groups[episode.group].append(episode)
    return groups


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
