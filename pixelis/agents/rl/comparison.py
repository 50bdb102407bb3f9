"""What members of a group are compared by in place of their rewards: the parts of these, or sets of members.

Each function turns a step's rewards [P, G] into what a function of `pixelis.agents.losses.advantages` then
compares, so the baseline, the division by a deviation and the detection of groups without signal are those
of every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from pixelis.agents.episodes.answers import DIVERSITIES, NONE, answer_distances, counts, said_of
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.advantages import STD_EPSILON, ZERO_STD
from pixelis.errors import RewardError, suggest
from pixelis.registry import Registry
from pixelis.rewards.text.diversity import mean_distance

MAX_SETS = 256
"""Sets of a group beyond which not all are looked at."""
_PERMUTATIONS = 32


@dataclass(frozen=True)
class GroupComparison:
    """What members of a group are compared by instead of their rewards.

    Attributes:
        advantage: a name in ``COMPARISONS``.
        part_weights: for ``per_part``: part of the reward → what it is multiplied by, >= 0.
        diversity: for ``polychromic``: a name in ``DIVERSITIES``.
        set_size: for ``polychromic``: members of a set, at least 2.
        set_floor: for ``polychromic``: the reward that is worth nothing to a set.
        known_parts: of the first episodes that were compared, see `by_part`.
    """

    advantage: str
    part_weights: Mapping[str, float] = field(default_factory=dict)
    diversity: str = NONE
    set_size: int = 4
    set_floor: float = 0.0
    known_parts: set[str] = field(default_factory=set, compare=False, repr=False)


CompareFunction = Callable[[np.ndarray, Sequence[Episode], GroupComparison], np.ndarray]
COMPARISONS: Registry[CompareFunction] = Registry("comparison")


def compared(rewards: np.ndarray, episodes: Sequence[Episode], comparison: GroupComparison) -> np.ndarray:
    """Return what takes the place of the rewards.

    Args:
        rewards: float64 [P, G], NaN where an episode has none that can be trained on.
        episodes: they are of, each with its ``group`` and ``member``.
        comparison: by what.

    Returns:
        float64 [P, G], NaN where ``rewards`` is.

    Raises:
        RewardError: an episode lacks a part of its reward, or a part is not finite.
        ConfigError: there is no such comparison, or no such measure of diversity.
    """
    return COMPARISONS.find(comparison.advantage)(rewards, episodes, comparison)


@COMPARISONS.register("per_part")
def by_part(rewards: np.ndarray, episodes: Sequence[Episode], comparison: GroupComparison) -> np.ndarray:
    """Return the weighted sum of each part's normalised values.

        s[p, g] = sum_k w_k (r_k[p, g] - mean r_k[p]) / (std r_k[p] + 1e-4)

    with the deviation of n - 1, over the scored members of group p; a part that is the same for all of them
    adds 0. GDPO then divides by the deviation of s over the batch: ``algorithm.scale: batch``.

    A part is ``reward_parts[name]["raw"]`` where reward terms are paid, else ``reward_terms[name]``; 0 for an
    episode that has none. A name that no episode has is a mistake in the first ones that were played to
    their end; later it may be that nobody earned it. Where the env did not accept the answer, the reward
    stands for each of its parts: style that was not paid does not count.

    Source: Liu et al. 2026, GDPO (arXiv 2601.05242), eq. 4-6; the n - 1 and the constant are those of TRL's
    ``normalize_then_sum`` (huggingface/trl pull request 4785).
    """
    total = np.zeros_like(rewards)
    parts = [(episode, _parts(episode)) for episode in episodes if episode.valid_for_training]
    _check_names(comparison, [table for episode, table in parts if not episode.cut_off])
    for name, weight in comparison.part_weights.items():
        values = np.full_like(rewards, np.nan)
        for episode, table in parts:
            values[episode.group, episode.member] = _part(episode, name, table.get(name, 0.0))
        values[~np.isfinite(rewards)] = np.nan
        total += weight * _normalised(values)
    return np.where(np.isfinite(rewards), total, np.nan)


@COMPARISONS.register("polychromic")
def by_set(rewards: np.ndarray, episodes: Sequence[Episode], comparison: GroupComparison) -> np.ndarray:
    """Return the mean score of the sets that each member is in.

        f(S) = mean over S of max(0, r - floor)  *  D(S)
        s[p, g] = mean of f over the sets of group p with member g

    D is the mean distance of two answers of the set, in which an answer that does not count (see `counts`)
    is at a distance of 0 from all. The members of a set share its score; the baseline, the mean of f over
    the sets of the group, is what `advantages.centred` takes off, as every member is in equally many sets
    (or about so, beyond ``MAX_SETS``). With all sets, a member that does not count and earned no more
    than another that does is never above it.

    A group whose sets all score the same, for instance as no two answers count, is compared by its rewards.
    So is one with fewer scored members than a set has.

    Source: Hamid et al. 2025, Polychromic Objectives for RL (arXiv 2509.25424): f is their objective, one
    advantage for all of a set, the baseline over the sets of a state. Theirs are of trajectories from a
    critic's states; here a group's prompt is the state.
    """
    measure = DIVERSITIES.find(comparison.diversity)
    scores = rewards.copy()
    groups: dict[int, list[Episode]] = {}
    for episode in episodes:
        if np.isfinite(rewards[episode.group, episode.member]):
            groups.setdefault(episode.group, []).append(episode)
    for group, members in groups.items():
        places = [episode.member for episode in members]
        if len(members) < comparison.set_size:
            continue
        worth = np.maximum(rewards[group, places] - comparison.set_floor, 0.0)
        found = member_scores(worth, answer_distances(members, measure), comparison.set_size)
        if np.ptp(found) > ZERO_STD:
            scores[group, places] = found
    return scores


def member_scores(worth: np.ndarray, distances: np.ndarray, size: int) -> np.ndarray:
    """Return the mean of mean worth x `mean_distance` over the sets that each member is in.

    Args:
        worth: float64 [n], >= 0.
        distances: float64 [n, n].
        size: of a set, 2 to n.

    Returns:
        float64 [n].
    """
    sets = sets_of(len(worth), size)
    totals, seen = np.zeros(len(worth)), np.zeros(len(worth))
    for each in sets:
        members = list(each)
        totals[members] += worth[members].mean() * mean_distance(distances[np.ix_(members, members)])
        seen[members] += 1
    return totals / seen


def sets_of(members: int, size: int) -> list[tuple[int, ...]]:
    """Return sets of a group's members: all, or beyond `MAX_SETS` some in which each is about as often.

    The same ones for every group: members differ in nothing but the numbers they were drawn with, so which
    are put together makes no difference on average.
    """
    if math.comb(members, size) <= MAX_SETS:
        return list(combinations(range(members), size))
    rng = np.random.default_rng(0)
    rows = [np.resize(rng.permutation(members), -(-members // size) * size) for _ in range(_PERMUTATIONS)]
    return [tuple(row[at : at + size].tolist()) for row in rows for at in range(0, len(row), size)]


def _parts(episode: Episode) -> dict[str, float]:
    raw = {part: values["raw"] for part, values in episode.reward_parts.items()}
    return {**episode.reward_terms, **raw}


def _check_names(comparison: GroupComparison, tables: Sequence[Mapping[str, float]]) -> None:
    if comparison.known_parts or not tables:
        return
    known = sorted({part for table in tables for part in table})
    for name in comparison.part_weights:
        if name not in known:
            raise RewardError(
                f"no episode's reward has a part {name!r}.{suggest(name, known)} They have "
                f"{', '.join(known) or 'none'}; correct part_weights"
            )
    comparison.known_parts.update(known)


def _part(episode: Episode, name: str, value: float) -> float:
    if not math.isfinite(value):
        raise RewardError(
            f"episode of seed {episode.seed}, member {episode.member}: part {name!r} of its reward is "
            f"{value}; find out what computes it"
        )
    return episode.reward if said_of(episode) is not None and not counts(episode) else value


def _normalised(values: np.ndarray) -> np.ndarray:
    scored = np.isfinite(values)
    count = scored.sum(axis=1, keepdims=True)
    centred = values - np.nansum(values, axis=1, keepdims=True) / np.maximum(count, 1)
    std = np.sqrt(np.nansum(centred**2, axis=1, keepdims=True) / np.maximum(count - 1, 1))
    return np.where(scored & (std > ZERO_STD), np.nan_to_num(centred) / (std + STD_EPSILON), 0.0)
