"""A random model that knows eight letters and is small enough to learn in seconds."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from transformers.utils import logging

SPECIAL = ("<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>")
TEMPLATE = (
    "{%- for m in messages -%}{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}"
)


def build_letter_model(
    folder: Path,
    seed: int = 0,
    context: int = 256,
    letters: str = "abcdefgh",
    width: int = 32,
    std: float = 0.3,
) -> Path:
    """Write a random Qwen2 of two layers that knows a few letters; its weights have a deviation ``std``."""
    vocabulary = {letter: index for index, letter in enumerate(letters)}
    raw = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=width // 16,
        num_key_value_heads=width // 16,
        max_position_embeddings=context,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        initializer_range=std,
    )
    logging.disable_progress_bar()
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
