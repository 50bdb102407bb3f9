"""Rows in files: several processes play and write shards, a trainer reads them as they come."""

from __future__ import annotations

import os
import time
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path

import numpy as np

SCENES_A_SHARD = 50
_NONE = np.full((64, 3), -1, np.int16)  # of a row whose patches must tell nothing


def write_shards(folder: Path, processor: Path, seed: int, until: float) -> None:
    """Write shards of rows until a time of ``time.time``; each under another name first."""
    import torch
    from transformers import AutoProcessor

    from pixelis.agents.models.chat import ChatFormat
    from pixelis_mini_vl.rows import Row, rows

    torch.set_num_threads(1)
    loaded = AutoProcessor.from_pretrained(processor)
    chat = ChatFormat(loaded, _Placeholder(loaded.image_token_id))
    source, number = rows(chat, seed), 0
    while time.time() < until:
        found: list[Row] = [row for _ in range(SCENES_A_SHARD) for row in next(source)]
        save(folder / f"{seed:06d}-{number:06d}.npz", found)
        number += 1


class _Placeholder:
    """The part of a model's config that a chat format reads."""

    def __init__(self, image_token_index: int) -> None:
        self.image_token_index = image_token_index


def save(path: Path, found: list) -> None:
    """Write rows to a file; equal images once."""
    places: dict[bytes, int] = {}
    pictures: list[np.ndarray] = []
    shown: list[int] = []
    for row in found:
        for image in row.images:
            key = image.tobytes()
            if key not in places:
                places[key] = len(pictures)
                pictures.append(image)
            shown.append(places[key])
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(
            file,
            tokens=np.concatenate([row.tokens for row in found]),
            learned=np.concatenate([row.learned for row in found]),
            lengths=np.array([len(row.tokens) for row in found]),
            patches=np.stack([_NONE if row.patches is None else row.patches for row in found]),
            kinds=np.array([row.kind for row in found]),
            image_counts=np.array([len(row.images) for row in found]),
            shown=np.array(shown, np.int64),
            images=np.stack(pictures),
        )
    os.replace(partial, path)


def start(folder: Path, processor: Path, processes: int, seconds: float, seed: int) -> list[SpawnProcess]:
    """Start processes that write shards for some seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    context, until = get_context("spawn"), time.time() + seconds
    workers = [
        context.Process(target=write_shards, args=(folder, processor, seed + index, until), daemon=True)
        for index in range(processes)
    ]
    for worker in workers:
        worker.start()
    return workers
