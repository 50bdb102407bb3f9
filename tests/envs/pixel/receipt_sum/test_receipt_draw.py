from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.pixel.base.splits import seed_split
from pixelis.envs.pixel.receipt_sum.sample import (
    ADJECTIVES,
    LEVELS,
    NOUNS,
    PRICES,
    SHOPS,
    greatest_guess,
    sample_receipt,
)
from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene
from pixelis.errors import SplitError


def draw(seed, difficulty, split="train"):
    return sample_receipt(np.random.default_rng(seed), difficulty, split)


SEEDS, DIFFICULTIES = st.integers(0, 2**32), st.integers(0, 4)


@given(SEEDS, DIFFICULTIES)
@settings(max_examples=60, deadline=None)
def test_a_page_is_as_its_level_says(seed, difficulty):
    level, (scene, ask) = LEVELS[difficulty], draw(seed, difficulty)
    marks = Counter(item.mark for item in scene.lines)
    assert len(scene.lines) == level.lines and scene.form in level.forms and ask.kind in level.kinds
    assert marks["struck"] in level.struck and marks["underlined"] in level.underlined
    assert bool(scene.tax) == scene.quantities == level.detailed
    assert all(item.unit in PRICES for item in scene.lines)
    assert len({item.name for item in scene.lines}) == level.lines
    assert ReceiptScene.from_json(json.loads(json.dumps(scene.to_json()))) == scene
    assert 24 <= scene.left <= scene.side - 24 - scene.size[0]
    assert 24 <= scene.top <= scene.side - 24 - scene.size[1]


@given(SEEDS, DIFFICULTIES)
@settings(max_examples=60, deadline=None)
def test_the_question_needs_more_than_one_line_and_never_gives_the_printed_total(seed, difficulty):
    level, (scene, ask) = LEVELS[difficulty], draw(seed, difficulty)
    rows = ask.rows(scene)
    counted = [scene.lines[i].amount for i in rows if scene.lines[i].mark != "struck"]
    assert len(counted) >= 2
    assert ask.answer(scene) < scene.totals[-1][1]
    if ask.kind == "named":
        assert len(rows) == len(ask.names) and len(rows) in level.named
    elif ask.names:
        assert len(rows) in level.group
    if ask.kind in ("lowest", "highest"):
        every = [item.amount for item in scene.lines if item.mark != "struck"]
        better = [amount for amount in every if (amount <= min(counted)) == (ask.kind == "lowest")]
        assert len(better) > 1, "one of another word is at least as low (high)"


@given(SEEDS, st.integers(3, 4))
@settings(max_examples=30, deadline=None)
def test_tax_leaves_no_half_cent_to_round(seed, difficulty):
    scene, _ = draw(seed, difficulty)
    due = sum(item.amount for item in scene.lines if item.mark != "struck")
    assert due * scene.tax % 100 != 50


@pytest.mark.parametrize("difficulty", range(5))
def test_no_amount_is_right_more_often_than_the_bound(difficulty):
    """The commonest of 1,000 answers: at most the bound's 1,000th and four standard deviations."""
    answers = Counter(ask.answer(scene) for scene, ask in (draw(seed, difficulty) for seed in range(1000)))
    expected = 1000 * greatest_guess(difficulty)
    assert max(answers.values()) <= expected + 4 * expected**0.5


def test_the_bound_by_hand():
    """Level 0: 4 of 8 lines, 2,400 prices. Level 4: 8 of the 48 that are left."""
    assert greatest_guess(0) == pytest.approx(4 / 2400 * 8 / 4)
    assert greatest_guess(4) == pytest.approx(8 / 2400 * 48 / 40)
    assert all(1 / 400 < greatest_guess(difficulty) <= 1 / 250 for difficulty in range(5))


def test_every_second_question_asks_for_a_struck_line_too():
    """200 pages of level 2 whose question has names; 5 standard deviations of a fair coin."""
    drawn = [(scene, ask) for scene, ask in (draw(seed, 2) for seed in range(260)) if ask.names][:200]
    hit = sum(any(scene.lines[i].mark == "struck" for i in ask.rows(scene)) for scene, ask in drawn)
    assert len(drawn) == 200 and abs(hit - 100) <= 36


def test_levels_get_longer_and_no_line_is_legible_from_afar():
    assert [level.lines for level in LEVELS] == [8, 16, 28, 44, 60]
    assert all(level.text_height / 4 <= 3.5 and level.pitch >= 21 for level in LEVELS)


def test_no_word_is_part_of_another():
    """So that "with Tea" means one thing."""
    words = [*NOUNS, *ADJECTIVES]
    assert not [(a, b) for a, b in itertools.permutations(words, 2) if a.lower() in b.lower()]
    assert max(len(f"{a} {b}") for a in ADJECTIVES for b in NOUNS) <= 16
    assert max(map(len, SHOPS)) <= 24


def test_seeds_belong_to_the_split():
    assert {seed_split(draw(seed, 0, "test")[0].seed) for seed in range(12)} == {"test"}
    assert {seed_split(draw(seed, 0, "train")[0].seed) for seed in range(12)} == {"train"}
    with pytest.raises(SplitError):
        draw(0, 0, "dev")
