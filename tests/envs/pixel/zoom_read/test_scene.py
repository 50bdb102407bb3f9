from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET, code_split, sample_codes
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, KINDS, PALETTE
from pixelis.envs.pixel.zoom_read.scene import LEVELS, SCENE_SIZE, sample_scene
from pixelis.errors import DifficultyError, SplitError

seeds = st.integers(0, 2**32 - 1)
difficulties = st.integers(0, 4)
splits = st.sampled_from(["train", "test"])


def draw(seed, difficulty, split="train"):
    return sample_scene(np.random.default_rng(seed), difficulty, split)


def boxes(scene):
    return [sign.box(scene.size) for sign in scene.signs]


@pytest.mark.parametrize(("difficulty", "count"), [(0, 3), (1, 6), (2, 12), (3, 24), (4, 40)])
def test_number_of_signs(difficulty, count):
    assert len(draw(0, difficulty).signs) == count


@given(seeds, difficulties, splits)
def test_the_same_generator_state_gives_the_same_scene(seed, difficulty, split):
    assert draw(seed, difficulty, split) == draw(seed, difficulty, split)


def test_other_seeds_give_other_scenes():
    assert len({draw(seed, 1) for seed in range(50)}) == 50


@given(seeds, difficulties)
def test_colour_and_kind_name_one_sign(seed, difficulty):
    signs = draw(seed, difficulty).signs
    assert len({(sign.colour, sign.kind) for sign in signs}) == len(signs)


@given(seeds, st.integers(0, 1))
def test_easy_levels_have_plain_upright_boards_of_base_colours(seed, difficulty):
    signs = draw(seed, difficulty).signs
    assert {sign.kind for sign in signs} == {"sign"}
    assert {sign.colour for sign in signs} <= set(BASE_COLOURS)
    assert all(sign.rgb == PALETTE[sign.colour] and sign.angle_degrees == 0 for sign in signs)


@given(seeds, st.integers(0, 1))
def test_easy_signs_are_spread_out(seed, difficulty):
    for a, b in itertools.combinations(draw(seed, difficulty).signs, 2):
        assert max(abs(a.center[0] - b.center[0]), abs(a.center[1] - b.center[1])) >= 0.2 * SCENE_SIZE


def test_hard_levels_use_every_colour_and_kind_and_both_ways_to_tilt():
    signs = [sign for seed in range(5) for sign in draw(seed, 4).signs]
    assert {sign.colour for sign in signs} == set(PALETTE)
    assert {sign.kind for sign in signs} == set(KINDS)
    assert min(sign.angle_degrees for sign in signs) < -4 and max(sign.angle_degrees for sign in signs) > 4


@pytest.mark.parametrize(("difficulty", "tilt"), [(2, 0), (3, 3), (4, 5)])
def test_largest_tilt(difficulty, tilt):
    angles = [abs(sign.angle_degrees) for seed in range(20) for sign in draw(seed, difficulty).signs]
    assert max(angles) <= tilt
    assert max(angles) >= 0.8 * tilt


@given(seeds, st.integers(2, 4))
def test_colours_stay_near_their_name(seed, difficulty):
    for sign in draw(seed, difficulty).signs:
        nearest = min(PALETTE, key=lambda name: math.dist(PALETTE[name], sign.rgb))
        assert nearest == sign.colour


@given(seeds, difficulties)
def test_signs_keep_off_the_edges(seed, difficulty):
    for x0, y0, x1, y1 in boxes(draw(seed, difficulty)):
        assert 0.06 <= x0 < x1 <= 0.94
        assert 0.06 <= y0 < y1 <= 0.94


@given(seeds, difficulties)
def test_signs_do_not_overlap(seed, difficulty):
    gap = 10 / SCENE_SIZE
    for a, b in itertools.combinations(boxes(draw(seed, difficulty)), 2):
        assert a[2] + gap <= b[0] or b[2] + gap <= a[0] or a[3] + gap <= b[1] or b[3] + gap <= a[1]


@given(seeds, difficulties)
def test_sizes_of_signs_and_text(seed, difficulty):
    for sign in draw(seed, difficulty).signs:
        assert 110 <= sign.size[0] <= 150 and 40 <= sign.size[1] <= 56
        assert 14 <= sign.text_height <= 16


@given(seeds, difficulties, splits)
def test_codes(seed, difficulty, split):
    codes = [sign.code for sign in draw(seed, difficulty, split).signs]
    assert {code_split(code) for code in codes} == {split}
    assert all(len(code) == 4 and set(code) <= set(CODE_ALPHABET) for code in codes)
    assert all(
        sum(x != y for x, y in zip(a, b, strict=True)) >= 2 for a, b in itertools.combinations(codes, 2)
    )


def test_alphabet_has_no_characters_that_look_alike():
    assert set(CODE_ALPHABET).isdisjoint("0OQD1IL5S8B2Z6GUVF")
    assert len(set(CODE_ALPHABET)) == len(CODE_ALPHABET) == 15


def test_code_split_by_hand():
    # sha256sum starts with d3 = 211 for ACEH, 3d = 61 for KMNP and be = 190, a multiple of 5, for XY34
    assert [code_split(code) for code in ("ACEH", "KMNP", "XY34")] == ["train", "train", "test"]


def test_a_fifth_of_all_codes_is_for_tests():
    codes = ["".join(code) for code in itertools.permutations(CODE_ALPHABET, 4)]
    share = sum(code_split(code) == "test" for code in codes) / len(codes)
    assert share == pytest.approx(0.2, abs=0.01)


@settings(max_examples=5)
@given(seeds, splits)
def test_many_codes_can_be_drawn(seed, split):
    assert len(set(sample_codes(np.random.default_rng(seed), 200, split))) == 200


@pytest.mark.parametrize("difficulty", [-1, 5, 1.0, "1", None, True])
def test_unknown_difficulty(difficulty):
    with pytest.raises(DifficultyError, match="0 to 4"):
        sample_scene(np.random.default_rng(0), difficulty, "train")


@pytest.mark.parametrize("split", ["val", "", None, 0])
def test_unknown_split(split):
    with pytest.raises(SplitError, match="train"):
        sample_scene(np.random.default_rng(0), 0, split)


def test_harder_levels_hold_more():
    counts = [level.signs for level in LEVELS]
    assert counts == sorted(set(counts))
