"""What a row has read and written, as servers are asked to go on from it: token ids, and pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from pixelis.agents.episodes.episode import Segment, Shown

_COMPRESSION = 1  # of zlib: what a request has to wait for is the model


class Prompt:
    """A row's tokens, and its pictures.

    A server's own image processor says how many tokens a picture is, so that it is given one placeholder for
    each; what it makes of them must be what the model here reads.

    Args:
        segments: what it has read and written so far, in order.

    Attributes:
        tokens: ids that the model reads.
        shown: the same with one placeholder for each picture.
        pictures: in this order, as data URLs of PNG files.
    """

    def __init__(self, segments: Sequence[Segment] = ()) -> None:
        self.tokens: list[int] = []
        self.shown: list[int] = []
        self.pictures: list[str] = []
        for segment in segments:
            self.add(segment)

    def __len__(self) -> int:
        """Return the number of tokens that the model reads."""
        return len(self.tokens)

    def add(self, segment: Segment) -> None:
        """Let what was read or written follow.

        Raises:
            ValueError: the segment has images of which no picture is known.
        """
        if segment.images and segment.shown is None:
            raise ValueError("a segment's images were read from no picture that a server could be sent")
        self.tokens += segment.tokens.tolist()
        self.shown += (segment.tokens if segment.shown is None else segment.shown.tokens).tolist()
        if segment.shown is not None:
            self.pictures.append(_data_url(segment.shown))

    def copy(self) -> Prompt:
        """Return another that begins alike."""
        made = Prompt()
        made.tokens, made.shown, made.pictures = [*self.tokens], [*self.shown], [*self.pictures]
        return made


def _data_url(shown: Shown) -> str:
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(shown.picture)).save(file, "png", compress_level=_COMPRESSION)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
