"""What a pixel environment's task shows, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image

from pixelis.envs.pixel.tools.labels import Labels
from pixelis.envs.pixel.tools.ocr_truth import TextItem
from pixelis.envs.pixel.tools.view import Box

TextsOf = Callable[[Box, int], Sequence[TextItem]]
"""``(view box, view size) -> texts in pixels of that view``."""

LabelsOf = Callable[[Box, int], Labels]
"""``(view box, view size) -> which object every pixel shows``."""


def no_texts(view_box: Box, view_size: int) -> Sequence[TextItem]:
    """Say that nothing is written in a picture, which is not the same as not knowing."""
    return ()


@dataclass(frozen=True)
class Picture:
    """A picture with its ground truth; must be picklable, so the functions are methods or partials.

    Attributes:
        image: RGB at native resolution; shared, never drawn on.
        texts: where its texts are in a view, or ``None`` when nobody knows. The ``truth`` reader reads these,
            and READ_TEXT is scored against them.
        labels: which object every pixel of a view shows, or ``None`` when nobody knows. SEGMENT is scored
            against these; what one object hides of another is not the other's.
    """

    image: Image.Image
    texts: TextsOf | None = None
    labels: LabelsOf | None = None
