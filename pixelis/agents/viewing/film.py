"""An episode as a film: MP4 by Gymnasium's ``save_video``, which writes nothing else; GIF by Pillow."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pixelis.errors import ConfigError, MissingDependencyError, RecordingError
from pixelis.files import write_atomically, writing

_NAME = "episode"


def write_film(frames: Sequence[np.ndarray | None], path: Path, frames_per_second: float) -> None:
    """Write the pictures of an episode as ``.mp4`` or ``.gif``.

    Args:
        frames: uint8 [H, W, 3]; of several sizes the smaller ones are set into the largest.
        path: the file; its ending says which.
        frames_per_second: above 0.

    Raises:
        ConfigError: another ending.
        RecordingError: there is no picture.
        MissingDependencyError: an MP4 without moviepy.
        OutputError: it cannot be written.
    """
    kind = path.suffix.lower()
    if kind not in (".mp4", ".gif"):
        raise ConfigError(f"a film must be named .mp4 or .gif, got {str(path)!r}")
    pictures = _of_one_size([frame for frame in frames if frame is not None])
    if not pictures:
        raise RecordingError("the episode has no pictures to make a film of")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        (_write_gif if kind == ".gif" else _write_mp4)(pictures, path, frames_per_second)


# ---------------------------------------------------------------------- private


def _of_one_size(frames: list[np.ndarray]) -> list[np.ndarray]:
    """Set pictures into the top left of one size; even, as the codec of MP4 wants it."""
    if not frames:
        return []
    height, width = (-(-max(frame.shape[axis] for frame in frames) // 2) * 2 for axis in (0, 1))
    fitted = []
    for frame in frames:
        canvas = np.full((height, width, 3), 255, np.uint8)
        canvas[: frame.shape[0], : frame.shape[1]] = frame
        fitted.append(canvas)
    return fitted


def _write_gif(frames: list[np.ndarray], path: Path, frames_per_second: float) -> None:
    from PIL import Image

    first, *rest = [Image.fromarray(frame) for frame in frames]
    duration = max(round(1000 / frames_per_second), 20)  # milliseconds; browsers show no shorter one
    film = io.BytesIO()
    first.save(film, "GIF", save_all=True, append_images=rest, duration=duration, loop=0)
    write_atomically(path, film.getvalue())


def _write_mp4(frames: list[np.ndarray], path: Path, frames_per_second: float) -> None:
    import gymnasium as gym

    try:
        from gymnasium.utils.save_video import save_video
    except gym.error.DependencyNotInstalled as error:
        raise MissingDependencyError(
            "an MP4 needs moviepy: pip install 'pixelis[video]', or name the film .gif"
        ) from error
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".film-") as folder:
        save_video(frames, folder, episode_trigger=lambda _: True, name_prefix=_NAME, fps=frames_per_second)
        (made,) = Path(folder).glob("*.mp4")
        made.replace(path)
