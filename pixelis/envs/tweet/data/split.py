"""Split a file of tweets into parts for SFT, for GRPO and for evaluation that share no tweet and no author.

Rows that belong together (the same author, the same or nearly the same text, see ``near_duplicates``) form a
group, and a group goes to one part. Groups are dealt out, largest first, each to the part that lacks most of
what it holds: of its strata (topic and quartile of engagement, where the rows have them) and of rows at all.
This is the iterative stratification of Sechidis, Tsoumakas and Vlahavas (2011) with groups in the place of
rows. A group larger than a part makes that part too large; the sizes that came out are reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pixelis.envs.tweet.data.near_duplicates import NEAR, DisjointSets, join_near_duplicates
from pixelis.envs.tweet.data.tweet_file import PARTS, TweetFile
from pixelis.envs.tweet.data.tweet_rows import TweetRow
from pixelis.errors import ConfigError, shown


@dataclass(frozen=True)
class SplitSettings:
    """How a file is split.

    Attributes:
        sft: share of the rows for supervised fine-tuning, 0-1.
        grpo: share for reinforcement learning; what the two leave is held out.
        seed: of the order in which equal groups are dealt out.
        near: least Jaccard similarity of near-duplicates, above 0 and at most 1.

    Raises:
        ConfigError: a share or ``near`` is out of range, or the shares exceed 1.
    """

    sft: float = 0.4
    grpo: float = 0.4
    seed: int = 0
    near: float = NEAR

    def __post_init__(self) -> None:
        for name in ("sft", "grpo"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"{name} must be a share from 0 to 1, got {shown(getattr(self, name))}; 0.4 is usual"
                )
        if self.sft + self.grpo > 1 + 1e-9:
            raise ConfigError(
                f"sft and grpo must be at most 1 together, got {self.sft} + {self.grpo}; lower one"
            )
        if not 0 < self.near <= 1:
            raise ConfigError(f"near must be above 0 and at most 1, got {shown(self.near)}; {NEAR} is usual")
        if self.seed < 0:
            raise ConfigError(f"seed must be at least 0, got {shown(self.seed)}; choose another")

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each of ``PARTS``."""
        return self.sft, self.grpo, max(0.0, 1 - self.sft - self.grpo)


@dataclass(frozen=True)
class Split:
    """Which row goes where.

    Attributes:
        parts: of each row, in the file's order, its number in ``PARTS``.
        groups: how many groups there are.
        largest_group: rows in the largest one.
        near_pairs: pairs of near-duplicates that joined two groups.
        strata: stratum → rows of it in each of ``PARTS``.
    """

    parts: tuple[int, ...]
    groups: int
    largest_group: int
    near_pairs: int
    strata: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """Rows in each part."""
        counts = Counter(self.parts)
        return {name: counts[number] for number, name in enumerate(PARTS)}


def split_tweets(tweets: TweetFile, settings: SplitSettings) -> Split:
    """Return which part each row of a file goes to.

    In memory are a few hundred bytes a row (the keys of its text), never the texts.

    Raises:
        DatasetError: the file has changed since it was opened.
    """
    authors: dict[str, int] = {}
    sets = DisjointSets(len(tweets))
    engagements, topics = [], []
    for item, (_, row) in enumerate(tweets.rows()):
        if row.author:
            sets.join(authors.setdefault(row.author.casefold(), item), item)
        engagements.append(np.nan if row.engagement is None else row.engagement)
        topics.append(row.topic)
    near_pairs = join_near_duplicates(
        sets, (row.tweet for _, row in tweets.rows()), lambda item: tweets.at(item).tweet, settings.near
    )
    names = [" ".join(filter(None, pair)) for pair in zip(topics, quartiles(engagements), strict=True)]
    groups = sets.groups()
    parts = deal(groups, names, settings)
    strata = {name: [0] * len(PARTS) for name in sorted(set(names))}
    for name, part in zip(names, parts, strict=True):
        strata[name][part] += 1
    counts = {name: tuple(row) for name, row in strata.items()}
    return Split(tuple(parts), len(groups), max(map(len, groups)), near_pairs, counts)


def quartiles(engagements: Sequence[float]) -> list[str]:
    """Return ``q1`` … ``q4`` for each number, by the quartiles of those that are no NaN; empty for NaN."""
    values = np.asarray(engagements, np.float64)
    known = values[~np.isnan(values)]
    if not known.size:
        return [""] * len(values)
    edges = np.quantile(known, [0.25, 0.5, 0.75])
    return ["" if np.isnan(value) else f"q{1 + int((value > edges).sum())}" for value in values]


def deal(groups: Sequence[Sequence[int]], strata: Sequence[str], settings: SplitSettings) -> list[int]:
    """Return the part of each row: every group whole, each stratum shared out as the settings say.

    A group goes to the part p with the greatest Σ over its rows of (w_p n_s − have_ps) / n_s for the row's
    stratum s plus the same for all n rows, with the part's share w_p; ties to the part that lacks more rows.

    Args:
        groups: the numbers of their rows.
        strata: of each row.
        settings: shares and seed.
    """
    names = {name: number for number, name in enumerate(sorted(set(strata)))}
    stratum = np.array([names[name] for name in strata], np.int64)
    totals = np.bincount(stratum, minlength=len(names)).astype(float)
    shares = np.array(settings.shares)
    have = np.zeros((len(shares), len(names)))
    rng = np.random.default_rng(settings.seed)
    parts = [0] * len(strata)
    for index in sorted(rng.permutation(len(groups)).tolist(), key=lambda one: -len(groups[one])):
        counts = np.bincount(stratum[list(groups[index])], minlength=len(names))
        lack = shares[:, None] * totals - have
        missing = lack.sum(1)
        score = (lack / totals) @ counts + missing / len(strata) * counts.sum()
        score[shares == 0] = -np.inf
        part = int(np.lexsort((-missing, -score.round(12)))[0])
        have[part] += counts
        for row in groups[index]:
            parts[row] = part
    return parts


def row_for_part(row: TweetRow, part: int) -> dict[str, Any]:
    """Return the row as it is written: what is held out is of the split ``test``, all else ``train``."""
    return row.to_json() | {"split": "test" if PARTS[part] == "held_out" else "train"}
