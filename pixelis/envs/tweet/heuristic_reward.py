"""The package's own reward as an environment takes it: one tweet at a time, the first gate named."""

from __future__ import annotations

from collections.abc import Sequence

from pixelis.envs.tweet.conversation import JudgedReply


class HeuristicReward:
    """Scores replies with ``pixelis.rewards.tweet.TweetReward``, which loads its models with the first score.

    Args:
        preset: ``robust`` or ``classic``.

    Raises:
        ConfigError: there is no such preset.
    """

    def __init__(self, preset: str = "robust") -> None:
        from pixelis.rewards.tweet import TweetReward

        self._reward = TweetReward(preset)

    def score(self, tweet: str, replies: Sequence[str]) -> list[JudgedReply]:
        """Return the scores of replies to a tweet.

        Raises:
            RewardError: the tweet shows nothing.
            MissingDependencyError: a package of the extra ``text`` is not installed.
        """
        (scores,) = self._reward.score_batch([tweet], [list(replies)])
        return [
            JudgedReply(reply, one.total, one.parts, one.gates[0] if one.gates else None)
            for reply, one in zip(replies, scores, strict=True)
        ]
