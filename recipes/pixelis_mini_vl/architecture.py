"""The architecture of ``pixelis-mini-vl``: pixelis-tiny's, larger."""

from __future__ import annotations

from pixelis_tiny.architecture import Sizes

from pixelis_mini_vl.tokenizer import MAX_LENGTH, VOCABULARY_SIZE

MINI = Sizes(VOCABULARY_SIZE, MAX_LENGTH, layers=(3, 6), heads=(6, 6), widths=(192, 192), hidden=(576, 576))
"""4.6 M parameters."""
