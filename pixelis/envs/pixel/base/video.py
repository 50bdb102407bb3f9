"""Pictures in a row: where frames come from, and the workspace in which one of them is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PIL import Image

from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.tools.ocr import PixelBox, Reader
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.tools import CallRefused


@dataclass(frozen=True)
class Placement:
    """Where one object of a video is in a frame, in truth.

    Attributes:
        box: around all of it that is inside the scene, hidden parts too, 0-1; ``None`` when it is outside.
        share: of it that can be seen, 0-1, or what finds it out: that takes longer than all boxes together.
    """

    box: Box | None
    share: float | Callable[[], float]

    @property
    def visible(self) -> float:
        """Share of it that can be seen, 0-1."""
        return self.share() if callable(self.share) else self.share


@dataclass(frozen=True)
class Film:
    """The frames of a video, each made when it is asked for; picklable, so the functions are partials.

    Attributes:
        frames: how many there are.
        picture_of: ``(frame) -> picture``, all of one size.
        part_of: ``(frame, box in native pixels) -> RGB``, that part of the frame, inside it.
        places_of: ``(frame) -> places``, every object's in the same order in all frames, or ``None`` when
            nobody knows. TRACK is scored against these.
    """

    frames: int
    picture_of: Callable[[int], Picture]
    part_of: Callable[[int, PixelBox], Image.Image]
    places_of: Callable[[int], Sequence[Placement]] | None = None


def film_of(images: Sequence[Image.Image]) -> Film:
    """Return a film of RGB pictures of one size that are there already; nothing is known about them."""
    pictures = tuple(Picture(image) for image in images)
    return Film(len(pictures), partial(_item, pictures), partial(_part, pictures))


def _item(pictures: Sequence[Picture], frame: int) -> Picture:
    return pictures[frame]


def _part(pictures: Sequence[Picture], frame: int, box: PixelBox) -> Image.Image:
    return pictures[frame].image.crop(box)


class VideoWorkspace(PixelWorkspace):
    """One episode's video: one frame is open, and everything that looks at a picture looks at that.

    A region belongs to its view of its frame.

    Args:
        film: the frames; the first is open.
        view_size: side V of the square view in pixels.
        reader_of: ``(picture, view box) -> reader``; the reader of a view's text.

    Attributes:
        film: the frames.
        frame: index of the open one.
        picture: what it shows.
    """

    def __init__(self, film: Film, view_size: int, reader_of: Callable[[Picture, Box], Reader]) -> None:
        self.film, self._read_picture = film, reader_of
        self.frame, self.picture = 0, film.picture_of(0)
        super().__init__(self.picture.image, view_size, partial(reader_of, self.picture))

    def select(self, frame: int) -> None:
        """Open a frame at the same view; the regions of the last view are dropped.

        Raises:
            CallRefused: there is no such frame.
        """
        self.check_frame(frame)
        self.frame, self.picture = frame, self.film.picture_of(frame)
        self.image, self._reader_of = self.picture.image, partial(self._read_picture, self.picture)
        self.look(self.view_box)

    def check_frame(self, frame: int) -> None:
        """Refuse a call that names a frame that there is not."""
        if not 0 <= frame < self.film.frames:
            raise CallRefused(
                "out_of_range", f"frames are 0 to {self.film.frames - 1}, there is no frame {frame}."
            )
