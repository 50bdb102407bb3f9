"""Preferences between two replies to a tweet: one row of a file, and what is wrong with a bad one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pixelis.envs.data.fields import check_names, check_needed
from pixelis.envs.data.lines import Line, file_state, good_rows, json_object, read_lines
from pixelis.envs.tweet.data.tweet_rows import message_field, name_field
from pixelis.errors import DatasetError, shown

FIELDS = ("tweet", "chosen", "rejected", "author", "topic", "kind")
MAX_REJECTED_LENGTH = 4_000
"""Longest rejected text, in code points; whatever is longer is over every limit anyway."""


@dataclass(frozen=True)
class Preference:
    """Two replies to a tweet, of which a reader prefers one.

    Attributes:
        tweet: what is replied to.
        chosen: the better reply.
        rejected: the worse one; any text, empty too, for that is what policies write.
        author: who wrote the tweet, without ``@``; empty if unknown.
        topic: of the tweet; empty if unknown.
        kind: what is wrong with the worse reply; empty if unknown.
    """

    tweet: str
    chosen: str
    rejected: str
    author: str = ""
    topic: str = ""
    kind: str = ""


def preference_row(value: Mapping[str, Any]) -> Preference:
    """Return the preference that a JSON object describes; ``null`` counts as left out.

    Raises:
        DatasetError: what is wrong with it.
    """
    check_names(value, FIELDS)
    given = {name: one for name, one in value.items() if one is not None}
    check_needed(given, FIELDS[:3])
    rejected = given["rejected"]
    if not isinstance(rejected, str) or len(rejected) > MAX_REJECTED_LENGTH:
        got = f"{len(rejected):,} characters" if isinstance(rejected, str) else f"{rejected!r:.60}"
        raise DatasetError(
            f"field 'rejected' must be a text of at most {MAX_REJECTED_LENGTH:,} characters, got {got}; "
            "correct it"
        )
    chosen = message_field(given, "chosen")
    if chosen == rejected.strip():
        raise DatasetError("fields 'chosen' and 'rejected' are the same text; remove the row")
    author = name_field(given, "author").removeprefix("@")
    return Preference(
        message_field(given, "tweet"),
        chosen,
        rejected,
        author,
        name_field(given, "topic"),
        name_field(given, "kind"),
    )


@dataclass(frozen=True)
class LabelledReply:
    """A reply that a reader called good or bad.

    Attributes:
        tweet: what is replied to.
        reply: any text.
        good: the label.
        kind: of good or bad reply; empty if unknown.
    """

    tweet: str
    reply: str
    good: bool
    kind: str = ""


def labelled_row(value: Mapping[str, Any]) -> LabelledReply:
    """Return the labelled reply that a JSON object describes; fields of other names are left alone.

    Raises:
        DatasetError: what is wrong with it.
    """
    if not isinstance(value.get("reply"), str):
        raise DatasetError('expected a JSON object with texts "tweet" and "reply", and "label"; correct it')
    if value.get("label") not in ("good", "bad"):
        raise DatasetError(f"field 'label' must be 'good' or 'bad', got {shown(value.get('label'), 60)}")
    tweet = message_field({"tweet": value.get("tweet")}, "tweet")
    return LabelledReply(tweet, value["reply"], value["label"] == "good", name_field(value, "kind"))


def load_preferences(path: Path) -> list[Preference]:
    """Return the rows of a JSONL file of preferences, in its order.

    Raises:
        DatasetError: the file cannot be read, has no rows, or has bad ones; the first five are named by line.
    """
    return _load(path, "preferences", preference_row)


def load_labelled(path: Path) -> list[LabelledReply]:
    """Return the rows of a JSONL file of labelled replies, in its order.

    Raises:
        DatasetError: as for `load_preferences`.
    """
    return _load(path, "labelled replies", labelled_row)


R = TypeVar("R")


def _load(path: Path, what: str, parse: Callable[[Mapping[str, Any]], R]) -> list[R]:
    file_state(path, f"JSONL file of {what}")

    def row(line: Line) -> R:
        return parse(json_object(line.text))

    return [found for _, found in good_rows(path, read_lines(path), row)]
