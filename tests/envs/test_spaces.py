from __future__ import annotations

import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces.utils import flatten, flatten_space, unflatten
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.spaces import TRUNCATION_MARK, Utf8Text, clean_text, truncate_text

any_text = st.text(st.characters(), max_size=40)  # surrogates too
unicode_text = st.text(max_size=40)


@pytest.mark.parametrize("text", ["", "a", "é漢🙂\0\n", "x" * 40])
def test_any_unicode_up_to_the_length_is_contained(text):
    assert text in Utf8Text(40)


@pytest.mark.parametrize("other", ["x" * 41, b"x", 3, None, ["x"], "\ud800", "ok\udfff"])
def test_longer_text_half_surrogates_and_other_types_are_not(other):
    assert other not in Utf8Text(40)


@given(any_text)
def test_clean_text_can_be_encoded_and_keeps_unicode(text):
    cleaned = clean_text(text)
    assert cleaned.encode().decode() == cleaned
    assert len(cleaned) == len(text)
    assert cleaned == text or "?" in cleaned


def test_clean_text_by_hand():
    assert clean_text("a\ud800b🙂") == "a?b🙂"


@given(unicode_text, st.integers(0, 30))
def test_truncated_text_has_the_length(text, length):
    cut = truncate_text(text, length)
    assert len(cut) <= length
    assert cut == text if len(text) <= length else TRUNCATION_MARK[:length] in cut


def test_truncation_is_marked():
    assert truncate_text("x" * 20, 12) == "xxxx\n[… cut]"
    assert truncate_text("x" * 12, 12) == "x" * 12


def test_samples_are_contained_and_seeded():
    space = Utf8Text(60, seed=3)
    samples = [space.sample() for _ in range(20)]
    assert all(sample in space for sample in samples)
    assert samples == [Utf8Text(60, seed=3).sample(), *samples[1:]]
    assert space.from_jsonable(space.to_jsonable(samples)) == samples


def test_equality_is_the_length():
    assert Utf8Text(5) == Utf8Text(5) != Utf8Text(6)
    assert Utf8Text(5) != gym.spaces.Text(5)
    assert repr(Utf8Text(5)) == "Utf8Text(5)"


@given(any_text)
def test_flattening_loses_nothing(text):
    space = Utf8Text(40)
    flat = flatten(space, text)
    assert flat in flatten_space(space)
    assert unflatten(space, flat) == text


def test_flattened_by_hand():
    assert flatten(Utf8Text(4), "a🙂").tolist() == [97, 0x1F642, 0x110000, 0x110000]


@given(st.lists(unicode_text, min_size=2, max_size=2), st.lists(unicode_text, min_size=2, max_size=2))
def test_shared_memory_shows_what_was_written_last(first, second):
    space = Utf8Text(40)
    memory = create_shared_memory(space, n=2)
    seen = read_from_shared_memory(space, memory, n=2)
    assert copy.deepcopy(seen) == ("", "")
    for texts in (first, second):
        for index, text in enumerate(texts):
            write_to_shared_memory(space, index, text, memory)
        assert list(seen) == texts
        assert copy.deepcopy(seen) == tuple(texts)
        assert len(seen) == 2


def test_a_dictionary_with_text_goes_through_shared_memory():
    space = gym.spaces.Dict(text=Utf8Text(8), image=gym.spaces.Box(0, 255, (2, 2), np.uint8))
    memory = create_shared_memory(space, n=1)
    write_to_shared_memory(space, 0, {"text": "é", "image": np.full((2, 2), 7, np.uint8)}, memory)
    seen = read_from_shared_memory(space, memory, n=1)
    assert tuple(seen["text"]) == ("é",)
    assert seen["image"].tolist() == [[[7, 7], [7, 7]]]
