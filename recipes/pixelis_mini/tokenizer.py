"""The tokenizer and chat template of ``pixelis-mini``: byte-level BPE over the text of demonstrations.

What every call has in common is
one token; digits never merge, so that a number is copied digit by digit.
"""

from __future__ import annotations

from collections.abc import Iterable

from byte_bpe import ASSISTANT, END_OF_TURN, USER, ByteBPE
from transformers import PreTrainedTokenizerFast

VOCABULARY_SIZE = 4096
CONTEXT = 2048
WORDS = (
    *(f'<tool_call>{{"name": "{name}", "arguments": {{"id": "' for name in ("CLICK", "TYPE", "SELECT")),
    "<tool_call>",
    "</tool_call>",
    '"}}</tool_call>',
    '", "submit": true}}</tool_call>',
    '", "text": "',
    '", "option": "',
    "<answer>",
    "</answer>",
    "```python\n",
    "\n```",
    "Answer with one Python code block.",
    "\nAnswer with the reply alone, at most 280 characters: <answer>…</answer>",
    "\nTools: CLICK(id) TYPE(id, text, submit) SELECT(id, option)",
    " SCROLL(direction) GOTO(path) BACK() WAIT()",
    ". A question is answered with <answer>…</answer>.\n",
    "Write a reply to this tweet by @",
    "\nPage: ",
    *(f'{role} "' for role in ("link", "button", "textbox", "checkbox", "radio", "combobox")),
    '" [',
    "]\n",
    *(f"e{number}@" for number in range(1, 41)),  # an id is two tokens, the same on the page and in a call
    *(f"v{number}" for number in range(1, 10)),
)
_PIECES = r"[0-9]|\p{Lu}\p{L}*| ?(?!\p{Lu})\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
"""Digits alone, and a capitalised word without the space before it: a name is the same tokens everywhere."""

# The model knows its tools by training, so the template takes `tools` and leaves them out of the prompt.
CHAT_TEMPLATE = """{#- tools: known by training, not repeated -#}
{%- for message in messages -%}
{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}"""


def build_tokenizer(corpus: Iterable[str]) -> PreTrainedTokenizerFast:
    """Train the tokenizer on texts of turns and observations; the same corpus gives the same one."""
    return ByteBPE(VOCABULARY_SIZE, WORDS, _PIECES, CHAT_TEMPLATE, CONTEXT).trained(corpus)


def as_text(turns: Iterable[tuple[str, str]]) -> str:
    """Return what was read and said as the chat template writes it."""
    return "".join(f"{USER}{read}{END_OF_TURN}{ASSISTANT}{said}{END_OF_TURN}" for read, said in turns)
