"""The architecture of the small models with vision: a Llava (SigLIP tower, Llama language model)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from byte_bpe import END_OF_TURN, PAD
from transformers import (
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    SiglipImageProcessorPil,
    SiglipVisionConfig,
)

from pixelis_tiny.tokenizer import CHAT_TEMPLATE, IMAGE_TOKEN, VOCABULARY_SIZE

IMAGE_SIZE = 192
PATCH_SIZE = 24
GRID = IMAGE_SIZE // PATCH_SIZE


@dataclass(frozen=True)
class Sizes:
    """How large a model is.

    Attributes:
        vocabulary: tokens.
        context: tokens of the longest episode.
        layers: of tower and language model.
        heads: the same.
        widths: the same.
        hidden: widths of their feed-forward layers.
    """

    vocabulary: int
    context: int
    layers: tuple[int, int]
    heads: tuple[int, int]
    widths: tuple[int, int]
    hidden: tuple[int, int]


TINY = Sizes(VOCABULARY_SIZE, 1024, layers=(2, 4), heads=(4, 4), widths=(128, 192), hidden=(384, 512))
"""Of ``pixelis-tiny``: 2.5 M parameters."""


def build_processor(tokenizer: PreTrainedTokenizerFast) -> LlavaProcessor:
    """Return the processor: images to 192×192 in [-1, 1]; 64 placeholders an image."""
    images = SiglipImageProcessorPil(
        size={"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
        resample=2,
    )
    return LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=PATCH_SIZE,
        vision_feature_select_strategy="full",  # SigLIP has no class token to drop
        num_additional_image_tokens=0,
        image_token=IMAGE_TOKEN,
        chat_template=CHAT_TEMPLATE,
    )


def build_model(
    tokenizer: PreTrainedTokenizerFast, seed: int, sizes: Sizes = TINY
) -> LlavaForConditionalGeneration:
    """Return the model with random weights, two things apart.

    The tower's position embedding is the sine and cosine of row and column. In the first two layers of the
    language model the query and key projections start equal (and twice as large), so that a word attends
    to what resembles it: "green" to the patches that say green. It is a choice, not a measured gain: our
    trials changed other settings along with it.
    """
    torch.manual_seed(seed)
    ids = cast("Callable[[str], int]", tokenizer.convert_tokens_to_ids)
    pad, end = ids(PAD), ids(END_OF_TURN)
    config = LlavaConfig(
        vision_config=SiglipVisionConfig(
            hidden_size=sizes.widths[0],
            intermediate_size=sizes.hidden[0],
            num_hidden_layers=sizes.layers[0],
            num_attention_heads=sizes.heads[0],
            image_size=IMAGE_SIZE,
            patch_size=PATCH_SIZE,
            vision_use_head=False,
        ),
        text_config=LlamaConfig(
            vocab_size=sizes.vocabulary,
            hidden_size=sizes.widths[1],
            intermediate_size=sizes.hidden[1],
            num_hidden_layers=sizes.layers[1],
            num_attention_heads=sizes.heads[1],
            num_key_value_heads=sizes.heads[1],
            max_position_embeddings=sizes.context,
            tie_word_embeddings=True,
            pad_token_id=pad,
            eos_token_id=end,
            bos_token_id=None,
        ),
        image_token_index=ids(IMAGE_TOKEN),
        image_seq_length=GRID * GRID,
        vision_feature_layer=-1,  # the default -2 would leave the last layer unused
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


def grid_embedding(grid: int, width: int) -> torch.Tensor:
    """Sine and cosine of the row and of the column of each patch, float ``(grid * grid, width)``, row-major.

    A quarter of the width each; wavelengths from 2 to 2·grid patches, geometric.
    """
    frequencies = math.pi / torch.logspace(0, math.log10(grid), width // 4)
    angles = torch.arange(grid)[:, None] * frequencies  # (grid, width / 4)
    axis = torch.cat([angles.sin(), angles.cos()], dim=1)  # (grid, width / 2)
    rows = axis[:, None].expand(grid, grid, -1)
    columns = axis[None].expand(grid, grid, -1)
    return torch.cat([rows, columns], dim=2).reshape(grid * grid, width)
