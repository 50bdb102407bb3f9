"""The architecture of ``pixelis-mini-vl``: pixelis-tiny's, larger (4.6 M parameters)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from pixelis_tiny.architecture import GRID, IMAGE_SIZE, PATCH_SIZE, grid_embedding
from pixelis_tiny.tokenizer import END_OF_TURN, IMAGE_TOKEN, PAD
from transformers import (
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    PreTrainedTokenizerFast,
    SiglipVisionConfig,
)

from pixelis_mini_vl.tokenizer import MAX_LENGTH, VOCABULARY_SIZE


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlavaForConditionalGeneration:
    """Return the model; positions of patches, queries and keys start as pixelis-tiny's do."""
    torch.manual_seed(seed)
    ids = cast("Callable[[str], int]", tokenizer.convert_tokens_to_ids)
    pad, end = ids(PAD), ids(END_OF_TURN)
    config = LlavaConfig(
        vision_config=SiglipVisionConfig(
            hidden_size=192,
            intermediate_size=576,
            num_hidden_layers=3,
            num_attention_heads=6,
            image_size=IMAGE_SIZE,
            patch_size=PATCH_SIZE,
            vision_use_head=False,
        ),
        text_config=LlamaConfig(
            vocab_size=VOCABULARY_SIZE,
            hidden_size=192,
            intermediate_size=576,
            num_hidden_layers=6,
            num_attention_heads=6,
            num_key_value_heads=6,
            max_position_embeddings=MAX_LENGTH,
            tie_word_embeddings=True,
            pad_token_id=pad,
            eos_token_id=end,
            bos_token_id=None,
        ),
        image_token_index=ids(IMAGE_TOKEN),
        image_seq_length=GRID * GRID,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    positions = model.model.vision_tower.embeddings.position_embedding.weight
    with torch.no_grad():
        positions.copy_(0.5 * grid_embedding(GRID, positions.shape[1]))
        for layer in model.model.language_model.layers[:2]:
            layer.self_attn.k_proj.weight.copy_(layer.self_attn.q_proj.weight.mul_(2.0))
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = end, pad
    return model
