"""Different prompts that begin alike are read once, and every row says what it would say alone."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.agents.episodes.episode import Segment
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.decoding import Decoder
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.scoring.packing import common_head

TOOLS = "Tools: " + "press the button, " * 5  # one byte a token
QUESTIONS = ("which colour?", "how many are there on the left?", "x")
SETTINGS = SamplingSettings(max_new_tokens=7)


def two_turns(policy: Policy, questions: list[str], rows: list[int]) -> tuple[list[Segment], int]:
    """Return what the rows say to prompts and then to another question, and how many tokens were read."""
    numbers = np.random.default_rng(5).random((2, len(QUESTIONS), 7))[:, rows]
    decoder = Decoder(policy)
    decoder.start([policy.chat.first(TOOLS + each) for each in questions])
    first = decoder.write(numbers[0], SETTINGS)
    later = [
        policy.chat.later("and " * row, None, int(t.tokens[-1])) for row, t in zip(rows, first, strict=True)
    ]
    decoder.read(later, first)
    return first + decoder.write(numbers[1], SETTINGS), decoder.stats.prefilled_tokens


def test_rows_behind_a_common_head_say_what_they_say_alone(text_policy: Policy):
    together, read = two_turns(text_policy, list(QUESTIONS), [0, 1, 2])
    alone, read_alone = [], 0
    for row, question in enumerate(QUESTIONS):
        turns, count = two_turns(text_policy, [question], [row])
        alone.append(turns)
        read_alone += count
    head = common_head([text_policy.chat.first(TOOLS + each).tokens for each in QUESTIONS])
    assert head >= len(TOOLS)
    assert read == read_alone - 2 * head
    for row, (first, second) in enumerate(alone):
        for expected, found in ((first, together[row]), (second, together[row + len(QUESTIONS)])):
            assert expected.tokens.tolist() == found.tokens.tolist()
            np.testing.assert_allclose(found.logprobs, expected.logprobs, atol=1e-5)


def test_groups_and_pictures_are_read_as_before(text_policy: Policy):
    prompts = [text_policy.chat.first(TOOLS + each) for each in QUESTIONS]
    decoder = Decoder(text_policy)
    decoder.start(prompts, [2, 1, 1])
    assert decoder.stats.prefilled_tokens == sum(map(len, prompts))
    short = [text_policy.chat.first(each) for each in QUESTIONS]
    decoder = Decoder(text_policy)
    decoder.start(short)
    assert decoder.stats.prefilled_tokens == sum(map(len, short))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (([1, 2, 3], [1, 2, 4]), 2),
        (([1, 2], [1, 2, 4]), 1),  # something is left of each
        (([1, 2, 3], [1, 2, 3]), 2),
        (([5, 2, 3], [1, 2, 3]), 0),
        (([1, 2, 3],), 0),
    ],
)
def test_what_is_common_by_hand(rows: tuple[list[int], ...], expected: int):
    assert common_head([np.array(row) for row in rows]) == expected
