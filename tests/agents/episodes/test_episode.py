"""Segments and episodes: what is joined, in which order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode, Segment, join_images
from pixelis.errors import ModelLoadError


def episode(*segments: Segment) -> Episode:
    return Episode("Toy-v0", 0, 0, 0, list(segments))


def test_segments_join_in_order():
    prompt = Segment.given([5, 6, 7], "hello")
    turn = Segment.written([8, 9], [-0.5, -1.5], "yes")
    played = episode(prompt, turn, Segment.given([1], "!"))
    assert played.tokens.tolist() == [5, 6, 7, 8, 9, 1]
    assert played.loss_mask.tolist() == [False, False, False, True, True, False]
    assert played.logprobs.tolist() == [0, 0, 0, -0.5, -1.5, 0]
    assert (played.tokens.dtype, played.loss_mask.dtype, played.logprobs.dtype) == (
        np.int64,
        np.bool_,
        np.float32,
    )
    assert (len(played), played.prompt_length, played.completion_length) == (6, 3, 2)
    assert played.text == "helloyes!"
    assert (prompt.sampled, turn.sampled) == (False, True)


def test_an_episode_without_segments_is_empty():
    assert episode().tokens.shape == (0,)
    assert episode().prompt_length == episode().completion_length == 0


def test_an_episode_nobody_wrote_is_all_prompt():
    assert episode(Segment.given([1, 2])).prompt_length == 2


def test_images_are_concatenated_in_token_order():
    first, second = torch.zeros(1, 3, 2, 2), torch.ones(2, 3, 2, 2)
    played = episode(
        Segment.given([1], images={"pixel_values": first}),
        Segment.written([2]),
        Segment.given([3], images={"pixel_values": second}),
    )
    assert torch.equal(played.images["pixel_values"], torch.cat([first, second]))
    assert join_images([{}, {}]) == {}


@pytest.mark.parametrize("name", ["loss_mask", "logprobs"])
def test_misaligned_arrays_are_refused(name: str):
    arrays = {"tokens": np.arange(3), "loss_mask": np.zeros(3, bool), "logprobs": np.zeros(3, np.float32)}
    arrays[name] = arrays[name][:2]
    with pytest.raises(ValueError, match=f"{name} must have shape"):
        Segment(**arrays)


def test_two_dimensional_tokens_are_refused():
    with pytest.raises(ValueError, match="one-dimensional"):
        Segment.given(np.zeros((1, 2)))


@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=5), st.booleans()), max_size=6))
def test_the_mask_marks_exactly_what_was_written(parts: list[tuple[list[int], bool]]):
    played = episode(*(Segment.written(ids) if wrote else Segment.given(ids) for ids, wrote in parts))
    assert played.tokens[played.loss_mask].tolist() == [i for ids, wrote in parts if wrote for i in ids]
    assert played.tokens[~played.loss_mask].tolist() == [i for ids, wrote in parts if not wrote for i in ids]


def test_pictures_of_different_shapes_are_filled_up_with_zeros():
    """Two tiles and one, as LLaVA-NeXT cuts them; image_sizes says how many are real."""
    wide = {"pixel_values": torch.full((1, 2, 3), 5.0), "image_sizes": torch.tensor([[32, 64]])}
    small = {"pixel_values": torch.full((1, 1, 3), 7.0), "image_sizes": torch.tensor([[32, 32]])}
    joined = join_images([small, {}, wide])
    assert joined["pixel_values"].tolist() == [[[7.0] * 3, [0.0] * 3], [[5.0] * 3] * 2]
    assert joined["image_sizes"].tolist() == [[32, 32], [32, 64]]


def test_different_shapes_that_nothing_explains_are_one_clear_error():
    parts = [{"pixel_values": torch.zeros(1, count, 3)} for count in (2, 1)]
    with pytest.raises(
        ModelLoadError, match=r"pixel_values of different shapes, \[\(1, 3\), \(2, 3\)\], without"
    ):
        join_images(parts)
