"""Hashed features of texts: fixed, of one length, and nearer for texts that share words."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.features.text import action_text, hash_texts

TEXTS = st.lists(st.text(max_size=40), min_size=1, max_size=5)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_shape_and_length():
    features = hash_texts(["View [0.1, 0.2].", "", "Ж 信号"], 384)
    assert features.shape == (3, 384) and features.dtype == np.float32
    assert np.linalg.norm(features, axis=1) == pytest.approx([np.sqrt(384)] * 3, rel=1e-5)


def test_no_text_gives_no_row():
    assert hash_texts([], 128).shape == (0, 128)


@given(TEXTS)
def test_row_does_not_depend_on_its_neighbours(texts: list[str]):
    together = hash_texts(texts, 64)
    for row, text in zip(together, texts, strict=True):
        assert np.array_equal(row, hash_texts([text], 64)[0])


@given(st.text(max_size=60), st.integers(1, 300))
def test_any_text_has_finite_features(text: str, dims: int):
    features = hash_texts([text], dims)
    norm = np.linalg.norm(features)
    assert np.isfinite(features).all()
    assert norm == pytest.approx(np.sqrt(dims), rel=1e-4) or norm == 0  # all may cancel in few dimensions


def test_surrogates_that_are_no_unicode_are_taken():
    assert np.isfinite(hash_texts(["\ud800"], 128)).all()


def test_shared_words_make_texts_near():
    a, b, c = hash_texts(["zoom in on the red sign", "the red sign, zoom in", "colour 12 area 0.3"], 384)
    assert cosine(a, b) > 0.6
    assert abs(cosine(a, c)) < 0.25


def test_order_of_letters_counts():
    a, b = hash_texts(["abcdef", "fedcba"], 384)
    assert cosine(a, b) < 0.4


def test_different_texts_are_nearly_orthogonal_on_average():
    words = [f"{first}{second}" for first in "abcdefgh" for second in "qrstuvwx"]
    features = hash_texts(words, 384)
    products = (features @ features.T / 384)[~np.eye(len(words), dtype=bool)]
    assert abs(products.mean()) < 0.35  # marks of beginning and end are shared by all
    assert products.max() < 0.9


def test_seeds_give_other_features():
    a, b = hash_texts(["a sign"], 384, seed=0)[0], hash_texts(["a sign"], 384, seed=1)[0]
    assert abs(cosine(a, b)) < 0.5


def test_same_in_another_process():
    code = (
        "import hashlib; from pixelis.rewards.features.text import hash_texts; "
        "print(hashlib.sha256(hash_texts(['View [0.1]', 'Ж'], 128, 3).tobytes()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    here = hashlib.sha256(hash_texts(["View [0.1]", "Ж"], 128, 3).tobytes()).hexdigest()
    assert other.stdout.strip() == here, other.stderr


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("up", "up"),
        ("", ""),
        ("I think <tool_call>{1}</tool_call> so", "<tool_call>{1}</tool_call>"),
        (
            "<tool_call>a</tool_call> then <answer>B\nC</answer>!",
            "<tool_call>a</tool_call><answer>B\nC</answer>",
        ),
        ("<answer>never closed", "<answer>never closed</answer>"),
        ("hm <answer>A", "<answer>A</answer>"),
        ("<answer>A</answer><answer>B</answer>", "<answer>A</answer>"),
        ("<answer>A</answer><tool_call>b</tool_call>", "<answer>A</answer>"),
        ("<tool_call>{}", "<tool_call>{}"),
    ],
)
def test_action_is_what_was_done(turn: str, expected: str):
    assert action_text(turn) == expected
