"""The words of the pixel environments' questions, for agents that cannot read."""

from __future__ import annotations

from pixelis.envs.pixel.tools.colours import colour_names
from pixelis.envs.pixel.tools.palette import KINDS

QUESTION_WORDS: tuple[str, ...] = (
    *colour_names(),
    *KINDS,
    *("piece", "bead", "tile", "stick", "dot", "disc", "square", "shape", "line", "bar", "item"),
    *("port", "cable", "car", "frame", "largest", "smallest", "highest", "lowest", "most", "least", "first"),
    *("last", "total", "sum", "cheapest", "tax", "price", "value"),
)
"""What each entry of an observation's ``question`` stands for; the order is part of what was learned."""
