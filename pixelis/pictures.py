"""A picture as the bytes of an image file, and as the address that pages and messages embed it by."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image


def image_file(image: Image.Image, kind: str = "png", **options: Any) -> bytes:
    """Return a picture as the bytes of a file of this kind, written with these options of Pillow's."""
    file = io.BytesIO()
    image.save(file, kind.upper(), **options)
    return file.getvalue()


def data_url(file: bytes, kind: str = "png") -> str:
    """Return an image file as a ``data:`` URL (RFC 2397)."""
    return f"data:image/{kind};base64,{base64.b64encode(file).decode('ascii')}"
