"""An episode as a line of a file holds it, whoever wrote the line and however old it is."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

Call = Mapping[str, Any]
"""A tool call as `ToolResult.to_json` has it: ``tool``, ``ok``, ``text``, ``error_code``, ``arguments``."""
NO_TOOL = "bad_call"
"""The name under which calls to no known tool are counted, as in the metrics."""


class StoredToken(NamedTuple):
    """A token that a model wrote.

    Attributes:
        text: its own.
        logprob: natural log of its probability; None where it is no finite number.
        entropy: of the distribution it was drawn from, in nats; None likewise, or where it was not kept.
    """

    text: str
    logprob: float | None
    entropy: float | None = None


@dataclass(frozen=True)
class StoredTurn:
    """One env step.

    Attributes:
        action: what the agent said; for an agent without language its action as text.
        heard: the text of the observation that followed; None where there is none.
        calls: the tool calls of the turn.
        reward: what the step paid, None where it is not a finite number or was not kept.
        terms: of what it is made; empty where that was not kept.
        logprob: natural log of the probability with which the model wrote the turn, at its temperature; None
            where no model did, or it was not kept.
        tokens: how many tokens the model wrote, None likewise.
        sampled: each of them; empty where they were not kept.
    """

    action: str
    heard: str | None
    calls: tuple[Call, ...] = ()
    reward: float | None = None
    logprob: float | None = None
    tokens: int | None = None
    sampled: tuple[StoredToken, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredEpisode:
    """One episode.

    Attributes:
        path: the file.
        line: the line in it, from 1.
        seed: the reset seed; None where there was none.
        group: number of its group in its batch, None where it was not kept.
        member: its number inside the group.
        agent: who played, as the evaluation names it; empty in files of training.
        mode: ``greedy``, ``sampled`` or ``scripted``; likewise.
        asked: the first observation's text, None where it was not kept.
        turns: what was said and answered; None where the line is of a version that kept only ``text``.
        text: the whole episode as the model read and wrote it, with the chat template's signs.
        turn_count: env steps taken.
        calls: all tool calls, in order.
        reward: the return, None where it is no finite number.
        reward_terms: named terms, summed over the episode; those that are finite.
        reward_parts: component → ``raw``, ``normalised`` and ``weighted``, likewise.
        success: what the env said, None where it did not.
        truncated: whether the limit of turns or of the context ended it.
        task: what the env said of the task: ``id``, ``family``, ``difficulty``, ``split``, ``hash``.
        failure: why the infrastructure failed, None where it did not.
        visual_tools: the env's tools that look at pixels, None where that is not known.
        env_id: the Gymnasium id, None where it was not kept.
        env_kwargs: its keywords, None where they were not kept beside the episode.
        options: what ``reset`` was given, None where it was not kept.
        advantage: what the trainer made of it: one number, or one a turn; None outside training.
        pictures: ``sha256`` and ``shape`` of the pictures that were kept, one before the first turn and one
            after each, None where nothing new was shown; empty where none were kept.
    """

    path: Path
    line: int
    seed: int | None = None
    group: int | None = None
    member: int = 0
    agent: str = ""
    mode: str = ""
    asked: str | None = None
    turns: tuple[StoredTurn, ...] | None = None
    text: str = ""
    turn_count: int = 0
    calls: tuple[Call, ...] = ()
    reward: float | None = None
    reward_terms: Mapping[str, float] = field(default_factory=dict)
    reward_parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    success: bool | None = None
    truncated: bool = False
    task: Mapping[str, Any] = field(default_factory=dict)
    failure: str | None = None
    visual_tools: frozenset[str] | None = None
    env_id: str | None = None
    env_kwargs: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    advantage: float | tuple[float | None, ...] | None = None
    pictures: tuple[Mapping[str, Any] | None, ...] = ()

    @property
    def same_task(self) -> str:
        """What episodes of one task have in common: the task's digest, or the seed where there is none.

        Without either every episode is a task of its own.
        """
        known = self.task.get("hash") or self.task.get("id")
        if known is not None:
            return str(known)
        return self.where if self.seed is None else f"seed {self.seed}"

    @property
    def where(self) -> str:
        """Say where the episode stands, for messages."""
        return f"{self.path}, line {self.line}"

    @property
    def tools(self) -> set[str]:
        """Names of the tools that were called."""
        return {str(call.get("tool") or NO_TOOL) for call in self.calls}

    @property
    def error_codes(self) -> set[str]:
        """Those that its calls ended with."""
        return {str(call["error_code"]) for call in self.calls if call.get("error_code")}

    @property
    def level(self) -> str:
        """The task's family and difficulty, as far as they are known."""
        found = (self.task.get(key) for key in ("family", "difficulty"))
        return " ".join(str(each) for each in found if each is not None)

    @property
    def mean_advantage(self) -> float | None:
        """Its advantage; with credit by turn, their mean."""
        if not isinstance(self.advantage, tuple):
            return self.advantage
        known = [each for each in self.advantage if each is not None]
        return sum(known) / len(known) if known else None

    def advantage_of(self, turn: int) -> float | None:
        """Return the advantage of a turn, from 1."""
        if not isinstance(self.advantage, tuple):
            return self.advantage
        return self.advantage[turn - 1] if 0 < turn <= len(self.advantage) else None


