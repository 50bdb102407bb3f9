"""Rows of a user: from a list, a dataset, or a JSONL or CSV file, each checked with its number."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pixelis.envs.data.lines import FileLine, find_file, good_rows, json_object, read_lines
from pixelis.envs.data.splits import asked, hashed_split
from pixelis.envs.tasks import SPLITS, Task
from pixelis.errors import DatasetError, PixelisError, shown
from pixelis.files import json_line, write_atomically, writing
from pixelis.user_code import user_code

LONGEST_PROMPT = 8_000
FAMILY = "rows"
_MAY_BE_BLANK = ("answer", "split")


class Row(NamedTuple):
    """A row, its number (of the line in a file, from 1), and the split that it belongs to."""

    number: int
    values: Mapping[str, Any]
    split: str


class _Numbered(NamedTuple):
    number: int
    value: Any


def read_rows(rows: Any) -> list[Row]:
    """Return the rows of a JSONL or CSV file, of a sequence of mappings, or of a ``datasets.Dataset``.

    Raises:
        DatasetError: there is no such file, there are no rows, or some are bad (five are named by number).
        UserCodeError: something that is no list raises while it is read.
    """
    if isinstance(rows, str | Path):
        path, _ = find_file(rows, "JSONL or CSV file of rows")
        lines = _csv_rows(path) if path.suffix.lower() == ".csv" else read_lines(path)
        return [row for _, row in good_rows(path, lines, _row)]
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        hint = f"; choose one of its parts, {shown(list(rows))}" if isinstance(rows, Mapping) else ""
        raise DatasetError(
            "rows must be a list of dicts, a JSONL or CSV file or a datasets.Dataset, got "
            f"{shown(rows, 60)}{hint}"
        )
    with user_code("reading rows one after the other"):
        found = [_Numbered(number, value) for number, value in enumerate(rows, 1)]
    if not found:
        raise DatasetError("rows is empty; give at least one row such as {'prompt': '2 + 2 = ?'}")
    try:
        return [row for _, row in good_rows(Path("rows"), found, _row)]
    except DatasetError as error:
        raise DatasetError(str(error).replace("line ", "row ")) from None


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as JSONL."""
    text = "".join(json_line(row.values) for row in rows)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)


class RowTasks:
    """The rows as tasks.

    A row goes where its field ``split`` says, else by its prompt, a fifth of them to ``test``. Where nothing
    is left for testing, both splits are all rows: nothing is then held out.

    Args:
        rows: at least one.

    Attributes:
        is_partly_labelled: some rows have an ``answer`` and others do not.

    Raises:
        DatasetError: no row is for training.
    """

    family = FAMILY
    difficulties = range(1)

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {split: [row for row in rows if row.split == split] for split in ("train", "test")}
        self.is_partly_labelled = len({row.values.get("answer") is None for row in rows}) > 1
        named = any("split" in row.values for row in rows)
        if named and not self._rows["train"]:
            raise DatasetError("every row has the split 'test'; give some 'train', or leave 'split' out")
        train, test = ({asked(row.values["prompt"]) for row in self._rows[split]} for split in self._rows)
        if train & test:
            raise DatasetError(
                f"the prompt {shown(min(train & test), 60)} is in both splits, letter case, spaces and "
                "Unicode form apart; train and test must not meet, so give both rows the same split"
            )
        if not all(self._rows.values()):
            self._rows = {"train": list(rows), "test": list(rows)}

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a row of a split."""
        rows = self._rows[split]
        row = rows[int(rng.integers(len(rows)))]
        return Task(
            id=f"{self.family}-{split}-{row.number}",
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=row.values["prompt"],
            answer="" if (known := row.values.get("answer")) is None else str(known),
            data={"row": dict(row.values)},
        )

    @property
    def first(self) -> Row:
        """The first row for training."""
        return self._rows["train"][0]


def _row(line: FileLine | _Numbered) -> Row:
    """Return the checked row of a line."""
    values = json_object(line.text) if isinstance(line, FileLine) else line.value
    if isinstance(values, PixelisError):
        raise values
    if not isinstance(values, Mapping):
        raise DatasetError(f"a row must be a dict, got {shown(values, 60)}")
    prompt = values.get("prompt")
    if prompt is None:
        raise DatasetError(f"field 'prompt' is missing; the row has {shown(list(values))}")
    if not isinstance(prompt, str) or not 1 <= len(prompt.strip()) <= len(prompt) <= LONGEST_PROMPT:
        raise DatasetError(
            f"field 'prompt' must be a text of 1 to {LONGEST_PROMPT:,} characters, got {shown(prompt, 60)}"
        )
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise DatasetError(f"a row must hold JSON values ({error}); leave other fields out") from None
    split = values["split"] if values.get("split") is not None else hashed_split(asked(prompt))
    if not isinstance(split, str) or split not in SPLITS:
        raise DatasetError(
            f"field 'split' must be 'train' or 'test', got {shown(split, 60)}; leave it out to have it chosen"
        )
    return Row(
        line.number, {name: each for name, each in values.items() if (name, each) != ("split", None)}, split
    )


def _csv_rows(path: Path) -> Iterator[_Numbered]:
    """Yield the rows of a CSV file under the names in its first line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            for values in reader:
                bad = None in values or None in values.values()
                problem = DatasetError(f"expected {len(reader.fieldnames or ())} columns; correct the line")
                # A table cannot leave a column out of a row: its blank cells do.
                kept = {n: v for n, v in values.items() if n not in _MAY_BE_BLANK or bad or v.strip()}
                yield _Numbered(reader.line_num, problem if bad else kept)
    except (OSError, ValueError, csv.Error) as error:
        raise DatasetError(f"cannot read {path} ({error}); save it as CSV in UTF-8") from None
