"""The tokenizer and chat template of ``pixelis-mini``: byte-level BPE over the text of demonstrations.

Bytes as base alphabet mean that any Unicode text can be read and written. What every call has in common is
one token; digits never merge, so that a number is copied digit by digit.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

VOCABULARY_SIZE = 4096
CONTEXT = 2048
PAD, END_OF_TURN, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|user|>", "<|assistant|>"
SPECIAL = (PAD, END_OF_TURN, USER, ASSISTANT, "<|system|>")
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
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
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
        chat_template=CHAT_TEMPLATE,
        padding_side="right",
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def as_text(turns: Iterable[tuple[str, str]]) -> str:
    """Return what was read and said as the chat template writes it."""
    return "".join(f"{USER}{read}{END_OF_TURN}{ASSISTANT}{said}{END_OF_TURN}" for read, said in turns)
