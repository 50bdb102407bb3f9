"""Small sentence-transformers models with random weights, built on disk: nothing is fetched."""

from __future__ import annotations

import string
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import CLIPModel as ClipModule
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    CLIPConfig,
    CLIPModel,
    CLIPProcessor,
    CLIPTokenizer,
)
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

TINY = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}


def save_text_model(folder: Path, dims: int = 768) -> Path:
    """Save a one-layer BERT that reads letters, with mean pooling; return where it lies."""
    torch.manual_seed(0)
    letters = string.ascii_lowercase
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    config = BertConfig(**{**TINY, "hidden_size": dims}, vocab_size=len(words), max_position_embeddings=64)
    BertModel(config).save_pretrained(folder / "bert")
    tokenizer = BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}, model_max_length=64)
    tokenizer.save_pretrained(folder / "bert")
    SentenceTransformer(modules=[Transformer(str(folder / "bert")), Pooling(dims)]).save(
        str(folder / "model")
    )
    return folder / "model"


def save_clip_model(folder: Path) -> Path:
    """Save a CLIP of one layer a side and 768 dimensions for pictures of 32 pixels; return where it lies."""
    torch.manual_seed(0)
    characters = list(bytes_to_unicode().values())
    ends = [f"{character}</w>" for character in characters]
    vocabulary = {word: i for i, word in enumerate([*characters, *ends, "<|startoftext|>", "<|endoftext|>"])}
    size = len(vocabulary)
    text = {"vocab_size": size, "bos_token_id": size - 2, "eos_token_id": size - 1, "pad_token_id": size - 1}
    vision = {**TINY, "image_size": 32, "patch_size": 16, "projection_dim": 768}
    text = {**TINY, **text, "projection_dim": 768}
    CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=768)).save_pretrained(
        folder / "clip"
    )
    pictures = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    tokenizer = CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)
    CLIPProcessor(pictures, tokenizer).save_pretrained(folder / "clip")
    SentenceTransformer(modules=[ClipModule(str(folder / "clip"))]).save(str(folder / "model"))
    return folder / "model"
