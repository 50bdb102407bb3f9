"""Write a film of the oracle's episode in every environment with pictures, and a sheet of all.

Usage: python scripts/env_pictures.py [--seed 1] [--only ENV ...]

The films are GIFs in docs/images/envs, two seconds a turn; `scripts/env_docs.py` puts them into the
environments' pages. The sheet, docs/images/gallery.png, shows each environment before the last turn.
WebBrowse needs a Chromium (`make browser`).
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image

import pixelis  # noqa: F401
from pixelis.agents.viewing.film import write_film
from pixelis.envs.registration import ENVIRONMENTS, EnvEntry

FOLDER = Path(__file__).parents[1] / "docs" / "images"
FILMS = FOLDER / "envs"
WIDTH, COLUMNS, GAP = 660, 3, 8
KEYWORDS: dict[str, dict[str, Any]] = {
    "Pixelis/AskImage-v0": {"difficulty": 0},
    "Pixelis/WebBrowse-v0": {"difficulty": 1, "backend": "chromium"},
}
"""Where they are not ``difficulty=1``."""
FRAMES_PER_SECOND = 0.5


def has_pictures(entry: EnvEntry) -> bool:
    """Whether an environment can be rendered as pictures."""
    module, _, name = entry.entry_point.partition(":")
    modes = getattr(importlib.import_module(module), name).metadata["render_modes"]
    return "rgb_array" in modes


def film_path(entry: EnvEntry) -> Path:
    """Return where an environment's film lies."""
    return FILMS / f"{entry.id.removeprefix('Pixelis/').removesuffix('-v0')}.gif"


def episode(env_id: str, seed: int) -> list[np.ndarray]:
    """Return the oracle's episode: uint8 [H, W, 3] for the start and each turn, `WIDTH` wide."""
    env = gym.make(env_id, render_mode="rgb_array", **{"difficulty": 1, **KEYWORDS.get(env_id, {})})
    try:
        inner: Any = env.unwrapped
        observation, info = env.reset(seed=seed)
        player, frames, over = inner.players()["oracle"](inner), [_shown(env)], False
        while not over:
            observation, _, terminated, truncated, info = env.step(player.act(observation, info))
            frames.append(_shown(env))
            over = terminated or truncated
        return frames
    finally:
        env.close()


def _shown(env: gym.Env[Any, Any]) -> np.ndarray:
    picture = Image.fromarray(np.asarray(env.render()))
    return np.asarray(
        picture.resize((WIDTH, picture.height * WIDTH // picture.width), Image.Resampling.LANCZOS)
    )


def sheet(pictures: list[np.ndarray]) -> Image.Image:
    """Return pictures side by side, in rows of `COLUMNS`."""
    height = min(len(picture) for picture in pictures)
    rows = -(-len(pictures) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * (WIDTH + GAP) - GAP, rows * (height + GAP) - GAP), "white")
    for index, picture in enumerate(pictures):
        place = (index % COLUMNS) * (WIDTH + GAP), (index // COLUMNS) * (height + GAP)
        whole.paste(Image.fromarray(picture[:height]), place)
    return whole


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Write films of the environments, and a sheet of all.")
    parser.add_argument("--seed", type=int, default=1, help="of the episodes")
    parser.add_argument("--only", nargs="*", default=(), metavar="ENV", help="ids; then no sheet is written")
    options = parser.parse_args()
    last: list[np.ndarray] = []
    for entry in filter(has_pictures, ENVIRONMENTS):
        if options.only and entry.id not in options.only:
            continue
        frames = episode(entry.id, options.seed)
        write_film(frames, film_path(entry), FRAMES_PER_SECOND)
        last.append(frames[-2])
        print(
            f"{film_path(entry).name}: {len(frames)} turns, {film_path(entry).stat().st_size / 1000:.0f} kB"
        )
    if not options.only:
        whole = sheet(last)
        whole = whole.resize((whole.width // 2, whole.height // 2), Image.Resampling.LANCZOS)
        whole.save(FOLDER / "gallery.png", optimize=True)
        print(f"gallery.png: {(FOLDER / 'gallery.png').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
