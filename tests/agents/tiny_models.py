"""Tiny random models of the families Pixelis trains, written as ordinary Hugging Face folders.

``build(family, folder)`` builds a model from the family's own config class, with a byte-level tokenizer, a
chat template shaped like the family's and, for models with vision, its own image processor. Nothing is
downloaded, and nothing needs torchvision.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers.models.idefics2.image_processing_pil_idefics2 import Idefics2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.utils import logging

WIDTH, LAYERS, CONTEXT = 32, 2, 1024
IMAGE_SIZE = 32  # side of a LLaVA-type picture, and of an Idefics3 tile
TILINGS = [[32, 64], [64, 32], [64, 64]]  # of LLaVA-NeXT: height and width that a picture is cut from
PAD = "<|pad|>"

_BODY = (
    "{%- if m['content'] is string -%}{{ m['content'] }}{%- else -%}{%- for p in m['content'] -%}"
    "{%- if p['type'] == 'image' -%}{{ 'IMAGE' }}{%- else -%}{{ p['text'] }}{%- endif -%}{%- endfor -%}"
    "{%- endif -%}"
)
CHATML = (
    "{%- for m in messages -%}{{ '<|im_start|>' + m['role'] + '\n' }}" + _BODY + "{{ '<|im_end|>\n' }}"
    "{%- endfor -%}{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)
# As in SmolVLM: one opening token, role names as plain words, an end token after each turn.
UTTERANCES = (
    "<|im_start|>{%- for m in messages -%}{{ m['role'] | capitalize + ': ' }}" + _BODY
    + "{{ '<end_of_utterance>\n' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ 'Assistant: ' }}{%- endif -%}"
)  # fmt: skip
HEADERS = (
    "{%- for m in messages -%}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' }}" + _BODY
    + "{{ '<|eot_id|>' }}{%- endfor -%}{%- if add_generation_prompt -%}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif -%}"
)  # fmt: skip


@dataclass(frozen=True)
class Chat:
    """A family's way to write conversations.

    Attributes:
        template: the chat template, ``IMAGE`` standing for a picture.
        control: its control tokens; the first is the end of a turn and of the text.
        picture: what the template writes for a picture.
    """

    template: str
    control: tuple[str, ...]
    picture: str = ""


QWEN = Chat(
    CHATML,
    ("<|im_end|>", "<|im_start|>", "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"),
    "<|vision_start|><|image_pad|><|vision_end|>",
)
IDEFICS = Chat(
    UTTERANCES,
    (
        *("<end_of_utterance>", "<|im_start|>", "<image>", "<fake_token_around_image>", "<global-img>"),
        *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
    ),
    "<image>",
)
IDEFICS2 = Chat(
    UTTERANCES, ("<end_of_utterance>", "<|im_start|>", "<image>", "<fake_token_around_image>"), "<image>"
)
LLAVA = Chat(CHATML, ("<|im_end|>", "<|im_start|>", "<image>"), "<image>")
LLAMA = Chat(HEADERS, ("<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"))
SMOLLM = Chat(CHATML, ("<|im_end|>", "<|im_start|>"))


def build_tokenizer(chat: Chat) -> hf.PreTrainedTokenizerFast:
    """Byte-level BPE without merges: one token a byte, plus the control tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={char: index for index, char in enumerate(alphabet)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.decoder = decoders.ByteLevel()
    tokens = [AddedToken(token, special=True, normalized=False) for token in (PAD, *chat.control)]
    raw.add_special_tokens(tokens)
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token=PAD,
        eos_token=chat.control[0],
        chat_template=chat.template.replace("IMAGE", chat.picture),
        clean_up_tokenization_spaces=False,
    )


def text_settings(tokenizer: Any, **more: Any) -> dict[str, Any]:
    """Settings of a language model; grouped-query attention, so a key is shared by two heads."""
    return {
        "vocab_size": len(tokenizer) + 2,  # rows beyond the tokenizer's, as in released models
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
        "initializer_range": 0.2,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        **more,
    }


def _qwen2(tokenizer: Any) -> Any:
    return hf.Qwen2Config(**text_settings(tokenizer, tie_word_embeddings=True))


def _qwen3(tokenizer: Any) -> Any:
    return hf.Qwen3Config(**text_settings(tokenizer, head_dim=16, tie_word_embeddings=False))


def _llama(tokenizer: Any) -> Any:
    return hf.LlamaConfig(**text_settings(tokenizer, tie_word_embeddings=False, rope_theta=500000.0))


