"""Words and choices of questions, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.pixel.count_tiny.scene import KINDS as PIECES
from pixelis.envs.pixel.tools.colours import colour_names
from pixelis.envs.pixel.tools.palette import KINDS as SIGNS
from pixelis.envs.pixel.tools.words import QUESTION_WORDS
from pixelis.wrappers.discrete.question import listed_choices, one_hot, words_in

SIZES = "Which shape shows the largest area: red, sky blue or pink? What a grey card hides does not count."


def test_every_colour_and_kind_has_a_place():
    assert {*colour_names(), *SIGNS, *PIECES} <= set(QUESTION_WORDS)
    assert len(set(QUESTION_WORDS)) == len(QUESTION_WORDS)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What code is on the sky blue sign?", {"sky blue", "sign"}),
        ("What code is on the blue screen?", {"blue", "screen"}),
        ("How many red beads are on the table?", {"red", "bead"}),
        ("Who wired the reddish thing?", set()),
        ("", set()),
    ],
)
def test_words(question, found):
    assert words_in(question, QUESTION_WORDS) == found
    vector = one_hot(question, QUESTION_WORDS)
    assert vector.dtype == np.float32
    assert {QUESTION_WORDS[i] for i in np.flatnonzero(vector)} == found


def test_no_words_are_no_numbers():
    assert one_hot("red", ()).shape == (0,)


@pytest.mark.parametrize(
    ("question", "choices"),
    [
        (SIZES, ("red", "sky blue", "pink")),
        ("Which is larger: red or blue?", ("red", "blue")),
        ("What code is on the red sign?", ()),
        ("Is it red or blue?", ()),
    ],
)
def test_choices(question, choices):
    assert listed_choices(question) == choices
