"""Training without labels: what a vote at test time counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pixelis.agents.episodes.episode import Episode, Exchange, Segment

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # matplotlib is imported


@pytest.fixture
def without_labels(monkeypatch):
    for folder in ("benchmarks", "benchmarks/learning"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    import without_labels

    yield without_labels
    for name in ("without_labels", "every_env"):
        del sys.modules[name]


def members(*said, group=0):
    """Return episodes of one task, each by its answer and whether that is right."""
    return [
        Episode(
            "Toy-v0", 0, group, member, [Segment.given([1]), Segment.written([1], [0.0])],
            exchanges=[Exchange(f"<answer>{answer}</answer>", "", 0)], success=right,
        )
        for member, (answer, right) in enumerate(said)
    ]  # fmt: skip


def test_a_majority_counts_and_a_tie_counts_as_its_mean(without_labels):
    found = without_labels.tally(
        [
            members(("a", True), ("a", True), ("b", False), ("c", False)),  # .5 alone, right by vote
            members(("a", False), ("a", False), ("a", False), ("b", True)),  # .25 alone, wrong by vote
            members(("a", True), ("b", False), ("c", False), ("d", False)),  # all differ
        ]
    )
    assert (found["tasks"], found["wrong"], found["abstained"]) == (3, 1 / 3, 1 / 3)
    assert found["single"]["success"] == pytest.approx((0.5 + 0.25 + 0.25) / 3)
    assert found["majority"]["success"] == pytest.approx((1 + 0 + 0.25) / 3)
    low, high = found["majority"]["interval"]
    assert 0 <= low < found["majority"]["success"] < high <= 1


def test_an_episode_whose_env_failed_does_not_vote(without_labels):
    group = members(("b", False), ("b", False), ("a", True), ("a", True), ("a", True))
    group[2].valid_for_training = group[3].valid_for_training = False
    found = without_labels.tally([group])
    assert (found["majority"]["success"], found["wrong"]) == (0.0, 1.0)
    assert found["single"]["success"] == pytest.approx(1 / 3)
