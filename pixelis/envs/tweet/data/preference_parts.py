"""Four parts of preferences that share no tweet, near-duplicate or author: two models, each with its own dev.

What the training reward learns from, the evaluation reward never sees, and the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pixelis.envs.tweet.data.near_duplicates import DisjointSets, join_near_duplicates
from pixelis.envs.tweet.data.preferences import Preference
from pixelis.envs.tweet.data.split import SplitSettings, deal
from pixelis.envs.tweet.data.tweet_rows import TweetRow
from pixelis.envs.tweet.data.worse_replies import Sentences, derive_preferences
from pixelis.errors import DatasetError

DEV_SHARE = 0.2
_STRIDE = 8  # of 16 sentences a kind: six to train each model, two for its dev set
_SENTENCES = ((0, 1, 2), (3,), (4, 5, 6), (7,))
LEAST_PAIRS = 20
"""Fewest pairs of a part; with fewer, neither fitting nor calibration means anything."""


@dataclass(frozen=True)
class PreferenceParts:
    """Preferences by what they are for.

    Attributes:
        train: of the training reward.
        dev: of the training reward, for choosing when to stop and for calibration.
        evaluation_train: of the evaluation reward.
        evaluation_dev: of the evaluation reward.
    """

    train: list[Preference]
    dev: list[Preference]
    evaluation_train: list[Preference]
    evaluation_dev: list[Preference]


def split_preferences(pairs: Sequence[Preference], seed: int = 0) -> PreferenceParts:
    """Return the four parts of preferences: halves by author and text, a fifth of each half for its dev.

    Raises:
        DatasetError: too few authors or tweets, so that a part would hold fewer than 20 pairs.
    """
    parts = deal_in_four([one.tweet for one in pairs], [one.author for one in pairs], _topics(pairs), seed)
    return _checked([[pairs[place] for place in part] for part in parts])


def derive_parts(rows: Sequence[TweetRow], sentences: Sentences, seed: int = 0) -> PreferenceParts:
    """Return the four parts of the preferences that rows with good replies give.

    Split first, derived afterwards: a borrowed reply comes from its own part, and each part has sentences of
    its own.

    Raises:
        DatasetError: too few rows, as above.
    """
    kept = [row for row in rows if row.reply]
    topics = [row.topic for row in kept]
    parts = deal_in_four([row.tweet for row in kept], [row.author for row in kept], topics, seed)
    shares = [_share(sentences, places) for places in _SENTENCES]
    return _checked(
        [
            derive_preferences([kept[place] for place in part], share, seed)
            for part, share in zip(parts, shares, strict=True)
        ]
    )


def deal_in_four(
    texts: Sequence[str], authors: Sequence[str], strata: Sequence[str], seed: int
) -> list[list[int]]:
    """Return the items of each part; items of one author, or of nearly the same text, stay together."""
    sets = DisjointSets(len(texts))
    first: dict[str, int] = {}
    for item, author in enumerate(authors):
        if author:
            sets.join(first.setdefault(author.casefold(), item), item)
    join_near_duplicates(sets, texts, texts.__getitem__)
    groups = sets.groups()
    halves = deal(groups, strata, SplitSettings(0.5, 0.5, seed)) if texts else []
    found: list[list[int]] = []
    for half in (0, 1):
        mine = [group for group in groups if halves[group[0]] == half]
        places = {item: place for place, item in enumerate(item for group in mine for item in group)}
        inner = [[places[item] for item in group] for group in mine]
        dealt = deal(inner, [strata[item] for item in places], SplitSettings(1 - DEV_SHARE, DEV_SHARE, seed))
        found += [[item for item in places if dealt[places[item]] == part] for part in (0, 1)]
    return [sorted(part) for part in found]


def _share(sentences: Sentences, places: Sequence[int]) -> Sentences:
    return {
        kind: [one for place, one in enumerate(each) if place % _STRIDE in places]
        for kind, each in sentences.items()
    }


def _topics(pairs: Sequence[Preference]) -> list[str]:
    return [one.topic for one in pairs]


def _checked(parts: list[list[Preference]]) -> PreferenceParts:
    sizes = [len(part) for part in parts]
    if min(sizes) < LEAST_PAIRS:
        raise DatasetError(
            f"expected at least {LEAST_PAIRS} preferences in each of four parts that share no tweet and no "
            f"author, got {sizes}; give more tweets by more authors"
        )
    return PreferenceParts(*parts)
