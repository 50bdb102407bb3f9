"""What a run leaves beside weights that it trained: the system prompt, and which model it began with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from pixelis.agents.run_files.state_files import read_json, write_json
from pixelis.errors import CheckpointError

NOTE = "pixelis.json"


@dataclass(frozen=True)
class ModelNote:
    """What is known of trained weights.

    Attributes:
        system_prompt: the system message that every episode began with; empty for none.
        trained_from: the model before training: a hub id, a name of ours or a folder; None where unknown.
    """

    system_prompt: str = ""
    trained_from: str | None = None


def write_note(folder: Path, note: ModelNote) -> None:
    """Write a note into the folder of an adapter or a model."""
    write_json(folder / NOTE, asdict(note))


def read_note(folder: Path) -> ModelNote:
    """Return the note in a folder; an empty one where there is none.

    Raises:
        CheckpointError: it is damaged.
    """
    if not (folder / NOTE).is_file():
        return ModelNote()
    values = read_json(folder / NOTE)
    prompt, before = values.get("system_prompt", ""), values.get("trained_from")
    if not isinstance(prompt, str) or not isinstance(before, str | None):
        raise CheckpointError(f"{str(folder / NOTE)!r} is damaged: expected text, got {str(values)[:200]}")
    return ModelNote(prompt, before)
