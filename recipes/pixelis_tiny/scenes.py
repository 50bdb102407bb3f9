"""Many small overviews with the place of every sign: what the perception stage learns from."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from pixelis.envs.pixel.tools.palette import KINDS, PALETTE
from pixelis.envs.pixel.tools.view import overview
from pixelis.envs.pixel.zoom_read.paint import paint_uncached
from pixelis.envs.pixel.zoom_read.scene import sample_scene

VIEW_SIZE = 384
LEVEL_SHARES = (0.1, 0.5, 0.4)
MAX_SIGNS = 12
SHARD_SIZE = 500
COLOURS = tuple(PALETTE)


@dataclass(frozen=True)
class SceneBatch:
    """Overviews and their signs; rows with fewer signs are filled with colour -1.

    Attributes:
        images: uint8 ``(n, s, s, 3)``, as the processor shrinks a view.
        colours: int64 ``(n, 12)``, index in ``PALETTE`` or -1.
        kinds: int64 ``(n, 12)``, index in ``KINDS``.
        boxes: float32 ``(n, 12, 4)``, normalised to the scene.
    """

    images: np.ndarray
    colours: np.ndarray
    kinds: np.ndarray
    boxes: np.ndarray


def load_scenes(folder: Path, shards: int, image_size: int, seed: int, processes: int = 2) -> SceneBatch:
    """Return ``shards`` × 500 scenes, painting those that are not in ``folder`` yet."""
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes) as pool:
        tasks = [(folder, image_size, seed + index) for index in range(shards)]
        files = list(pool.map(_shard_file, *zip(*tasks, strict=True)))
    loaded = [np.load(file) for file in files]
    return SceneBatch(**{name: np.concatenate([shard[name] for shard in loaded]) for name in loaded[0].files})


def _shard_file(folder: Path, image_size: int, seed: int) -> Path:
    file = folder / f"scenes-{image_size}-{seed}.npz"
    if not file.exists():
        partial = file.with_suffix(".partial.npz")
        np.savez(partial, **asdict(generate(SHARD_SIZE, image_size, seed)))
        partial.rename(file)
    return file


def generate(count: int, image_size: int, seed: int) -> SceneBatch:
    """Draw ``count`` scenes of levels 0-2 from the train split."""
    rows = list(_rows(count, image_size, seed))
    return SceneBatch(*(np.stack(column) for column in zip(*rows, strict=True)))


def _rows(count: int, image_size: int, seed: int) -> Iterator[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        level = int(rng.choice(len(LEVEL_SHARES), p=LEVEL_SHARES))
        scene = sample_scene(rng, level, "train")
        view = Image.fromarray(overview(paint_uncached(scene)[0], VIEW_SIZE))
        image = np.asarray(view.resize((image_size, image_size), Image.Resampling.BILINEAR))
        colours, kinds = np.full(MAX_SIGNS, -1), np.zeros(MAX_SIGNS, np.int64)
        boxes = np.zeros((MAX_SIGNS, 4), np.float32)
        for index, sign in enumerate(scene.signs):
            colours[index], kinds[index] = COLOURS.index(sign.colour), KINDS.index(sign.kind)
            boxes[index] = sign.box(scene.size)
        yield image, colours, kinds, boxes
