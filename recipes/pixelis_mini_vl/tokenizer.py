"""The tokenizer of ``pixelis-mini-vl``: pixelis-tiny's, and each hundredth is a token."""

from __future__ import annotations

from collections.abc import Iterable

from pixelis_tiny.tokenizer import CHAT_TEMPLATE, END_OF_TURN, IMAGE_TOKEN, PAD, SPECIAL, TAGS
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from pixelis.envs.pixel.tools.palette import KINDS, PALETTE

VOCABULARY_SIZE = 1024
MAX_LENGTH = 4096
HUNDREDTHS = tuple(f"{value / 100:.2f}" for value in range(101))
TENTHS = tuple(f"0.{digit}" for digit in range(10))
TOOL_NAMES = ("ZOOM", "READ_TEXT", "SEGMENT", "GET_PROPERTIES", "THINK", "TRACK", "SELECT_FRAME")
COLOUR_WORDS = tuple(dict.fromkeys(word for name in PALETTE for word in name.split()))
WORDS = (*TAGS, *TOOL_NAMES, *COLOUR_WORDS, *KINDS, *TENTHS, *HUNDREDTHS)


def build_tokenizer(corpus: Iterable[str]) -> PreTrainedTokenizerFast:
    """Train the tokenizer on texts of turns and observations; capitals and digits never merge."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("[A-Z0-9]"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    bpe.add_tokens([AddedToken(word, normalized=False) for word in WORDS])
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE - len(SPECIAL) - len(WORDS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    bpe.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END_OF_TURN,
        extra_special_tokens={"image_token": IMAGE_TOKEN},
        chat_template=CHAT_TEMPLATE,
        padding_side="right",
        model_max_length=MAX_LENGTH,
        clean_up_tokenization_spaces=False,
    )
