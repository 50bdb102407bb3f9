"""One reply for every tweet costs what it would earn."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.tweet.reward import TweetReward, TweetRewardSettings
from pixelis.envs.tweet.reward.spread import group_spread
from pixelis.errors import RewardError
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


TWEETS = ["The ferry is late again.", "I baked my first rye loaf.", "Our goat ate the fence."]
STOCK = "Where did the ferry, the loaf and the goat go, and who painted the fence so blue?"
OWN = [
    "Late by how much? The wind is awful.",
    "Rye is hard! Sour or yeast?",
    "Goats eat fences, ours ate a tyre.",
]


@pytest.fixture
def reward() -> TweetReward:
    return TweetReward(TweetRewardSettings(encoder="hashed"))


def test_one_reply_for_all_is_worth_nothing(reward: TweetReward):
    replies = [[STOCK, own] for own in OWN]
    scores = reward.score_batch(TWEETS, replies)
    paid = reward.penalise_duplicates(TWEETS, replies, scores)
    for before, after in zip(scores, paid, strict=True):
        assert before[0].total > 0 >= after[0].total == before[0].total - 1
        assert after[0].duplicate_share == 1
        assert after[1] == before[1]


def test_equal_tweets_are_one_prompt(reward: TweetReward):
    tweets, replies = [TWEETS[0], TWEETS[0]], [[STOCK], [STOCK]]
    scores = reward.score_batch(tweets, replies)
    assert reward.penalise_duplicates(tweets, replies, scores) == scores


def test_totals_stay_in_range_and_weight_zero_changes_nothing():
    replies = [[""], [""], [""]]
    full = TweetReward(TweetRewardSettings(encoder="hashed"))
    scores = full.penalise_duplicates(TWEETS, replies, full.score_batch(TWEETS, replies))
    assert [group[0].total for group in scores] == [-1, -1, -1]
    off = TweetReward(TweetRewardSettings(encoder="hashed", duplicate_weight=0))
    stock = [[STOCK]] * 3
    free = off.score_batch(TWEETS, stock)
    assert [group[0].total for group in off.penalise_duplicates(TWEETS, stock, free)] == [
        group[0].total for group in free
    ]


def test_shapes_must_agree(reward: TweetReward):
    with pytest.raises(RewardError, match="different shapes"):
        reward.penalise_duplicates(TWEETS, [["a"], ["b"], ["c"]], [[], [], []])


def test_spread_by_hand(reward: TweetReward):
    same = reward.score_batch([TWEETS[0]], [["", "", ""]])[0]
    mixed = reward.score_batch([TWEETS[1]], [["", OWN[1]]])[0]
    alone = reward.score_batch([TWEETS[2]], [[OWN[2]]])[0]
    found = group_spread([same, mixed, alone])
    assert found["constant_groups"] == 0.5
    assert found["gated"] == pytest.approx(4 / 5)
    assert found["total_std"] == pytest.approx((mixed[1].total - mixed[0].total) / 4)
    assert found["length_std"] == pytest.approx(mixed[1].parts["length"] / 4)
    assert group_spread([alone]) == {}
