"""A conversation with the author of a tweet: what has been said, and how good the replies were."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pixelis.envs.tweet.data.near_duplicates import NEAR
from pixelis.envs.tweet.data.tweet_text import jaccard, shingles
from pixelis.errors import RewardError

REPEATED = "repeated"
"""The gate for a reply that was given before in the same conversation."""


class ReplyScore(Protocol):
    """How good a reply is."""

    @property
    def total(self) -> float:
        """The reward."""
        ...

    @property
    def parts(self) -> Mapping[str, float]:
        """Part → value."""
        ...

    @property
    def gate(self) -> str | None:
        """Which hard gate closed; ``None`` if none did."""
        ...


class ReplyReward(Protocol):
    """What scores replies, such as ``pixelis.envs.tweet.reward.TweetReward``."""

    def score(self, tweet: str, replies: Sequence[str]) -> Sequence[ReplyScore]:
        """Return the scores of replies to a tweet, the same for the same texts."""
        ...


@dataclass(frozen=True)
class JudgedReply:
    """A reply and its score.

    Attributes:
        text: as it was given, ``None`` if there was none.
        total: the reward.
        parts: part → value.
        gate: which gate closed; ``None`` if none did.
    """

    text: str | None
    total: float
    parts: Mapping[str, float]
    gate: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        return {"text": self.text, "total": self.total, "parts": dict(self.parts), "gate": self.gate}


def context_of(messages: Sequence[str], place: int) -> str:
    """Return what reply number ``place``, from 0, is scored against: the tweet, then the last follow-up."""
    return messages[0] if place == 0 else f"{messages[0]}\n{messages[place]}"


class Conversation:
    """The author's messages, and the replies so far.

    Args:
        messages: the tweet, and what its author writes back after each reply; known to the data beforehand.
        reward: scores the replies.

    Attributes:
        replies: one for each message answered so far.
        silence: the score of an empty reply to the tweet.

    Raises:
        RewardError: the reward cannot score replies to this tweet.
        MissingDependencyError: it needs a package that is not installed.
    """

    def __init__(self, messages: Sequence[str], reward: ReplyReward) -> None:
        self.messages = tuple(messages)
        self.replies: list[JudgedReply] = []
        self._reward = reward
        self.silence = self._judge("")  # first, so that what the reward lacks is said before anybody plays

    @property
    def over(self) -> bool:
        """Whether every message is answered, or the author has left."""
        return len(self.replies) == len(self.messages) or self.left

    @property
    def left(self) -> bool:
        """Whether the last reply closed a gate and so drove the author off."""
        return bool(self.replies) and self.replies[-1].gate is not None

    @property
    def shown(self) -> tuple[str, ...]:
        """The messages so far; the last one is open unless the conversation is over."""
        return self.messages[: len(self.replies) + (not self.over)]

    @property
    def context(self) -> str:
        """What the next reply answers: the tweet, with the last follow-up on a line of its own."""
        return context_of(self.messages, len(self.replies))

    def answer(self, text: str) -> JudgedReply:
        """Score a reply to the next message and remember it.

        One that nearly repeats an earlier reply of the conversation (Jaccard similarity of character 5-grams
        of at least 0.5) closes the gate ``repeated`` and is worth what silence is.

        Raises:
            RewardError: the score is no finite number.
        """
        judged = self._judge(text)
        pieces = shingles(text)
        if judged.gate is None and any(
            jaccard(pieces, shingles(one.text or "")) >= NEAR for one in self.replies
        ):
            judged = replace(judged, total=self.silence.total, gate=REPEATED)
        self.replies.append(judged)
        return judged

    def judged(self) -> list[JudgedReply]:
        """Return a score for every message.

        An unanswered one has that of silence, or of the reply that drove the author off.
        """
        missing = replace(self.replies[-1] if self.left else self.silence, text=None)
        return [*self.replies, *[missing] * (len(self.messages) - len(self.replies))]

    def _judge(self, text: str) -> JudgedReply:
        (score,) = self._reward.score(self.context, [text])
        for name, value in {"total": score.total, **score.parts}.items():
            if not math.isfinite(value):
                raise RewardError(
                    f"the reward gave {name} = {value!r} for the reply {text[:60]!r}; it must be finite"
                )
        return JudgedReply(
            text, float(score.total), {n: float(v) for n, v in score.parts.items()}, score.gate
        )
