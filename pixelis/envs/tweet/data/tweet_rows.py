"""One row of a file of tweets: its fields, and what is wrong with a bad one."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from annotated_types import MaxLen
from pydantic import BeforeValidator, PlainValidator

from pixelis.envs.data.splits import RowSplit, hashed_split
from pixelis.envs.schema import Record, read_fields
from pixelis.envs.spaces import clean_text
from pixelis.envs.tweet.data.tweet_text import normalised_text
from pixelis.errors import shown

MAX_TWEET_LENGTH = 1_500
"""Longest text of a message, so that a whole thread and its frame fit into one observation."""
MAX_ANY_LENGTH = 4_000
"""Longest text that a policy is taken to have written, in code points: it is over every limit anyway."""
MAX_FOLLOW_UPS = 4
_MAX_NAME_LENGTH = 100
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
OTHER_NAMES: Mapping[str, str] = dict.fromkeys(
    ("text", "full_text", "content", "body", "message", "status"), "tweet"
)
"""What exports call the tweet → the field's name."""


def _message(value: Any) -> str:
    """Return a text that a person could have posted: readable, of any script, not blank."""
    if not isinstance(value, str) or len(value) > MAX_TWEET_LENGTH:
        raise ValueError(f"must be a text of at most {MAX_TWEET_LENGTH:,} characters, {_got(value)}")
    if value != clean_text(value) or _CONTROL.search(value):
        raise ValueError(
            f"holds control characters or half of a surrogate pair: {shown(value, 60)}; remove them"
        )
    if not any(unicodedata.category(one)[0] in "LNS" for one in value):
        raise ValueError(f"must hold a word, a number or an emoji, got {shown(value, 60)}; remove the row")
    return value.strip()


def _any_text(value: Any) -> str:
    """Return any text that is not far beyond every limit."""
    if not isinstance(value, str) or len(value) > MAX_ANY_LENGTH:
        raise ValueError(f"must be a text of at most {MAX_ANY_LENGTH:,} characters, {_got(value)}")
    return value


def _got(value: Any) -> str:
    return f"got {f'{len(value):,} characters' if isinstance(value, str) else shown(value, 60)}; correct it"


def _line(value: Any) -> str:
    """Return a text that is one line, perhaps empty; numbers serve as authors in many exports."""
    value = str(value) if type(value) is int else value
    if not isinstance(value, str) or len(value) > _MAX_NAME_LENGTH or not value.isprintable():
        raise ValueError(
            f"must be one line of at most {_MAX_NAME_LENGTH} characters, got {shown(value, 60)}; correct it"
        )
    return value.strip()


def _author(value: Any) -> str:
    return _line(value).removeprefix("@")


def _engagement(value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"must be a number of at least 0, got {shown(value, 60)}; or leave it out")
    return number


def given_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a JSON object that say something: ``None`` and empty texts count as left out.

    Not so the tweet itself, which no row is without.
    """
    return {name: one for name, one in value.items() if one not in (None, "") or name == "tweet"}


def _follow_up(value: Any) -> Any:
    value = {"tweet": value} if isinstance(value, str) else value
    return given_fields(value) if isinstance(value, Mapping) else value


Message = Annotated[str, PlainValidator(_message)]
"""What a person could have posted."""
AnyText = Annotated[str, PlainValidator(_any_text)]
"""What a policy could have written."""
Line = Annotated[str, PlainValidator(_line)]
"""A name, of at most 100 characters."""
Author = Annotated[str, PlainValidator(_author)]
"""Who wrote a tweet, without ``@``."""


@dataclass(frozen=True)
class FollowUp(Record):
    """What the author writes back, and a good reply to it (empty where the file gives none)."""

    tweet: Message
    reply: Message = ""


@dataclass(frozen=True)
class TweetRow(Record):
    """A tweet.

    Attributes:
        tweet: its text.
        reply: a good reply; empty where the file gives none.
        author: who wrote it, without ``@``; empty if unknown.
        engagement: likes, views or whatever else is counted, at least 0, or ``None``.
        topic: one word or a few; empty if unknown.
        emotion: likewise.
        thread: what the author writes back after the first reply, after the second, …
        split: ``train`` or ``test``.
    """

    tweet: Message
    reply: Message = ""
    author: Author = ""
    engagement: Annotated[float | None, PlainValidator(_engagement)] = None
    topic: Line = ""
    emotion: Line = ""
    thread: Annotated[
        tuple[Annotated[FollowUp, BeforeValidator(_follow_up)], ...], MaxLen(MAX_FOLLOW_UPS)
    ] = ()
    split: RowSplit = "train"

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object, without the fields that are empty."""
        row: dict[str, Any] = {"tweet": self.tweet}
        row |= {name: getattr(self, name) for name in ("reply", "author", "topic", "emotion")}
        row["engagement"] = self.engagement
        row["thread"] = [
            {"tweet": one.tweet, **({"reply": one.reply} if one.reply else {})} for one in self.thread
        ]
        return {name: value for name, value in row.items() if value not in ("", None, [])} | {
            "split": self.split
        }

    def digest(self) -> bytes:
        """Return 8 bytes that are equal for tweets of the same normalised text."""
        return hashlib.sha256(normalised_text(self.tweet).encode()).digest()[:8]


def tweet_row(value: Mapping[str, Any]) -> TweetRow:
    """Return the row that a JSON object describes; ``None`` and empty texts count as left out.

    Raises:
        DatasetError: what is wrong with it.
    """
    given = given_fields(value)
    row = read_fields(TweetRow, given, OTHER_NAMES)
    return row if "split" in given else replace(row, split=tweet_split(row.tweet, row.author))


def tweet_split(tweet: str, author: str) -> str:
    """Return the split of a row that names none: a fifth of the authors, by SHA-256, is for testing.

    Rows without an author go by their normalised text. Near-duplicates by different authors may part;
    ``scripts/split_data.py`` keeps them together.
    """
    return hashed_split(f"@{author.casefold()}" if author else normalised_text(tweet))


FIELDS = tuple(field.name for field in fields(TweetRow))
