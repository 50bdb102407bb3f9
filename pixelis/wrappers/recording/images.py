"""Pictures beside a recording: ``images/<sha256>.png``, the same picture once."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.errors import RecordingError
from pixelis.files import writing
from pixelis.wrappers.recording.values import digest, is_picture

FOLDER = "images"


class ImageFolder:
    """A folder of PNG files named by what they show, which many processes may write to at once.

    Args:
        path: the folder; made with the first picture.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, sha256: str, picture: np.ndarray) -> None:
        """Write a picture, unless it is there; nobody ever meets half of it. Other arrays are left out.

        Raises:
            OutputError: it cannot be written.
        """
        from PIL import Image

        path = self._path(sha256)
        if not is_picture(picture):
            return
        with writing(path, "folder"):
            if path.exists():
                return
            self.path.mkdir(parents=True, exist_ok=True)
            unfinished = self.path / f".{sha256[:16]}.{secrets.token_hex(4)}.unfinished"
            try:
                pixels = picture[:, :, 0] if picture.shape[2] == 1 else picture
                Image.fromarray(np.ascontiguousarray(pixels)).save(unfinished, "PNG", compress_level=1)
                os.replace(unfinished, path)
            finally:
                unfinished.unlink(missing_ok=True)

    def __contains__(self, sha256: str) -> bool:
        """Return whether the picture is there."""
        return self._path(sha256).is_file()

    def load(self, about: Mapping[str, Any]) -> np.ndarray:
        """Return a picture by its sha256 and shape.

        Raises:
            RecordingError: there is no such file, or it shows something else.
        """
        from PIL import Image

        path = self._path(about["sha256"])
        try:
            with Image.open(path) as image:
                picture = np.asarray(image).reshape(about["shape"]).copy()
        except FileNotFoundError:
            raise RecordingError(
                f"there is no picture {str(path)!r}; keep {FOLDER}/ beside the recording"
            ) from None
        except (OSError, ValueError) as error:
            raise RecordingError(f"picture {str(path)!r} is damaged: {error}") from error
        if digest(picture) != about["sha256"]:
            raise RecordingError(f"picture {str(path)!r} is damaged: it is not what its name says")
        return picture

    def _path(self, sha256: str) -> Path:
        if re.fullmatch("[0-9a-f]{64}", str(sha256)) is None:  # a recording may come from a stranger
            raise RecordingError(f"a picture is named by 64 hex digits, got {str(sha256)[:80]!r}")
        return self.path / f"{sha256}.png"
