"""What an evaluation has reached, kept on disk while it goes on: a table, and all that was said."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelis.errors import OutputError

if TYPE_CHECKING:
    from pixelis.agents.episodes.episode import Episode
    from pixelis.agents.runs.evaluate import Evaluation, Listener

PARTIAL, TRANSCRIPTS = ".partial", ".transcripts.jsonl"
_EVERY_SECONDS = 2.0  # between two writings of the table while episodes come


class Results:
    """Evaluations as they come; use it as a context manager around all of the playing.

    ``NAME.json`` holds the table and ``NAME.transcripts.jsonl`` a line an episode. Both are written aside and
    renamed. Until the end the table says ``partial: true`` and how many episodes of how many each row has; a
    whole table that was there before stays until then, and the partial one is called ``NAME.partial.json``.

    Args:
        path: of the table.
        more: JSON-able values beside the rows.

    Attributes:
        rows: the evaluations that are finished.
        more: as above; what is added to it is written too.
        also: are told of every episode too.

    Raises:
        OutputError: the folder or the file cannot be written, which is found out before anything is played.
    """

    def __init__(self, path: Path, more: Mapping[str, Any]) -> None:
        self.path, self.more = path, dict(more)
        self.rows: list[Evaluation] = []
        self.also: list[Callable[[Sequence[Episode]], None]] = []
        self._open: Evaluation | None = None  # the row that episodes come for
        self._episodes: list[Episode] = []
        self._written = 0.0
        self._place = check_place(path)
        self.transcripts = _transcripts_of(path)
        self._aside = self.transcripts.with_name(f".{self.transcripts.name}.unfinished")
        with _writing(path):
            self._aside.write_text("", encoding="utf-8")

    @property
    def log(self) -> Path:
        """Where tracebacks go."""
        return _log_of(self.path)

    @contextlib.contextmanager
    def row(self, planned: Evaluation, listener: Listener | None = None) -> Iterator[_Row]:
        """Take the episodes of one evaluation; if the block raises, what has been played is kept.

        Args:
            planned: a row without episodes that says who plays what, and how many are planned.
            listener: is told of them too.
        """
        self._open, self._episodes = planned, []
        yield _Row(self, listener)
        self.rows.append(self._summary())
        self._open = None
        self._write(self._place, partial=True)

    def take(self, episodes: Sequence[Episode]) -> None:
        """Keep episodes of the open row."""
        from pixelis.agents.runs.transcripts import episode_row
        from pixelis.files import json_line

        assert self._open is not None  # row() is open
        self._episodes += episodes
        who = {"agent": self._open.agent, "mode": self._open.mode}
        lines = [json_line(who | episode_row(each), default=str) for each in episodes]
        with _writing(self.transcripts), self._aside.open("a", encoding="utf-8") as file:
            file.writelines(lines)
        for tell in self.also:
            tell(episodes)
        if time.monotonic() - self._written > _EVERY_SECONDS:
            self._write(self._place, partial=True)

    def __enter__(self) -> Results:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        """Write the whole table, or where the block raised the partial one."""
        if error is None:
            self._write(self.path, partial=False)
            self._keep_transcripts(self.transcripts)
            if self._place != self.path:
                self._place.unlink(missing_ok=True)
                _transcripts_of(self._place).unlink(missing_ok=True)
        elif self.rows or self._episodes:
            with contextlib.suppress(OutputError):  # the error that ended it is the one to be told
                self.transcripts = _transcripts_of(self._place)
                self._write(self._place, partial=True)  # it names its own transcripts
                self._keep_transcripts(self.transcripts)
        else:
            self._aside.unlink(missing_ok=True)

    @property
    def partial(self) -> str | None:
        """What was kept of an evaluation that did not come to its end, in words; None without any."""
        rows = [*self.rows, *([self._summary()] if self._open is not None else [])]
        if not any(row.episodes + row.failed for row in rows):
            return None
        counts = [f"{row.episodes + row.failed} of {row.planned} of {row.agent} {row.mode}" for row in rows]
        return f"partial results ({', '.join(counts)}) are in {self._place}"

    # ------------------------------------------------------------------ private

    def _summary(self) -> Evaluation:
        from pixelis.agents.runs.evaluate import summarise

        assert self._open is not None  # row() is open
        row = self._open
        found = summarise(self._episodes, agent=row.agent, mode=row.mode)
        return replace(found, env_id=row.env_id, planned=row.planned, tasks=row.tasks)

    def _write(self, path: Path, *, partial: bool) -> None:
        from pixelis.agents.runs.evaluate import oracle_gaps
        from pixelis.agents.runs.evaluation_file import write_evaluations

        rows = [*self.rows, *([self._summary()] if self._open is not None and self._episodes else [])]
        counts = {"partial": partial, "transcripts": self.transcripts.name}
        write_evaluations(path, {"rows": oracle_gaps(rows)}, **counts, **self.more)
        self._written = time.monotonic()

    def _keep_transcripts(self, path: Path) -> None:
        with _writing(path):
            self._aside.replace(path)


class _Row:
    """Hands episodes on to the table, and to whoever shows them."""

    def __init__(self, results: Results, listener: Listener | None) -> None:
        self._results, self._listener = results, listener

    def ended(self, count: int) -> None:
        """Pass it on."""
        if self._listener is not None:
            self._listener.ended(count)

    def played(self, episodes: Sequence[Episode]) -> None:
        """Keep them, and pass them on."""
        self._results.take(episodes)
        if self._listener is not None:
            self._listener.played(episodes)


def files_of(table: Path) -> list[Path]:
    """Return all that `Results` may leave of a table: itself, what was said, both cut off, tracebacks."""
    aside = _aside_of(table)
    return [table, _transcripts_of(table), aside, _transcripts_of(aside), _log_of(table)]


def free_path(path: Path, made_by: Mapping[str, Any]) -> Path:
    """Return where a JSON file goes whose name nobody gave: over no other result.

    Args:
        path: its name, to which ``-2``, ``-3`` and so on is added as long as there is something else.
        made_by: JSON-able values of the file that say what it is of; one of the same is written over.

    Raises:
        OutputError: it cannot be told what is there.
    """
    wanted, place, number = json.loads(json.dumps(made_by)), path, 1
    with _writing(path):
        while place.exists() and not _holds(place, wanted):
            number += 1
            place = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return place


def check_place(path: Path) -> Path:
    """Return where a table that is not whole goes: to its own place, unless a whole one is there.

    Raises:
        OutputError: nothing can be written there; nothing was changed.
    """
    try:
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise IsADirectoryError(21, "it is a folder")
            probe = path.with_name(f".{path.name}.unfinished")
            probe.write_text("", encoding="utf-8")
            probe.unlink()
            if not path.exists():
                return path
    except ValueError as error:  # a NUL, or half a surrogate
        raise OutputError(
            f"cannot write to {str(path)!r}: no file can have that name ({error}); choose another --output"
        ) from error
    return path if _read(path).get("partial") else _aside_of(path)


# ---------------------------------------------------------------------- private


def _transcripts_of(table: Path) -> Path:
    return table.with_name(f"{table.stem}{TRANSCRIPTS}")


def _aside_of(table: Path) -> Path:
    return table.with_name(f"{table.stem}{PARTIAL}{table.suffix}")


def _log_of(table: Path) -> Path:
    return table.with_name(f"{table.stem}.log.txt")


def _holds(path: Path, wanted: Mapping[str, Any]) -> bool:
    saved = _read(path)
    return all(name in saved and saved[name] == value for name, value in wanted.items())


def _read(path: Path) -> dict[str, Any]:
    """Return what a file of JSON holds; nothing where it is none."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    from pixelis.files import writing

    with writing(path):
        yield
