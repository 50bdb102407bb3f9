"""distinct-n and Self-BLEU: by hand, at their bounds, and refused where there is nothing to measure."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import MissingDependencyError, RewardError
from pixelis.rewards.text.diversity import distinct_n, self_bleu

TEXTS = st.lists(
    st.lists(st.sampled_from(["one", "two", "three", "four", "five"]), min_size=1, max_size=8).map(" ".join),
    min_size=2,
    max_size=5,
)


def test_distinct_n_by_hand():
    texts = ["a b a", "A b"]
    assert distinct_n(texts, 1) == 2 / 5
    assert distinct_n(texts, 2) == 2 / 3  # (a b), (b a), (a b): none crosses the two texts
    assert distinct_n(texts, 3) == 1.0
    assert distinct_n(texts, 1, tokens=4) == 2 / 4
    assert distinct_n(["a b c", "d e"], 2, tokens=4) == 1.0  # a b, b c; d alone is no pair


def test_distinct_n_falls_with_length_and_not_at_fixed_tokens():
    short, long = ["x y z"], ["x y z"] * 4
    assert distinct_n(long, 1) < distinct_n(short, 1)
    assert distinct_n(long, 1, tokens=3) == distinct_n(short, 1, tokens=3)


@given(TEXTS, st.integers(1, 2))
def test_distinct_n_is_a_share(texts, n):
    if any(len(text.split()) >= n for text in texts):
        assert 0 < distinct_n(texts, n) <= 1


def test_self_bleu_by_hand():
    # Shared n-grams: 5 of 6, 4 of 5, 3 of 4, 2 of 3; their geometric mean is (1/3)^(1/4).
    pair = ["the cat sat on the mat", "the cat sat on the rug"]
    assert self_bleu(pair) == pytest.approx((1 / 3) ** 0.25)
    # 1 of 2 words; 0 of 1 pairs, smoothed to 1/2; no longer n-grams to count.
    assert self_bleu(["good dog", "good cat"]) == pytest.approx(0.5)
    assert self_bleu(["we saw a heron by the river"] * 3) == pytest.approx(1.0)


@given(TEXTS)
def test_self_bleu_is_a_share_and_a_copy_raises_it(texts):
    value = self_bleu(texts)
    assert 0 <= value <= 1
    assert self_bleu([*texts, texts[0]]) >= value * len(texts) / (len(texts) + 1)
    assert self_bleu([texts[0]] * len(texts)) >= value - 1e-9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: distinct_n([], 1), "at least 1 words, got none"),
        (lambda: distinct_n(["a b"], 3), "at least 3 words"),
        (lambda: distinct_n(["a b"], 0), "n of at least 1"),
        (lambda: distinct_n(["a b"], 1, tokens=3), "at least 3 tokens, got 2"),
        (lambda: self_bleu(["alone"]), "at least 2 texts, got 1"),
        (lambda: self_bleu(["a", " \n"]), "text 1 has no word"),
    ],
)
def test_nothing_to_measure_is_an_error(call, words):
    with pytest.raises(RewardError, match=words):
        call()


def test_a_missing_package_is_an_error_and_not_zero(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(MissingDependencyError, match=r"pixelis\[text\]"):
        self_bleu(["a b", "a c"])
