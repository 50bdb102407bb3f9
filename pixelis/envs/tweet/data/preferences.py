"""Preferences between two replies to a tweet: one row of a file, and what is wrong with a bad one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator

from pixelis.envs.data.lines import load_rows
from pixelis.envs.schema import Record, read_fields
from pixelis.envs.tweet.data.tweet_rows import AnyText, Author, Line, Message
from pixelis.errors import DatasetError, shown


@dataclass(frozen=True)
class Preference(Record):
    """Two replies to a tweet, of which a reader prefers one.

    Attributes:
        tweet: what is replied to.
        chosen: the better reply.
        rejected: the worse one; any text, empty too, for that is what policies write.
        author: who wrote the tweet, without ``@``; empty if unknown.
        topic: of the tweet; empty if unknown.
        kind: what is wrong with the worse reply; empty if unknown.
    """

    tweet: Message
    chosen: Message
    rejected: AnyText
    author: Author = ""
    topic: Line = ""
    kind: Line = ""


def preference_row(value: Mapping[str, Any]) -> Preference:
    """Return the preference that a JSON object describes; ``null`` counts as left out.

    Raises:
        DatasetError: what is wrong with it.
    """
    found = read_fields(Preference, {name: one for name, one in value.items() if one is not None})
    if found.chosen == found.rejected.strip():
        raise DatasetError("fields 'chosen' and 'rejected' are the same text; remove the row")
    return found


def _is_good(label: Any) -> bool:
    if label not in ("good", "bad"):
        raise ValueError(f"must be 'good' or 'bad', got {shown(label, 60)}")
    return label == "good"


@dataclass(frozen=True)
class LabelledReply:
    """A reply that a reader called good or bad.

    Attributes:
        tweet: what is replied to.
        reply: any text.
        good: the label.
        kind: of good or bad reply; empty if unknown.
    """

    tweet: Message
    reply: str
    good: Annotated[bool, Field(validation_alias="label"), PlainValidator(_is_good)]
    kind: Line = ""


def labelled_row(value: Mapping[str, Any]) -> LabelledReply:
    """Return the labelled reply that a JSON object describes; fields of other names are left alone.

    Raises:
        DatasetError: what is wrong with it.
    """
    return read_fields(LabelledReply, value)


def load_preferences(path: Path) -> list[Preference]:
    """Return the rows of a JSONL file of preferences, in its order.

    Raises:
        DatasetError: the file cannot be read, has no rows, or has bad ones; the first five are named by line.
    """
    return load_rows(path, "JSONL file of preferences", preference_row)


def load_labelled(path: Path) -> list[LabelledReply]:
    """Return the rows of a JSONL file of labelled replies, in its order.

    Raises:
        DatasetError: as for `load_preferences`.
    """
    return load_rows(path, "JSONL file of labelled replies", labelled_row)
