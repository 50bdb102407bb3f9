"""How many other prompts got nearly the same reply."""

from __future__ import annotations

import numpy as np

from pixelis.rewards.text.duplicates import duplicate_shares

UNIT = np.eye(3)


def test_by_hand():
    # Prompts 0, 0, 1, 2: replies a, b, a, c. The first has its like under one of two other prompts.
    vectors = UNIT[[0, 1, 0, 2]]
    assert duplicate_shares(vectors, [0, 0, 1, 2]).tolist() == [0.5, 0, 0.5, 0]


def test_likes_under_the_same_prompt_do_not_count():
    assert duplicate_shares(UNIT[[0, 0, 0]], [4, 4, 4]).tolist() == [0, 0, 0]
    assert duplicate_shares(UNIT[[0, 0, 1]], [4, 4, 9]).tolist() == [0, 0, 0]


def test_near_is_a_cosine():
    near = np.array([[1, 0], [0.95, np.sqrt(1 - 0.95**2)]])
    assert duplicate_shares(near, [0, 1]).tolist() == [1, 1]
    assert duplicate_shares(near, [0, 1], near=0.96).tolist() == [0, 0]


def test_many_rows_give_what_few_do():
    rng = np.random.default_rng(0)
    vectors = UNIT[rng.integers(3, size=600)]
    prompts = rng.integers(5, size=600).tolist()
    expected = [
        len({q for q, w in zip(prompts, vectors, strict=True) if q != p and v @ w > 0.9}) / 4
        for p, v in zip(prompts[:40], vectors[:40], strict=True)
    ]
    assert duplicate_shares(vectors, prompts)[:40].tolist() == expected
