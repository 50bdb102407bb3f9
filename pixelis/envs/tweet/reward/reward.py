"""The reward of a reply to a tweet: gates, then points. Every way of calling it takes one path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from pixelis.envs.tweet.learned.faults import ENCODER, FAULTS, PROBE, fault_features, shipped_faults
from pixelis.envs.tweet.learned.features import pair_numbers
from pixelis.envs.tweet.reading.own_words import own_text
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reward.gates import GATES, ReplyPair, find_gates
from pixelis.envs.tweet.reward.presets import MEANS, PARTS, PRESETS
from pixelis.envs.tweet.reward.settings import Judge, TweetRewardSettings, TweetScore
from pixelis.errors import ConfigError, RewardError, suggest
from pixelis.rewards.text.encoders import CachedEncoder


class TweetReward:
    """Scores replies to tweets without a language model (docs/reference/tweet_reward.md: formulas, limits).

    A reply is scored as it was generated; nothing is cleaned away, replaced or filled in. Nothing is loaded
    before the first score, and models are shared by all rewards of a process.

    Args:
        settings: `TweetRewardSettings`, or the name of a preset.
        judge: for what no heuristic sees: a function that takes pairs of tweet and raw reply and gives a
            number in [0, 1] for each. It gets the replies that no gate stops, all in one call.

    Raises:
        ConfigError: a setting is wrong.
    """

    def __init__(self, settings: TweetRewardSettings | str = "robust", judge: Judge | None = None) -> None:
        self.settings = TweetRewardSettings(settings) if isinstance(settings, str) else settings
        self._preset = PRESETS[self.settings.preset]
        self._judge, self._checked = judge, False
        self.encoder = CachedEncoder(self.settings.encoder, self.settings.cache_size, self.settings.threads)

    def score(self, tweet: str, reply: str) -> TweetScore:
        """Return the score of one reply.

        Raises:
            RewardError: the tweet is empty, or one of the two is no string.
            MissingDependencyError: a package of the extra ``text`` is not installed.
        """
        return self.score_batch([tweet], [[reply]])[0][0]

    def score_batch(self, tweets: Sequence[str], replies: Sequence[Sequence[str]]) -> list[list[TweetScore]]:
        """Return the score of each reply, in the shape of ``replies``.

        A score does not depend on what else is in the batch.

        Args:
            tweets: m tweets.
            replies: m lists of any number of replies, the first to the first tweet.

        Raises:
            RewardError: the lengths differ, a tweet is empty (its number is named), something is no string,
                or the judge gave something else than a number in [0, 1] for each pair.
            MissingDependencyError: a package of the extra ``text`` is not installed.
        """
        pairs = self._read(tweets, replies)
        name = self.encoder.name
        scores = iter(self._judged(pairs, [self._score(pair, name) for pair in pairs]))
        return [list(islice(scores, len(group))) for group in replies]

    def part(self, name: str, tweet: str, reply: str) -> float:
        """Return one part in [0, 1], the same as in a score; only ``relevance`` needs the encoder.

        Raises:
            ConfigError: there is no such part.
            RewardError: the tweet is empty, or one of the two is no string.
            MissingDependencyError: a package of the extra ``text`` is not installed.
        """
        if name not in PARTS:
            raise ConfigError(f"there is no part {name!r}.{suggest(str(name), PARTS)}")
        (pair,) = self._read([tweet], [[reply]], embed=name == "relevance")
        return self._preset.parts[name](pair)

    def _read(
        self, tweets: Sequence[str], replies: Sequence[Sequence[str]], embed: bool = True
    ) -> list[ReplyPair]:
        if isinstance(tweets, str) or len(tweets) != len(replies):
            raise RewardError(
                f"tweet reward: expected a list of tweets and one list of replies for each, got "
                f"{len(tweets)} and {len(replies)}"
            )
        read = [
            (source, _read_text(reply, f"reply {column} to tweet {row}"))
            for row, (tweet, group) in enumerate(zip(tweets, replies, strict=True))
            for source in [_read_tweet(tweet, row)]
            for column, reply in enumerate(_checked_group(group, row))
        ]
        if not embed or not read:
            return [ReplyPair(tweet, reply, float("nan")) for tweet, reply in read]
        return self._embedded(read)

    def _embedded(self, read: Sequence[tuple[ReadText, ReadText]]) -> list[ReplyPair]:
        """Return the pairs with their cosines and, where there are gates, those of own words, and faults."""
        texts = [text.for_encoder for column in zip(*read, strict=True) for text in column]
        own = [own_text(*pair) for pair in read] if self._preset.gated else []
        vectors = self.encoder(texts + own).reshape(3 if own else 2, len(read), -1)
        cosines = np.clip(np.einsum("nd,knd->nk", vectors[0], vectors[1:]), -1, 1)
        if own:
            cosines[[not text for text in own], 1] = 0
        near = cosines.tolist()
        if not (own and self._looks_for_faults):
            return [ReplyPair(*pair, *one) for pair, one in zip(read, near, strict=True)]
        faults = self._faults(read, vectors, near)
        specific = shipped_faults().specificity(vectors[1], cosines[:, 0]).tolist()
        columns = zip(read, near, faults, specific, strict=True)
        return [ReplyPair(*pair, *one, *found) for pair, one, *found in columns]

    @property
    def _looks_for_faults(self) -> bool:
        return self.settings.faults and self.encoder.name == ENCODER

    def _faults(
        self, read: Sequence[tuple[ReadText, ReadText]], vectors: np.ndarray, near: list[list[float]]
    ) -> list[dict[str, float]]:
        model = shipped_faults()
        if not self._checked:
            model.check_encoder(self.encoder([PROBE])[0])
            self._checked = True
        numbers = np.array([pair_numbers(*pair, *one) for pair, one in zip(read, near, strict=True)])
        found = model.probabilities(fault_features(vectors[0], vectors[1], numbers))
        return [dict(zip(FAULTS, row, strict=True)) for row in found.tolist()]

    def _score(self, pair: ReplyPair, encoder: str) -> TweetScore:
        parts = {name: self._preset.parts[name](pair) for name in PARTS}
        gates = find_gates(pair, self.settings.limits) if self._preset.gated else ()
        if gates:
            total = -max(GATES[name].penalty for name in gates)
        else:
            total = self._preset.total(pair, parts, self.settings.weights)
        found = {"faults": pair.faults, "specificity": pair.specificity}
        return TweetScore(total, parts, gates, pair.cosine, encoder, **found)

    def _judged(self, pairs: Sequence[ReplyPair], scores: list[TweetScore]) -> list[TweetScore]:
        asked = [place for place, score in enumerate(scores) if not score.gates]
        if self._judge is None or not asked:
            return scores
        shown = [(pairs[place].tweet.raw, pairs[place].reply.raw) for place in asked]
        given = np.asarray(self._judge(shown), dtype=np.float64)
        if given.shape != (len(asked),) or not ((given >= 0) & (given <= 1)).all():
            raise RewardError(
                f"tweet reward: expected {len(asked)} numbers in [0, 1] from the judge, got "
                f"{given.tolist() if given.size < 20 else given.shape}"
            )
        mean, weight = MEANS[self.settings.judge_mean], self.settings.judge_weight
        for place, judged in zip(asked, given.tolist(), strict=True):
            total = mean(scores[place].total, judged, weight)
            scores[place] = replace(scores[place], total=total, judged=judged)
        return scores


def _checked_group(group: Sequence[str], row: int) -> Sequence[str]:
    if isinstance(group, str):
        raise RewardError(
            f"tweet reward: tweet {row}: expected a list of replies, got the string {group[:40]!r}; wrap "
            f"it in []"
        )
    return group


def _read_tweet(tweet: str, row: int) -> ReadText:
    read = _read_text(tweet, f"tweet {row}")
    if read.is_blank:
        raise RewardError(f"tweet reward: tweet {row} shows nothing ({tweet[:40]!r}); leave such rows out")
    return read


def _read_text(text: str, what: str) -> ReadText:
    if not isinstance(text, str):
        raise RewardError(f"tweet reward: {what}: expected a string, got {type(text).__name__}")
    return ReadText(text)
