"""What is added to the rewards of a step's episodes before they are compared: penalties and bonuses.

The metrics keep the env's own rewards; what is added is only trained on. Where advantages are divided by
the group's deviation, a group whose env rewards are equal is compared by what is added alone, at full size
however small the weight; ``advantage_scale="none"`` keeps a bonus as small as it is meant.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pixelis.agents.episodes.answers import (
    DIVERSITIES,
    NONE,
    answer_distances,
    counts,
    duplicate_answer_shares,
    final_answer,
    said_of,
)
from pixelis.agents.episodes.episode import Episode
from pixelis.envs.actions import parse_action
from pixelis.errors import ConfigError, RewardError, suggest
from pixelis.rewards.text.diversity import marginal_diversity
from pixelis.user_code import user_code


@dataclass(frozen=True)
class ShapingSettings:
    """What is added to rewards.

    Attributes:
        overlong_buffer: tokens before ``length_limit`` over which the penalty grows; 0: no penalty.
        overlong_penalty: the penalty at the limit, >= 0.
        length_limit: the longest completion that is allowed, in tokens.
        bonus: a key of ``BONUSES``, ``diversity`` (see `diversity_bonus`), or None.
        bonus_weight: what the bonus is multiplied by.
        diversity: what the bonus ``diversity`` measures by, a name in ``DIVERSITIES``.
        duplicate_penalty: what an answer loses that every other prompt of the step got too, >= 0; see
            `duplicate_penalties`.
    """

    overlong_buffer: int = 0
    overlong_penalty: float = 1.0
    length_limit: int = 0
    bonus: str | None = None
    bonus_weight: float = 0.0
    diversity: str = NONE
    duplicate_penalty: float = 0.0


def soft_overlong(lengths: Sequence[int] | np.ndarray, limit: int, buffer: int) -> np.ndarray:
    """Return DAPO's soft overlong punishment of completions.

        0                             if length <= limit - buffer
        (limit - buffer - length) / buffer   up to limit
        -1                            above

    Args:
        lengths: sampled tokens of each episode, [n].
        limit: the longest completion allowed, in tokens, at least ``buffer``.
        buffer: over how many tokens before the limit the punishment grows, at least 1.

    Returns:
        float64 [n] in [-1, 0].

    Source: Yu et al. 2025, DAPO (arXiv 2503.14476), eq. 13.
    """
    if not 1 <= buffer <= limit:
        raise ValueError(f"the overlong buffer must be in [1, {limit}] tokens, got {buffer}")
    beyond = np.asarray(lengths, dtype=np.float64) - (limit - buffer)
    return -np.clip(beyond / buffer, 0.0, 1.0)


GroupBonus = Callable[[Sequence[Episode]], np.ndarray]
BONUSES: dict[str, GroupBonus] = {}


def register_bonus(name: str) -> Callable[[GroupBonus], GroupBonus]:
    """Register a function from the valid episodes of one group to one number each, float [n]."""

    def register(function: GroupBonus) -> GroupBonus:
        BONUSES[name] = function
        return function

    return register


@register_bonus("distinct_answers")
def distinct_answers(episodes: Sequence[Episode]) -> np.ndarray:
    """Return 1 / (number of members that gave the same answer), in (0, 1]; 0 for those that gave none.

    For the answer see `final_answer`; letter case and spaces at the ends do not matter. Wrong answers count:
    where all fail, another try is worth something. None was given where the env did not accept it, and by a
    member that wrote no ``<answer>`` where another one did: prose would differ from everything. The bonuses
    of a group add up to the number of distinct answers.
    """
    said = [_answer_of(each) for each in episodes]
    has_tags = any(tagged for _, tagged in said)
    answers = [answer if tagged or not has_tags else None for answer, tagged in said]
    members = Counter(answers)
    return np.array([0.0 if answer is None else 1 / members[answer] for answer in answers])


def _answer_of(episode: Episode) -> tuple[str | None, bool]:
    """Return an episode's answer, None without one, and whether it was told to be one."""
    said, text = said_of(episode), final_answer(episode).strip().casefold()
    if said is not None:
        return (text if text and said.accepted else None), True
    last = next((each.text for each in reversed(episode.segments) if each.sampled), "")
    return text or None, parse_action(last).answer is not None


