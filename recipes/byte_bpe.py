"""The byte-level BPE tokenizer of the small models: what each of them chooses, and what all have in common.

Bytes as base alphabet mean that any Unicode text can be read and written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, END_OF_TURN, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|user|>", "<|assistant|>"
SPECIAL = (PAD, END_OF_TURN, USER, ASSISTANT, "<|system|>")


@dataclass(frozen=True)
class ByteBPE:
    """What a model chooses of its tokenizer.

    Attributes:
        size: tokens in all.
        words: texts that are one token each.
        pieces: regular expression of what stands alone; pairs never merge across its matches.
        chat_template: in Jinja.
        max_length: tokens of the longest text, for the model's card.
        image: the token that stands for an image, if there are any.
    """

    size: int
    words: tuple[str, ...]
    pieces: str
    chat_template: str
    max_length: int
    image: str | None = None

    def trained(self, corpus: Iterable[str]) -> PreTrainedTokenizerFast:
        """Train the tokenizer on texts of turns and observations; the same corpus gives the same one."""
        special = (*SPECIAL, self.image) if self.image else SPECIAL
        bpe = Tokenizer(models.BPE())
        bpe.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(self.pieces), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        bpe.decoder = decoders.ByteLevel()
        bpe.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
        bpe.add_tokens([AddedToken(word, normalized=False) for word in self.words])
        trainer = trainers.BpeTrainer(
            vocab_size=self.size - len(special) - len(self.words),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=[],
            show_progress=False,
        )
        bpe.train_from_iterator(corpus, trainer)
        return PreTrainedTokenizerFast(
            tokenizer_object=bpe,
            pad_token=PAD,
            eos_token=END_OF_TURN,
            **({"extra_special_tokens": {"image_token": self.image}} if self.image else {}),
            chat_template=self.chat_template,
            padding_side="right",
            model_max_length=self.max_length,
            clean_up_tokenization_spaces=False,
        )
