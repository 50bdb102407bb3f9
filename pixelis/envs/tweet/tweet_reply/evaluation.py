"""The tweet rewards' evaluation model as a scorer of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pixelis.envs.tweet.reward.learned_rewards import EvaluationReward
from pixelis.envs.tweet.tweet_reply.conversation import context_of
from pixelis.errors import RewardError


class Played(Protocol):
    """What is read of an episode that has been played."""

    @property
    def env_id(self) -> str:
        """The Gymnasium id it was played in."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """The last info of the environment."""
        ...


class TweetEvaluation:
    """Scores an episode of ``Pixelis/TweetReply-v0`` by the mean of its replies', [0, 1].

    A message without a reply counts as the empty reply.

    Args:
        reward_model: folder of the evaluation model; None: the one that comes with the package.

    Raises:
        ModelLoadError: there is no such model in the folder.
    """

    def __init__(self, reward_model: str | None = None) -> None:
        self._reward = EvaluationReward(reward_model)

    def __call__(self, episodes: Sequence[Played]) -> list[float]:
        """Return a number in [0, 1] for each episode.

        Raises:
            RewardError: an episode is one of another environment.
        """
        pairs = [_pairs(episode) for episode in episodes]
        scores = iter(self._reward([pair for each in pairs for pair in each]))
        return [float(np.mean([next(scores) for _ in each])) for each in pairs]


def _pairs(episode: Played) -> list[tuple[str, str]]:
    info = episode.info
    if "replies" not in info or not info.get("messages"):
        raise RewardError(
            f"watch: tweet_evaluation scores the replies of Pixelis/TweetReply-v0, got an episode of "
            f"{episode.env_id!r}; remove it from watch"
        )
    said = [one["text"] for one in info["replies"]]
    messages = info["messages"]
    silent = [""] * (len(messages) - len(said))
    return [(context_of(messages, place), text) for place, text in enumerate([*said, *silent])]
