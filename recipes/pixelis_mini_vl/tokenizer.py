"""The tokenizer of ``pixelis-mini-vl``: pixelis-tiny's, and each hundredth is a token."""

from __future__ import annotations

from collections.abc import Iterable

from byte_bpe import ByteBPE
from pixelis_tiny.tokenizer import CAPITALS_AND_DIGITS, CHAT_TEMPLATE, COLOUR_WORDS, IMAGE_TOKEN, TAGS, TENTHS
from transformers import PreTrainedTokenizerFast

from pixelis.envs.pixel.tools.palette import KINDS

VOCABULARY_SIZE = 1024
MAX_LENGTH = 4096
HUNDREDTHS = tuple(f"{value / 100:.2f}" for value in range(101))
TOOL_NAMES = ("ZOOM", "READ_TEXT", "SEGMENT", "GET_PROPERTIES", "THINK", "TRACK", "SELECT_FRAME")
WORDS = (*TAGS, *TOOL_NAMES, *COLOUR_WORDS, *KINDS, *TENTHS, *HUNDREDTHS)


def build_tokenizer(corpus: Iterable[str]) -> PreTrainedTokenizerFast:
    """Train the tokenizer on texts of turns and observations; capitals and digits never merge."""
    one = ByteBPE(VOCABULARY_SIZE, WORDS, CAPITALS_AND_DIGITS, CHAT_TEMPLATE, MAX_LENGTH, IMAGE_TOKEN)
    return one.trained(corpus)