def _smollm(tokenizer: Any) -> Any:
    heads = {"hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 1}
    return hf.LlamaConfig(**text_settings(tokenizer, tie_word_embeddings=True, **heads))


_VISION = {"hidden_size": 16, "intermediate_size": 32, "initializer_range": 0.2}


def _token_ids(tokenizer: Any) -> dict[str, int]:
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}


def _rope(**more: Any) -> dict[str, Any]:
    return {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0, **more}


def _qwen2_vl(tokenizer: Any) -> Any:
    vision = {"depth": 2, "embed_dim": 16, "num_heads": 2, "mlp_ratio": 2, "hidden_size": WIDTH}
    text = text_settings(tokenizer, rope_parameters=_rope())
    return hf.Qwen2VLConfig(text_config=text, vision_config=vision, **_token_ids(tokenizer))


def _qwen2_5_vl(tokenizer: Any) -> Any:
    vision = {**_VISION, "depth": 2, "num_heads": 2, "out_hidden_size": WIDTH, "window_size": 56}
    vision["fullatt_block_indexes"] = [1]
    text = text_settings(tokenizer, rope_parameters=_rope())
    return hf.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **_token_ids(tokenizer))


def _qwen3_vl(tokenizer: Any) -> Any:
    vision = {**_VISION, "depth": 2, "num_heads": 2, "out_hidden_size": WIDTH, "num_position_embeddings": 16}
    vision["deepstack_visual_indexes"] = [0]
    text = text_settings(tokenizer, head_dim=8, rope_parameters=_rope(mrope_interleaved=True))
    return hf.Qwen3VLConfig(text_config=text, vision_config=vision, **_token_ids(tokenizer))


def _idefics_parts(tokenizer: Any) -> dict[str, Any]:
    return {
        "vision_config": {
            **_VISION,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": IMAGE_SIZE,
            "patch_size": 8,
        },
        "text_config": text_settings(tokenizer, model_type="llama", tie_word_embeddings=True),
        "image_token_id": tokenizer.convert_tokens_to_ids("<image>"),
        "scale_factor": 2,
        "tie_word_embeddings": True,
    }


def _idefics3(tokenizer: Any) -> Any:
    return hf.Idefics3Config(**_idefics_parts(tokenizer))


def _smolvlm(tokenizer: Any) -> Any:
    return hf.SmolVLMConfig(**_idefics_parts(tokenizer))


def _llava(tokenizer: Any) -> Any:
    image_id = tokenizer.convert_tokens_to_ids("<image>")
    vision = hf.SiglipVisionConfig(
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=IMAGE_SIZE,
        patch_size=16,
        vision_use_head=False,
        **_VISION,
    )
    return hf.LlavaConfig(
        vision_config=vision,
        text_config=hf.LlamaConfig(**text_settings(tokenizer, tie_word_embeddings=True)),
        image_token_index=image_id,
        image_token_id=image_id,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=True,
    )


def _idefics2(tokenizer: Any) -> Any:
    perceiver = {"hidden_size": WIDTH, "resampler_n_latents": 4, "resampler_depth": 1}
    perceiver |= {"resampler_n_heads": 2, "resampler_head_dim": 8, "num_key_value_heads": 1}
    vision = {**_VISION, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 8}
    return hf.Idefics2Config(
        vision_config={**vision, "image_size": IMAGE_SIZE},
        perceiver_config=perceiver,
        text_config=text_settings(tokenizer, model_type="mistral", sliding_window=None),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )


def _llava_next(tokenizer: Any) -> Any:
    image_id = tokenizer.convert_tokens_to_ids("<image>")
    vision = {**_VISION, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 16}
    return hf.LlavaNextConfig(
        vision_config=hf.CLIPVisionConfig(image_size=IMAGE_SIZE, **vision),
        text_config=hf.LlamaConfig(**text_settings(tokenizer, tie_word_embeddings=True)),
        image_token_index=image_id,
        image_grid_pinpoints=TILINGS,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        tie_word_embeddings=True,
    )


