"""Potentials of what the tools said, to be named in a config: ``rewards.potential.potential``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_READING = re.compile(r"^(?!View |\d+: ).+ \[[\d., ]+\]\.?$", re.MULTILINE)


def text_was_read(observation: Mapping[str, Any]) -> float:
    """Return 1 where READ_TEXT has just found something, else 0.

    It says nothing of whether that was the right text. As a potential it pays for the first reading, which a
    random agent seldom gets, and takes the same back when the episode goes on or ends, so that what is best
    stays best (Ng, Harada and Russell 1999).

    Args:
        observation: of a pixel environment: ``text`` says what the calls of the last turn returned.
    """
    return float(_READING.search(str(observation.get("text", ""))) is not None)
