"""The package's own rewards as an environment takes them: one tweet at a time, the first gate named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pixelis.envs.tweet.tweet_reply.conversation import JudgedReply
from pixelis.errors import ConfigError, shown

if TYPE_CHECKING:
    from pixelis.envs.tweet.reward import TweetReward

HYBRID, FLUENT = "hybrid", "fluent"
PRESETS = ("robust", "classic", HYBRID, FLUENT)
_JUDGED = {HYBRID: "learned", FLUENT: "fluency"}
"""Preset with a judge → what its number is called."""


class HeuristicReward:
    """Scores replies with ``pixelis.envs.tweet.reward``, which loads its models with the first score.

    Args:
        preset: ``robust``, ``classic``, or ``hybrid``: ``robust`` with the learned reward as its judge (their
            harmonic mean), whose number is the part ``learned`` (0 where a gate closed before); or
            ``fluent``: ``robust`` times how well a language model can follow, the part ``fluency``.
        reward_model: folder of the learned reward, for ``hybrid``; None: the one that comes with the package.

    Raises:
        ConfigError: there is no such preset, or a reward model is given to another than ``hybrid``.
        ModelLoadError: there is no reward model in the folder, or it is one for evaluation.
    """

    def __init__(self, preset: str = "robust", reward_model: str | os.PathLike[str] | None = None) -> None:
        self._judged = _JUDGED.get(preset)
        self._reward = _make(preset, None if reward_model is None else os.fspath(reward_model))

    def score(self, tweet: str, replies: Sequence[str]) -> list[JudgedReply]:
        """Return the scores of replies to a tweet.

        Raises:
            RewardError: the tweet shows nothing.
            MissingDependencyError: a package of the extra ``text`` is not installed, or SmolLM2.
        """
        (scores,) = self._reward.score_batch([tweet], [list(replies)])
        return [
            JudgedReply(
                reply,
                one.total,
                one.parts if self._judged is None else {**one.parts, self._judged: one.judged or 0.0},
                one.gates[0] if one.gates else None,
            )
            for reply, one in zip(replies, scores, strict=True)
        ]


def _make(preset: str, reward_model: str | None) -> TweetReward:
    if preset == HYBRID:
        from pixelis.envs.tweet.reward import hybrid_reward

        return hybrid_reward(reward_model)
    if reward_model is not None:
        raise ConfigError(
            f"reward_model: expected none with reward {shown(preset)}, got {shown(reward_model)}; "
            "a learned reward goes with reward 'hybrid'"
        )
    from pixelis.envs.tweet.reward import TweetReward, fluent_reward

    return fluent_reward() if preset == FLUENT else TweetReward(preset)
