"""Comparing members by the parts of their rewards, or by the sets they are in."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.losses.advantages import STD_EPSILON, group_advantages
from pixelis.agents.rl.batch import BatchSettings, make_batch, reward_matrix, score
from pixelis.agents.rl.comparison import GroupComparison, compared, member_scores, sets_of
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError, RewardError

ROOT_HALF = math.sqrt(0.5)  # the deviation (n - 1) of 0 and 1


def replied(member, text, reward, gate=None, group=0, **terms):
    info = {"final_answer": {"text": text, "accepted": bool(text) and gate is None}}
    segments = [Segment.given([1]), Segment.written([2], text=text)]
    return Episode(
        "Toy-v0", 0, group, member, segments, reward=reward, reward_terms={"task": reward, **terms}, info=info
    )


def paid(parts, group_size, groups=1):
    """Episodes with these reward terms, a dict each, in the order of groups and members."""
    return [
        Episode("Toy-v0", 0, index // group_size, index % group_size, reward=sum(terms.values()),
                reward_terms=dict(terms))
        for index, terms in enumerate(parts)
    ]  # fmt: skip


def by(advantage, episodes, groups, size, **more):
    return compared(reward_matrix(episodes, groups, size), episodes, GroupComparison(advantage, **more))


def test_per_part_tells_mixes_apart_that_the_sum_does_not():
    # Two tasks of two episodes: in one the better episode wins by one part, in the other by both. The sum,
    # divided by its own deviation, makes the same of 1 and of 2 (the example of the paper's figure 2).
    episodes = paid([{"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 0, "b": 0}, {"a": 1, "b": 1}], 2)
    summed = group_advantages(reward_matrix(episodes, 2, 2))
    assert summed[0] == pytest.approx(summed[1], abs=1e-3)
    parts = by("per_part", episodes, 2, 2, part_weights={"a": 1.0, "b": 1.0})
    one = 0.5 / (ROOT_HALF + STD_EPSILON)  # of each part that differs: ±0.707
    assert parts == pytest.approx(np.array([[-one, one], [-2 * one, 2 * one]]))
    final = group_advantages(parts, "batch")
    deviation = math.sqrt((2 * one**2 + 2 * (2 * one) ** 2) / 3)
    assert final == pytest.approx(parts / (deviation + STD_EPSILON))


def test_parts_are_weighted_after_they_are_normalised():
    # a large part and a small one that disagree: only the weights decide
    episodes = paid([{"a": 100.0, "b": 0.0}, {"a": 0.0, "b": 0.01}], 2)
    found = by("per_part", episodes, 1, 2, part_weights={"a": 1.0, "b": 3.0})
    a = 50 / (100 * ROOT_HALF + STD_EPSILON)
    b = 0.005 / (0.01 * ROOT_HALF + STD_EPSILON)
    assert found[0].tolist() == pytest.approx([a - 3 * b, 3 * b - a]) and found[0, 1] > 0


def test_a_constant_part_adds_nothing():
    episodes = paid([{"a": 0.1, "b": b} for b in (0.0, 1.0, 1.0)], 3)
    with_it = by("per_part", episodes, 1, 3, part_weights={"a": 5.0, "b": 1.0})
    without = by("per_part", episodes, 1, 3, part_weights={"b": 1.0})
    assert (with_it == without).all()
    zero_variance = paid([{"a": 0.1}] * 3, 3)
    settings = BatchSettings(comparison=GroupComparison("per_part", {"a": 1.0}))
    found = score(zero_variance, 1, 3, "batch", settings)
    assert found.zero_variance.tolist() == [True] and not found.advantages.any()


def test_unscored_members_take_no_part():
    episodes = paid([{"a": 0.0}, {"a": 1.0}, {"a": 9.0}], 3)
    episodes[2].valid_for_training = False
    found = by("per_part", episodes, 1, 3, part_weights={"a": 1.0})
    one = 0.5 / (ROOT_HALF + STD_EPSILON)
    assert found[0, :2].tolist() == pytest.approx([-one, one]) and np.isnan(found[0, 2])


def test_reward_parts_come_before_reward_terms():
    episodes = paid([{"task": 0.0}, {"task": 1.0}], 2)
    for episode, raw in zip(episodes, (4.0, 2.0), strict=True):
        episode.reward_parts = {"task": {"raw": raw, "normalised": 0.0, "weighted": 0.0}}
    assert by("per_part", episodes, 1, 2, part_weights={"task": 1.0})[0, 0] > 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_part_that_is_not_finite_is_told(bad):
    episodes = paid([{"a": 0.0, "b": 1.0}, {"a": bad, "b": 1.0}], 2)
    settings = BatchSettings(comparison=GroupComparison("per_part", {"a": 1.0, "b": 1.0}))
    with pytest.raises(RewardError, match=f"seed 0, member 1: part 'a' of its reward is {bad}"):
        make_batch(
            episodes, groups=1, group_size=2, scale="batch", max_completion_length=1, settings=settings
        )


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
def test_a_run_that_goes_on_has_checked_its_parts(toy_config):
    """A part that nobody earns in the step after it is no mistake then, as it was none before."""
    parts = {"type": "per_part", "weights": {"task": 1.0, "style": 1.0}}
    config = toy_config(steps=0, algorithm={"advantage": parts, "scale": "batch"})
    with TrainingRun.start(config) as run:
        run.train()
        assert not run.trainer._learner._settings.comparison.known_parts
        run.trainer.finished_steps = 1
        run.trainer.save()
    with TrainingRun.resume(config.output, config) as again:
        assert again.trainer._learner._settings.comparison.known_parts == {"task", "style"}


def test_a_part_that_is_not_there():
    with pytest.raises(RewardError, match=r"has a part 'relevanse'.*relevance.* correct part_weights"):
        by("per_part", paid([{"relevance": 1.0}] * 2, 2), 1, 2, part_weights={"relevanse": 1.0})
    cut_off = by("per_part", paid([{"a": 1.0}, {}], 2), 1, 2, part_weights={"a": 1.0})
    one = 0.5 / (ROOT_HALF + STD_EPSILON)
    assert cut_off[0].tolist() == pytest.approx([one, -one])


REPLIES = st.lists(
    st.tuples(st.sampled_from(["a b", "a b", "c d", "e", "f g h"]), st.floats(0, 1), st.booleans()),
    min_size=4,
    max_size=6,
)


@given(REPLIES)
@settings(max_examples=40)
def test_no_gated_reply_is_above_one_that_is_not(replies):
    episodes = [
        replied(i, text, -0.2 - 0.8 * value if gated else value, "spam" if gated else None, style=1 - value)
        for i, (text, value, gated) in enumerate(replies)
    ]
    weights = {"task": 1.0, "style": 3.0}
    for found in (
        by("per_part", episodes, 1, len(episodes), part_weights=weights),
        by("polychromic", episodes, 1, len(episodes), diversity="ngrams", set_size=3),
    ):
        gated = np.array([gate for _, _, gate in replies])
        if gated.any() and not gated.all():
            assert found[0, gated].max() <= found[0, ~gated].min() + 1e-9


def test_polychromic_by_hand():
    # Sets of two of three; distances by words: a-b and a-c all, b-c none (the same text).
    episodes = [replied(0, "x", 0.5), replied(1, "y", 1.0), replied(2, "y", 0.8)]
    found = by("polychromic", episodes, 1, 3, diversity="ngrams", set_size=2)
    first, second, third = 0.75 * 1, 0.65 * 1, 0.9 * 0  # {0, 1}, {0, 2}, {1, 2}
    expected = [(first + second) / 2, (first + third) / 2, (second + third) / 2]
    assert found[0].tolist() == pytest.approx(expected)
    # the baseline is the mean over the sets
    advantages = group_advantages(found, "none")[0]
    assert advantages == pytest.approx(np.array(expected) - (first + second + third) / 3)


def test_polychromic_with_a_gated_member_and_a_floor():
    # r - floor: 1.5, 0.5, 1.75 of a floor of -1; what a gate stopped is at no distance
    episodes = [replied(0, "x", 0.5), replied(1, "y", -0.5, "spam"), replied(2, "z", 0.75)]
    found = by("polychromic", episodes, 1, 3, diversity="ngrams", set_size=3, set_floor=-1.0)
    assert found[0].tolist() == [0.5, -0.5, 0.75]  # one set has them all: by reward
    found = by("polychromic", episodes, 1, 3, diversity="ngrams", set_size=2, set_floor=-1.0)
    pair = (1.5 + 1.75) / 2
    assert found[0].tolist() == pytest.approx([pair / 2, 0, pair / 2])


def test_a_group_without_diversity_is_compared_by_reward():
    episodes = [replied(0, "x", 0.5), replied(1, "x", 0.25), replied(2, "y", -1.0, "spam")]
    found = by("polychromic", episodes, 1, 3, diversity="ngrams", set_size=2)
    assert found[0].tolist() == [0.5, 0.25, -1.0]


def test_the_same_answer_is_worth_less_than_a_rare_one():
    episodes = [replied(i, text, 0.5) for i, text in enumerate(["a", "a", "a", "b"])]
    found = by("polychromic", episodes, 1, 4, diversity="ngrams", set_size=2)[0]
    assert found[3] > found[:3].max() and np.ptp(found[:3]) == 0


@given(st.lists(st.floats(0, 1), min_size=4, max_size=7), st.integers(2, 4), st.integers(0, 9))
@settings(max_examples=30)
def test_member_scores_are_means_over_all_sets(worth, size, seed):
    upper = np.triu(np.random.default_rng(seed).random((len(worth),) * 2), 1)
    distances = upper + upper.T
    found = member_scores(np.array(worth), distances, size)
    for member in range(len(worth)):
        scores = [
            np.mean([worth[i] for i in each]) * np.mean([distances[i, j] for i, j in combinations(each, 2)])
            for each in combinations(range(len(worth)), size)
            if member in each
        ]
        assert found[member] == pytest.approx(np.mean(scores))


def test_large_groups_are_sampled_evenly():
    sets = sets_of(18, 4)  # 3060 in all
    assert all(len(set(each)) == 4 for each in sets) and len(sets) < 200
    seen = Counter(member for each in sets for member in each)
    assert set(seen) == set(range(18)) and max(seen.values()) <= min(seen.values()) + 32
    assert sets == sets_of(18, 4) and len(sets_of(8, 4)) == 70


PARTS = {"algorithm": {"advantage": {"type": "per_part", "weights": {"a": 1}}}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": {"advantage": "per_part"}}, "weights must be part of the reward"),
        ({"algorithm": {"advantage": {"type": "per_part", "weights": {"a": -1.0}}}}, "number >= 0"),
        (
            {"algorithm": {"advantage": {"type": "per_part", "weights": {"a": True}}}},
            "weights.a must be a finite number, got True",
        ),
        (
            {"algorithm": {"advantage": {"type": "per_part", "weights": {"a": math.nan}}}},
            "weights.a must be a finite number, got nan",
        ),
        (
            {"algorithm": {"advantage": {"type": "per_part", "weights": {"a": 1}}}},
            "algorithm.scale must be batch",
        ),
        (
            {"algorithm": {**PARTS["algorithm"], "scale": "batch"}, "loss": {"kl": {"place": "reward"}}},
            "loss.kl.place reward must be left out",
        ),
        (
            {"algorithm": {"advantage": {"weights": {"a": 1}}}},
            "weights is not read with algorithm.advantage sum, only with per_part",
        ),
        ({"algorithm": {"advantage": "polychromic"}}, "needs a measure of diversity"),
        (
            {"algorithm": {"advantage": {"type": "polychromic", "set_size": 9}}, "diversity": "ngrams"},
            "at most group_size 8",
        ),
        (
            {"algorithm": {"advantage": "polychromic", "credit": "turn"}, "diversity": "ngrams"},
            "credit turn compares",
        ),
        (
            {"algorithm": {"advantage": "polychromic", "type": "ppo"}, "diversity": "ngrams"},
            "algorithm.advantage is not read with algorithm ppo, only with grpo",
        ),
        ({"shaping": {"bonus": {"name": "diversity"}}}, "bonus diversity needs a measure"),
        (
            {"shaping": {"bonus": {"name": "diversity", "weight": -1.0}}, "diversity": "ngrams"},
            "bonus.weight must be at",
        ),
    ],
)
def test_settings_that_do_not_go_together(changes, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**changes)


def test_a_part_that_nobody_earned_in_a_step_is_no_mistake():
    weights = GroupComparison("per_part", {"task": 1.0, "exact": 0.5})

    def of(*parts):
        episodes = paid(parts, 2)
        return compared(reward_matrix(episodes, 1, 2), episodes, weights)

    cut = paid([{}, {}], 2)
    for episode in cut:
        episode.cut_off = True
    assert not compared(reward_matrix(cut, 1, 2), cut, weights).any()  # nobody got so far: nothing is known
    of({"task": 1.0, "exact": 1.0}, {"task": 0.0})
    assert (
        of({"task": 1.0}, {"task": 0.0}).tolist()
        == by("per_part", paid([{"task": 1.0}, {"task": 0.0}], 2), 1, 2, part_weights={"task": 1.0}).tolist()
    )
    with pytest.raises(RewardError, match="no episode's reward has a part 'exact'"):
        by("per_part", paid([{"task": 1.0}, {"task": 0.0}], 2), 1, 2, part_weights=weights.part_weights)
