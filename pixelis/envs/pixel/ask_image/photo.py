"""The user's own pictures: opened with care, upright, RGB, and made square by grey bars."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageOps

from pixelis.envs.pixel.tools.view import Box
from pixelis.errors import ImageReadError, ImageSizeError, shown

MAX_PHOTO_PIXELS = 80_000_000
"""Largest picture that is decoded, pixels (240 MB as RGB); below the size at which Pillow itself warns."""

MAX_SIDE = 8_192
"""Longest side of a scene, pixels; a longer picture is shrunk to it, which no coordinate notices."""

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
"""What is read. Formats that Pillow hands to other programs (EPS) are not among them."""

BAR_COLOUR = (127, 127, 127)
_PAPER = (255, 255, 255)
_READABLE = ("1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX")
_ANIMATED = ("GIF", "WEBP", "PNG", "TIFF")


@dataclass(frozen=True)
class Letterbox:
    """Where an upright picture of ``width`` × ``height`` lies in its square scene: centred, unscaled.

    The scene's side is the picture's longer one, so shapes keep their proportions and the shorter dimension
    has a bar at either end. Picture coordinates are in 0-1 of the picture's own width and height, scene
    coordinates in 0-1 of the scene.

    Attributes:
        width: of the picture, pixels, at least 1.
        height: likewise.
    """

    width: int
    height: int

    @property
    def side(self) -> int:
        """Side of the scene, pixels."""
        return max(self.width, self.height)

    @property
    def corner(self) -> tuple[int, int]:
        """Left and top edge of the picture in the scene, pixels."""
        return (self.side - self.width) // 2, (self.side - self.height) // 2

    def point_to_scene(self, point: Sequence[float]) -> tuple[float, float]:
        """Return a point of the picture in scene coordinates."""
        left, top = self.corner
        x, y = (point[0] * self.width + left) / self.side, (point[1] * self.height + top) / self.side
        return min(x, 1.0), min(y, 1.0)

    def box_to_scene(self, box: Sequence[float]) -> Box:
        """Return a box ``[x0, y0, x1, y1]`` of the picture in scene coordinates."""
        return (*self.point_to_scene(box[:2]), *self.point_to_scene(box[2:]))


@dataclass(frozen=True)
class Photo:
    """A picture as a square scene.

    Attributes:
        image: RGB, ``letterbox.side`` pixels square; shared, never drawn on.
        letterbox: where the picture lies in it.
    """

    image: Image.Image
    letterbox: Letterbox


def open_photo(path: str | os.PathLike[str]) -> Photo:
    """Return a picture file as a square scene; the last two are kept while their files do not change.

    The picture is turned upright by its EXIF orientation. Palettes, grey levels and bitmaps become RGB,
    transparent pixels white. Of a stereo photograph (MPO) the first picture counts.

    Raises:
        ImageReadError: no file, no picture in one of ``FORMATS``, damaged or cut off; an animation or several
            pages (which one is meant?); CMYK, 16-bit or floating-point pixels (which colours are meant
            depends on a profile or a range that the file does not have to name).
        ImageSizeError: more than ``MAX_PHOTO_PIXELS`` pixels; known from the header, nothing is decoded.
    """
    try:
        status = os.stat(path)
        if not os.path.isfile(path):
            raise ImageReadError(f"expected an image file at {path}, got something else; correct the path")
    except (OSError, ValueError) as error:
        if isinstance(error, ImageReadError):
            raise
        raise ImageReadError(
            f"cannot open the image {path} ({error}); correct the path or restore it"
        ) from None
    return _open_photo(os.fspath(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2)
def _open_photo(path: str, modified: int, size: int) -> Photo:
    """Open a photo; ``modified`` and ``size`` make a changed file another one."""
    try:
        with Image.open(path, formats=FORMATS) as file:
            _check_header(path, file)
            image = _to_rgb(ImageOps.exif_transpose(file))
    except (ImageReadError, ImageSizeError):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageSizeError(
            f"expected an image of at most {MAX_PHOTO_PIXELS:,} pixels, got more in {path}; shrink it"
        ) from None
    except Image.UnidentifiedImageError:
        raise ImageReadError(
            f"expected a picture ({', '.join(FORMATS)}), got something else in {path}; convert it to PNG"
        ) from None
    except Exception as error:  # a damaged file makes a decoder raise almost anything
        raise ImageReadError(
            f"the image {path} is damaged or cut off ({type(error).__name__}: {error}); save or copy it anew"
        ) from None
    return _letterboxed(image)


def _check_header(path: str, file: Image.Image) -> None:
    """Refuse what cannot be decoded, or not in one way only, before it is decoded."""
    width, height = file.size
    if width * height > MAX_PHOTO_PIXELS or width < 1 or height < 1:
        raise ImageSizeError(
            f"expected an image of 1 to {MAX_PHOTO_PIXELS:,} pixels, got {width} x {height} in {path}; "
            "shrink it"
        )
    frames = getattr(file, "n_frames", 1) if file.format in _ANIMATED else 1
    if frames > 1:
        raise ImageReadError(
            f"expected a still image, got {frames} frames in {path}; save the frame you ask about as a PNG"
        )
    if file.mode not in _READABLE:
        raise ImageReadError(
            f"expected grey, RGB or palette colours of 8 bits, got mode {shown(file.mode)} in {path}; "
            "convert it to 8-bit RGB, with its colour profile or the range of its values in mind"
        )


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB" and "transparency" not in image.info:
        image.load()
        return image
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        layer = image.convert("RGBA")
        paper = Image.new("RGB", image.size, _PAPER)
        paper.paste(layer, mask=layer.getchannel("A"))
        return paper
    return image.convert("RGB")


def _letterboxed(image: Image.Image) -> Photo:
    if max(image.size) > MAX_SIDE:
        scale = MAX_SIDE / max(image.size)
        width, height = (max(1, round(length * scale)) for length in image.size)
        image = image.resize((width, height), Image.Resampling.BOX)
    box = Letterbox(*image.size)
    if box.width == box.height:
        return Photo(image, box)
    scene = Image.new("RGB", (box.side, box.side), BAR_COLOUR)
    scene.paste(image, box.corner)
    return Photo(scene, box)