def episode_of_row(row: Mapping[str, Any], path: Path, line: int) -> StoredEpisode:
    """Return the episode that a row describes (`pixelis.agents.runs.transcripts`; older ones too).

    What has another type than it should is taken as not kept.
    """
    calls = _mappings(row.get("tool_calls", row.get("results")))
    turns = _turns(row.get("exchanges"), calls)
    played = row.get("turns")  # a count, or the turns' texts of an agent without language
    failure = row.get("failure_reason", row.get("failure"))
    visual = row.get("visual_tools")
    return StoredEpisode(
        path=path,
        line=line,
        seed=_whole(row.get("seed")),
        group=_whole(row.get("group")),
        member=_whole(row.get("member")) or 0,
        agent=_text(row.get("agent")) or "",
        mode=_text(row.get("mode")) or "",
        asked=_text(row.get("asked")),
        turns=turns,
        text=_text(row.get("text")) or _joined(played),
        turn_count=len(turns) if turns is not None else _count(played),
        calls=calls,
        reward=finite(row.get("reward")),
        reward_terms=_numbers(row.get("reward_terms")),
        reward_parts={name: _numbers(part) for name, part in _mapping(row.get("reward_parts")).items()},
        success=_bool(row.get("success")),
        truncated=row.get("truncated") is True,
        task=_mapping(row.get("task")),
        failure=_text(failure),
        visual_tools=frozenset(map(str, visual)) if isinstance(visual, list) else None,
        env_id=_text(row.get("env_id")),
        options=row["options"] if isinstance(row.get("options"), dict) else None,
        advantage=_advantage(row.get("advantage")),
        pictures=tuple(map(picture_of, row["pictures"])) if isinstance(row.get("pictures"), list) else (),
    )


def picture_of(value: Any) -> Mapping[str, Any] | None:
    """Return what a row says of a picture, None where it names no file."""
    about = value.get("$image") if isinstance(value, dict) else None
    digest = about.get("sha256") if isinstance(about, dict) else None
    return about if isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) else None


def finite(value: Any) -> float | None:
    """Return a number that is finite, None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


# ---------------------------------------------------------------------- private


def _turns(rows: Any, calls: Sequence[Call]) -> tuple[StoredTurn, ...] | None:
    if not isinstance(rows, list):
        return None
    turns, taken = [], 0
    for row in _mappings(rows):
        count = max(_whole(row.get("calls")) or 0, 0)
        turns.append(
            StoredTurn(
                action=row["action"] if isinstance(row.get("action"), str) else str(row.get("action")),
                heard=_text(row.get("heard")),
                calls=tuple(calls[taken : taken + count]),
                reward=finite(row.get("reward")),
                logprob=finite(row.get("logprob")),
                tokens=_whole(row.get("tokens")),
                sampled=_sampled(row.get("sampled")),
                terms=_numbers(row.get("terms")),
            )
        )
        taken += count
    return tuple(turns)


def _mappings(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _numbers(value: Any) -> dict[str, float]:
    found = {str(name): finite(each) for name, each in _mapping(value).items()}
    return {name: number for name, number in found.items() if number is not None}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _joined(turns: Any) -> str:
    return "\n".join(map(str, turns)) if isinstance(turns, list) else ""


def _count(turns: Any) -> int:
    return len(turns) if isinstance(turns, list) else max(_whole(turns) or 0, 0)


def _advantage(value: Any) -> float | tuple[float | None, ...] | None:
    return tuple(map(finite, value)) if isinstance(value, list) else finite(value)


def _sampled(value: Any) -> tuple[StoredToken, ...]:
    rows = value if isinstance(value, list) else []
    kept = [row for row in rows if isinstance(row, list) and len(row) in (2, 3)]
    return tuple(StoredToken(str(text), *map(finite, numbers)) for text, *numbers in kept)
