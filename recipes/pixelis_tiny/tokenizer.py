"""The tokenizer and chat template of ``pixelis-tiny``: byte-level BPE over the text of demonstrations.

Bytes as base alphabet mean that any Unicode text can be read and written. Capitals and digits never merge, so
a code is always one token a character; colours, tool names and tenths ("0.3") are one token each.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from pixelis.envs.pixel.tools.palette import KINDS, PALETTE

VOCABULARY_SIZE = 512
IMAGE_TOKEN = "<image>"
END_OF_TURN = "<|end|>"
PAD = "<|pad|>"
SPECIAL = (PAD, END_OF_TURN, "<|user|>", "<|assistant|>", "<|system|>", IMAGE_TOKEN)

TENTHS = tuple(f"0.{digit}" for digit in range(10))
TOOL_NAMES = ("ZOOM", "READ_TEXT", "SEGMENT", "GET_PROPERTIES", "THINK")
TAGS = ("<tool_call>", "</tool_call>", "<answer>", "</answer>")
COLOUR_WORDS = tuple(dict.fromkeys(word for name in PALETTE for word in name.split()))
WORDS = (*TAGS, *TOOL_NAMES, *COLOUR_WORDS, *KINDS, *TENTHS)

# The model knows its tools by training, so the template takes `tools` and leaves them out of the prompt.
CHAT_TEMPLATE = """{#- tools: known by training, not repeated -#}
{%- for message in messages -%}
{{ '<|' + message['role'] + '|>' }}
{%- if message['content'] is string -%}
{{ message['content'] }}
{%- else -%}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}{{ '<image>' }}{%- else -%}{{ part['text'] }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{ '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}"""


def build_tokenizer(corpus: Iterable[str]) -> PreTrainedTokenizerFast:
    """Train the tokenizer on texts of turns and observations; the same corpus gives the same one."""
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
        model_max_length=1024,
        clean_up_tokenization_spaces=False,
    )
