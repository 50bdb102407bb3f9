"""The tokenizer and chat template of ``pixelis-tiny``: byte-level BPE over the text of demonstrations.

Capitals and digits never merge, so
a code is always one token a character; colours, tool names and tenths ("0.3") are one token each.
"""

from __future__ import annotations

from collections.abc import Iterable

from byte_bpe import ByteBPE
from transformers import PreTrainedTokenizerFast

from pixelis.envs.pixel.tools.palette import KINDS, PALETTE

VOCABULARY_SIZE = 512
IMAGE_TOKEN = "<image>"
CAPITALS_AND_DIGITS = "[A-Z0-9]"
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
    return ByteBPE(VOCABULARY_SIZE, WORDS, CAPITALS_AND_DIGITS, CHAT_TEMPLATE, 1024, IMAGE_TOKEN).trained(
        corpus
    )
