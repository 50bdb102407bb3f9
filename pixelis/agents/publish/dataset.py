"""A run's stored episodes as a dataset: chats with what was paid, which the library ``datasets`` reads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pixelis.agents.episode_files.reading import EpisodeFile, find_files, read_file
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.episodes.chat_messages import chat_messages
from pixelis.agents.publish.export import appear
from pixelis.agents.publish.language_stepper import CARD
from pixelis.agents.publish.model_card import shown_model
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.errors import RecordingError
from pixelis.files import json_line
from pixelis.wrappers.recording.images import FOLDER as IMAGES

SPLITS = ("train", "test")
"""Of episodes that were trained on, and of those of evaluations."""


def export_dataset(run: str | Path, output: str | Path) -> dict[str, int]:
    """Write the episodes that a run has kept as ``train.jsonl`` and ``test.jsonl``, with a card.

    A line is a chat in OpenAI's form (``messages``; pictures are files in ``images``), and ``reward``,
    ``reward_terms``, ``success``, ``env_id``, ``seed``, ``difficulty``, ``step`` and ``source``, the file of
    the run. Episodes in which the infrastructure failed, and those of agents without language, are left out.

    Args:
        run: a run folder.
        output: a folder that does not exist yet.

    Returns:
        How many episodes each split has.

    Raises:
        CheckpointError: there is no run.
        RecordingError: it has kept no episode that could be told.
        ConfigError: ``output`` exists.
        OutputError: it cannot be written; nothing is left of it.
    """
    folder, settings = RunFolder.open(Path(run))
    files = find_files(folder.path)
    counts: dict[str, int] = {split: 0 for split in SPLITS}

    def write(place: Path) -> None:
        """Fill the folder."""
        for split, evaluation in zip(SPLITS, (False, True), strict=True):
            chosen = [each for each in files if each.evaluation == evaluation]
            rows = [row for each in chosen for row in _rows(each, place)]
            counts[split] = len(rows)
            lines = [json_line(row) for row in rows]
            if lines:
                (place / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
        if not any(counts.values()):
            raise RecordingError(f"{str(run)!r} has kept no episode of an agent with language")
        (place / CARD).write_text(_card(settings, folder.path.resolve().name, counts), encoding="utf-8")

    appear(Path(output), write)
    return counts


# ---------------------------------------------------------------------- private


def _rows(file: EpisodeFile, place: Path) -> Iterator[dict[str, Any]]:
    for episode in read_file(file).episodes:
        if episode.failure is not None or not episode.turns or episode.asked is None:
            continue
        yield {
            "messages": _messages(episode, file.path.parent / IMAGES, place / IMAGES),
            "reward": episode.reward,
            "reward_terms": json.dumps(dict(episode.reward_terms)),
            "success": episode.success,
            "env_id": episode.env_id,
            "seed": episode.seed,
            "difficulty": episode.task.get("difficulty"),
            "step": file.step,
            "source": file.name,
        }


def _messages(episode: StoredEpisode, images: Path, kept: Path) -> list[dict[str, Any]]:
    turns = episode.turns or ()
    heard = [episode.asked, *(each.heard for each in turns)]
    shown = [_kept(about, images, kept) for about in episode.pictures]
    return list(chat_messages(heard, [each.action for each in turns], shown))


def _kept(about: Any, images: Path, kept: Path) -> str | None:
    """Copy a picture that is there, and return its place beside the file of chats."""
    source = None if about is None else images / f"{about['sha256']}.png"
    if source is None or not source.is_file():
        return None
    kept.mkdir(exist_ok=True)
    shutil.copyfile(source, kept / source.name)
    return f"{IMAGES}/{source.name}"


def _card(settings: dict[str, Any], name: str, counts: dict[str, int]) -> str:
    files = [{"split": split, "path": f"{split}.jsonl"} for split in SPLITS if counts[split]]
    header = {
        "configs": [{"config_name": "default", "data_files": files}],
        "tags": ["pixelis", "reinforcement-learning", "trajectories"],
    }
    model = settings.get("model")
    played = f" by `{shown_model(str(model))}` and what became of it in training" if model else ""
    told = ", ".join(f"{count:,} in `{split}`" for split, count in counts.items() if count)
    return (
        f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n# Episodes of {name}\n\n"
        f"Played in `{settings.get('env')}`{played}: {told}. Those of training are the samples that the run "
        "kept, not all that it played; `test` are its evaluations, on tasks it was not trained on.\n\n"
        "Each line is a chat (`messages`) with what the environment paid. `reward_terms` is JSON in a text. "
        "The texts and pictures are the environment's and the model's: look up both licences before you "
        "publish them.\n"
    )