DIVERSITY = "diversity"
"""The bonus whose measure is a setting of its own; it stands beside ``BONUSES``."""


def diversity_bonus(episodes: Sequence[Episode], name: str) -> np.ndarray:
    """Return what each episode's answer adds to the diversity of its group's, in [0, 1].

        b_i = min(1, c_i - min_j c_j),   c_i = D(S) - D(S without i)

    over the set S of the answers that count (see `counts`), D being `mean_distance`. The contributions of
    three or more add up to 0; lifting them by their least changes no difference between them, and lets nobody
    who counts fall. Answers that do not count get 0. With a weight of at least 0 a reply that a gate stopped
    is thus never above one that none did, if it was not before.

    Args:
        episodes: the valid ones of one group.
        name: in ``DIVERSITIES``.
    """
    places = [place for place, episode in enumerate(episodes) if counts(episode)]
    bonus = np.zeros(len(episodes))
    if places:
        chosen = [episodes[place] for place in places]
        added = marginal_diversity(answer_distances(chosen, DIVERSITIES.find(name)))
        bonus[places] = np.minimum(added - added.min(), 1.0)
    return bonus


def duplicate_penalties(episodes: Sequence[Episode], weight: float) -> np.ndarray:
    """Return what answers lose that are given to many prompts, float64 [n], at most 0.

    weight · s for the share s of the other prompts with nearly the same answer (see
    `duplicate_answer_shares`), so that one answer to everything stops paying. No reward of -1 or more is
    brought below -1, which is what gates give: worse than no answer it should not be.
    """
    rewards = np.array([episode.reward for episode in episodes], dtype=np.float64)
    lowered = np.maximum(rewards - weight * duplicate_answer_shares(episodes), np.minimum(rewards, -1.0))
    return lowered - rewards


def bonus_of(settings: ShapingSettings) -> GroupBonus:
    """Return the function of the bonus that is set.

    Raises:
        ConfigError: there is no such bonus.
    """
    if settings.bonus == DIVERSITY:
        return partial(diversity_bonus, name=settings.diversity)
    if settings.bonus not in BONUSES:
        names = (*BONUSES, DIVERSITY)
        raise ConfigError(f"unknown bonus {settings.bonus!r}.{suggest(str(settings.bonus), names)}")
    return BONUSES[settings.bonus]


def extra_rewards(episodes: Sequence[Episode], settings: ShapingSettings) -> np.ndarray:
    """Return what is added to each episode's reward, float64 [n]; 0 where it is not valid for training.

    Args:
        episodes: of a step, whole groups of them.
        settings: what to add.

    Raises:
        RewardError: the bonus gave something else than one finite number for each episode of a group.
    """
    extra = np.zeros(len(episodes))
    valid = [index for index, episode in enumerate(episodes) if episode.valid_for_training]
    if settings.overlong_buffer and valid:
        lengths = [episodes[index].completion_length for index in valid]
        penalty = soft_overlong(lengths, settings.length_limit, settings.overlong_buffer)
        extra[valid] += settings.overlong_penalty * penalty
    if settings.duplicate_penalty and valid:
        extra[valid] += duplicate_penalties([episodes[index] for index in valid], settings.duplicate_penalty)
    if settings.bonus is not None:
        groups: defaultdict[int, list[int]] = defaultdict(list)
        function = bonus_of(settings)
        for index in valid:
            groups[episodes[index].group].append(index)
        for members in groups.values():
            with user_code(f"the bonus {settings.bonus!r}"):
                found = function([episodes[i] for i in members])
            bonus = _checked(found, len(members), settings)
            extra[members] += settings.bonus_weight * bonus
    return extra


def _checked(bonus: np.ndarray, members: int, settings: ShapingSettings) -> np.ndarray:
    try:
        bonus = np.asarray(bonus, dtype=np.float64)
    except (TypeError, ValueError):
        bonus = np.full(0, np.nan)
    if bonus.shape != (members,) or not np.isfinite(bonus).all():
        raise RewardError(
            f"the bonus {settings.bonus!r} must give {members} finite numbers for a group, got {bonus}"
        )
    return bonus
