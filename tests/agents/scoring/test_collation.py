"""Episodes as the rows of one batch."""

from __future__ import annotations

import pytest

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import Policy
from pixelis.agents.scoring.collation import collate


def test_episodes_become_rows_padded_on_the_right(text_policy: Policy):
    def episode(segments: list[Segment]) -> Episode:
        return Episode("Toy-v0", 0, 0, 0, segments)

    long = episode([Segment.given([5, 6]), Segment.written([7], [-1.0]), Segment.given([8])])
    short = episode([Segment.given([9]), Segment.written([4], [-1.0])])
    tokens, valid, positions, sampled = collate(text_policy, [long, short])
    pad = text_policy.chat.pad_id
    assert tokens.tolist() == [[5, 6, 7, 8], [9, 4, pad, pad]]
    assert valid.tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert positions.tolist() == [[[0, 1, 2, 3], [0, 1, 0, 0]]]
    assert sampled.int().tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    with pytest.raises(ValueError, match="the first token of an episode cannot be a sampled one"):
        collate(text_policy, [episode([Segment.written([4], [-1.0])])])
