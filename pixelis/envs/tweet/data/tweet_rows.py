"""One row of a file of tweets: its fields, and what is wrong with a bad one."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pixelis.envs.data.fields import check_names
from pixelis.envs.data.splits import hashed_split, row_split
from pixelis.envs.spaces import clean_text
from pixelis.envs.tweet.data.tweet_text import normalised_text
from pixelis.errors import DatasetError, shown

FIELDS = ("tweet", "reply", "author", "engagement", "topic", "emotion", "thread", "split")
MAX_TWEET_LENGTH = 1_500
"""Longest text of a message, so that a whole thread and its frame fit into one observation."""
MAX_FOLLOW_UPS = 4
_MAX_NAME_LENGTH = 100
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
OTHER_NAMES: Mapping[str, str] = dict.fromkeys(
    ("text", "full_text", "content", "body", "message", "status"), "tweet"
)
"""What exports call the tweet → the field's name."""


@dataclass(frozen=True)
class FollowUp:
    """What the author writes back, and a good reply to it (empty where the file gives none)."""

    tweet: str
    reply: str = ""


@dataclass(frozen=True)
class TweetRow:
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

    tweet: str
    reply: str = ""
    author: str = ""
    engagement: float | None = None
    topic: str = ""
    emotion: str = ""
    thread: tuple[FollowUp, ...] = field(default=())
    split: str = "train"

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
    check_names(value, FIELDS, OTHER_NAMES)
    given = {name: one for name, one in value.items() if one is not None and one != ""}
    if "tweet" not in given:
        raise DatasetError("field 'tweet' is missing or empty; a row needs the text of a tweet")
    tweet = message_field(given, "tweet")
    author = name_field(given, "author").removeprefix("@")
    split = row_split(given, tweet_split(tweet, author))
    return TweetRow(
        tweet=tweet,
        reply=message_field(given, "reply") if "reply" in given else "",
        author=author,
        engagement=_engagement(given),
        topic=name_field(given, "topic"),
        emotion=name_field(given, "emotion"),
        thread=_thread(given),
        split=split,
    )


def tweet_split(tweet: str, author: str) -> str:
    """Return the split of a row that names none: a fifth of the authors, by SHA-256, is for testing.

    Rows without an author go by their normalised text. Near-duplicates by different authors may part;
    ``scripts/split_data.py`` keeps them together.
    """
    return hashed_split(f"@{author.casefold()}" if author else normalised_text(tweet))


# ---------------------------------------------------------------------- fields


def message_field(row: Mapping[str, Any], name: str) -> str:
    """Return a field's text, which a person could have posted: readable, of any script, not blank.

    Raises:
        DatasetError: it is no such text.
    """
    value = row[name]
    if not isinstance(value, str) or len(value) > MAX_TWEET_LENGTH:
        got = f"{len(value):,} characters" if isinstance(value, str) else f"{value!r:.60}"
        raise DatasetError(
            f"field {name!r} must be a text of at most {MAX_TWEET_LENGTH:,} characters, got {got}; correct it"
        )
    if value != clean_text(value) or _CONTROL.search(value):
        raise DatasetError(
            f"field {name!r} holds control characters or half of a surrogate pair: {value!r:.60}; remove them"
        )
    if not any(unicodedata.category(one)[0] in "LNS" for one in value):
        raise DatasetError(
            f"field {name!r} must hold a word, a number or an emoji, got {value!r:.60}; remove the row"
        )
    return value.strip()


def name_field(row: Mapping[str, Any], name: str) -> str:
    """Return a field that is one line, perhaps empty.

    Raises:
        DatasetError: it is more, or something else.
    """
    value = row.get(name, "")
    if isinstance(value, int) and not isinstance(value, bool):  # numbers serve as authors in many exports
        value = str(value)
    if not isinstance(value, str) or len(value) > _MAX_NAME_LENGTH or not value.isprintable():
        raise DatasetError(
            f"field {name!r} must be one line of at most {_MAX_NAME_LENGTH} characters, got {value!r:.60}; "
            "correct it"
        )
    return value.strip()


def _engagement(row: Mapping[str, Any]) -> float | None:
    value = row.get("engagement")
    if value is None:
        return None
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise DatasetError(
            f"field 'engagement' must be a number of at least 0, got {shown(value, 60)}; or leave it out"
        )
    return number


def _thread(row: Mapping[str, Any]) -> tuple[FollowUp, ...]:
    value = row.get("thread", [])
    if not isinstance(value, list) or len(value) > MAX_FOLLOW_UPS:
        raise DatasetError(
            f"field 'thread' must be a list of at most {MAX_FOLLOW_UPS} follow-ups of the author, "
            f'got {shown(value, 60)}; write [{{"tweet": …, "reply": …}}, …]'
        )
    return tuple(map(_follow_up, value))


def _follow_up(value: Any) -> FollowUp:
    if isinstance(value, str):
        value = {"tweet": value}
    if not isinstance(value, Mapping) or not set(value) <= {"tweet", "reply"} or not value.get("tweet"):
        raise DatasetError(
            f'field \'thread\' must hold texts or {{"tweet": …, "reply": …}}, got {value!r:.60}; correct it'
        )
    return FollowUp(
        message_field(value, "tweet"), message_field(value, "reply") if value.get("reply") else ""
    )