def _write_idefics2_processor(tokenizer: Any, folder: Path) -> None:
    images = Idefics2ImageProcessorPil(
        size={"shortest_edge": IMAGE_SIZE // 2, "longest_edge": IMAGE_SIZE}, do_image_splitting=False
    )
    template = tokenizer.chat_template
    hf.Idefics2Processor(images, tokenizer, image_seq_len=4, chat_template=template).save_pretrained(folder)


def _write_llava_next_processor(tokenizer: Any, folder: Path) -> None:
    square = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    hf.LlavaNextProcessor(
        image_processor=LlavaNextImageProcessorPil(
            size={"shortest_edge": IMAGE_SIZE}, crop_size=square, image_grid_pinpoints=TILINGS
        ),
        tokenizer=tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token="<image>",
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)


def _write_qwen_processor(tokenizer: Any, folder: Path, kind: str, patch: int) -> None:
    """Write the parts; the whole processor cannot be made where there is no video processor."""
    size = {"shortest_edge": (2 * patch) ** 2, "longest_edge": 6 * (2 * patch) ** 2}
    Qwen2VLImageProcessorPil(size=size, patch_size=patch).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _declare(folder / "preprocessor_config.json", processor_class=f"{kind}Processor")
    videos = "Qwen3VLVideoProcessor" if kind == "Qwen3VL" else "Qwen2VLVideoProcessor"
    written = {"video_processor_type": videos, "patch_size": patch, "processor_class": f"{kind}Processor"}
    (folder / "video_preprocessor_config.json").write_text(json.dumps(written))


def _write_idefics_processor(tokenizer: Any, folder: Path) -> None:
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": 2 * IMAGE_SIZE}, max_image_size={"longest_edge": IMAGE_SIZE}
    )
    template = tokenizer.chat_template
    hf.Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=template).save_pretrained(folder)


def _write_llava_processor(tokenizer: Any, folder: Path) -> None:
    hf.LlavaProcessor(
        image_processor=hf.SiglipImageProcessorPil(size={"height": IMAGE_SIZE, "width": IMAGE_SIZE}),
        tokenizer=tokenizer,
        patch_size=16,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        image_token="<image>",
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)


def _declare(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def _write_tokenizer(tokenizer: Any, folder: Path) -> None:
    tokenizer.save_pretrained(folder)


def _qwen_writer(kind: str, patch: int) -> Callable[[Any, Path], None]:
    return lambda tokenizer, folder: _write_qwen_processor(tokenizer, folder, kind, patch)


@dataclass(frozen=True)
class Family:
    """How to build one family: its chat, its config, and the files of its tokenizer or processor."""

    chat: Chat
    config: Callable[[Any], Any]
    write: Callable[[Any, Path], None] = _write_tokenizer


TEXT_FAMILIES: Mapping[str, Family] = {
    "qwen2": Family(SMOLLM, _qwen2),
    "qwen3": Family(SMOLLM, _qwen3),
    "llama": Family(LLAMA, _llama),
    "smollm": Family(SMOLLM, _smollm),
}
VISION_FAMILIES: Mapping[str, Family] = {
    "qwen2_vl": Family(QWEN, _qwen2_vl, _qwen_writer("Qwen2VL", 14)),
    "qwen2_5_vl": Family(QWEN, _qwen2_5_vl, _qwen_writer("Qwen2_5_VL", 14)),
    "qwen3_vl": Family(QWEN, _qwen3_vl, _qwen_writer("Qwen3VL", 16)),
    "idefics3": Family(IDEFICS, _idefics3, _write_idefics_processor),
    "smolvlm": Family(IDEFICS, _smolvlm, _write_idefics_processor),
    "idefics2": Family(IDEFICS2, _idefics2, _write_idefics2_processor),
    "llava": Family(LLAVA, _llava, _write_llava_processor),
    "llava_next": Family(LLAVA, _llava_next, _write_llava_next_processor),
}
FAMILIES: Mapping[str, Family] = {**TEXT_FAMILIES, **VISION_FAMILIES}


def build(family: str, folder: str | Path, seed: int = 0, **changes: Any) -> Path:
    """Write a tiny random model of a family (a key of `FAMILIES`) with its tokenizer or processor.

    ``changes`` are settings of the language part's config that differ from the family's.
    """
    made, path = FAMILIES[family], Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer(made.chat)
    logging.disable_progress_bar()
    torch.manual_seed(seed)
    config = made.config(tokenizer)
    for name, value in changes.items():
        setattr(config.get_text_config(), name, value)
    auto = hf.AutoModelForImageTextToText if family in VISION_FAMILIES else hf.AutoModelForCausalLM
    auto.from_config(config).save_pretrained(path)
    made.write(tokenizer, path)
    return path
