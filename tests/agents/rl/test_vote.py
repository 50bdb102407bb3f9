"""Rewards without labels: episodes that vote."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pixelis.agents.episodes.episode import Episode, Exchange, Segment
from pixelis.agents.rl.batch import BatchSettings, make_batch, score
from pixelis.agents.rl.shaping import ShapingSettings
from pixelis.agents.rl.vote import confidence, given_answer, vote_metrics, voted
from pixelis.agents.settings.vote import VoteSettings, read_vote
from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.answers.agreement import AnswerForm

NUMBER = {"answer_form": AnswerForm("number", tolerance=0.5).to_info()}
VOTE = VoteSettings(threshold=0.0)


def saying(text, member=0, group=0, logprobs=None, **fields):
    said = Segment.written(range(len(logprobs or [0.0])), logprobs, text=f"{text}<|end|>")
    heard = [Exchange(text, "", 0)]
    return Episode("Toy-v0", 0, group, member, [Segment.given([1]), said], exchanges=heard, **fields)


def group_of(*texts, group=0, **fields):
    return [saying(text, member, group, **fields) for member, text in enumerate(texts)]


def test_the_majority_takes_the_place_of_the_rewards():
    right = group_of("<answer>4</answer>", "so <answer> 4. </answer>", "<answer>5</answer>", "I give up")
    tie = group_of(
        "<answer>a</answer>", "<answer>b</answer>", "<answer>a</answer>", "<answer>b</answer>", group=1
    )
    paid = np.array([[0.0, 0.0, 9.0, 9.0], [1.0, 0.0, 0.0, 0.0]])
    assert voted(paid, right + tie, VOTE).tolist() == [[1, 1, 0, 0], [0, 0, 0, 0]]


def test_an_episode_that_is_not_valid_has_no_vote():
    episodes = group_of("<answer>a</answer>", "<answer>b</answer>", "<answer>b</answer>")
    episodes[1].valid_for_training = False
    found = voted(np.array([[0.0, math.nan, 0.0]]), episodes, VOTE)
    np.testing.assert_array_equal(found, [[0.0, math.nan, 0.0]])  # a tie of two


def test_the_env_says_how_answers_are_compared():
    texts = ["<answer>4</answer>", "<answer>4.5</answer>", "<answer>6</answer>", "<answer>six</answer>"]
    zeros = np.zeros((1, 4))
    assert voted(zeros, group_of(*texts, info=NUMBER), VOTE).tolist() == [[1, 1, 0, 0]]
    assert voted(zeros, group_of(*texts), VOTE).tolist() == [[0, 0, 0, 0]]  # as texts all differ
    own = VoteSettings(kind="number", tolerance=2.0)
    assert voted(zeros, group_of(*texts), own).tolist() == [[1, 1, 1, 0]]


def test_what_an_env_says_must_be_a_form():
    with pytest.raises(RewardError, match=r"what AnswerForm\.to_info gives"):
        voted(np.zeros((1, 3)), group_of("a", "b", "c", info={"answer_form": {"kind": "colour"}}), VOTE)


@pytest.mark.parametrize(
    ("text", "form", "pattern", "expected"),
    [
        ("<answer>4</answer>", AnswerForm(), None, "4"),
        ("four", AnswerForm(), None, None),
        ("four", AnswerForm(tagged=False), None, "four"),
        ("2 + 2 = 4. Answer: 4", AnswerForm(), r"Answer: (\d+)", "4"),
        ("1 or 2 or 3", AnswerForm(), r"\d", "3"),
        ("<answer>it is 7</answer> 8", AnswerForm(), r"\d", "7"),
        ("none", AnswerForm(tagged=False), r"\d", None),
        ("<think>4 or 5</think>none", AnswerForm(tagged=False), r"\d", None),
        ("<think>4 or 5</think>6", AnswerForm(tagged=False), r"\d", "6"),
        ("4 or 5</think>six", AnswerForm(tagged=False), None, "six"),
        ("<think>4 or 5", AnswerForm(tagged=False), r"\d", None),
    ],
)
def test_what_an_episode_answered(text, form, pattern, expected):
    assert given_answer(saying(text), form, pattern) == expected


def test_what_the_env_refused_is_no_answer():
    said = {"final_answer": {"text": "buy now", "accepted": False}}
    assert given_answer(saying("x", info=said), AnswerForm()) is None
    said = {"final_answer": {"text": "hello", "accepted": True}}
    assert given_answer(saying("x", info=said), AnswerForm()) == "hello"


def test_confidence_by_hand():
    assert confidence(saying("a", logprobs=[math.log(0.5), math.log(0.125)])) == pytest.approx(0.25)
    assert confidence(Episode("Toy-v0", 0, 0, 0, [Segment.given([1])])) == 1.0
    sure = group_of("<answer>a</answer>", "<answer>a</answer>", logprobs=[math.log(0.9)])
    unsure = [saying("<answer>b</answer>", member, logprobs=[math.log(0.2)]) for member in (2, 3)]
    weighted = VoteSettings(confidence=True)
    assert voted(np.zeros((1, 4)), sure + unsure, VOTE).tolist() == [[0, 0, 0, 0]]
    assert voted(np.zeros((1, 4)), sure + unsure, weighted).tolist() == [[1, 1, 0, 0]]


def test_metrics_by_hand():
    episodes = [
        *group_of("<answer>a</answer>", "<answer>a</answer>", "<answer>b</answer>", "no", success=True),
        *group_of("<answer>a</answer>", "<answer>b</answer>", "no", "no", group=1, success=False),
        *group_of(
            "<answer>c</answer>", "<answer>c</answer>", "<answer>c</answer>", "no", group=2, success=False
        ),
    ]
    row = vote_metrics(episodes, VOTE)
    assert row["vote/agreement"] == pytest.approx((2 / 4 + 1 / 4 + 3 / 4) / 3)
    assert row["vote/abstained"] == pytest.approx(1 / 3)
    assert row["vote/answered"] == pytest.approx(8 / 12)
    assert row["vote/right"] == 0.5  # of two majorities
    parts = [-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)), math.log(2), 0.0]
    assert row["vote/entropy"] == pytest.approx(sum(parts) / 3)
    for episode in episodes:
        episode.success = None
    assert vote_metrics(episodes, VOTE)["vote/right"] is None


def test_the_envs_reward_is_not_looked_at_and_what_is_added_is():
    texts = ["<answer>a</answer>", "<answer>a</answer>", "<answer>b</answer>", "<answer>c</answer>"]
    plain = group_of(*texts)
    paid = [saying(text, member, reward=float(member == 2)) for member, text in enumerate(texts)]
    settings = BatchSettings(vote=VOTE)
    first, second = (score(each, 1, 4, "none", settings).advantages for each in (plain, paid))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, [[0.5, 0.5, -0.5, -0.5]])
    shaped = BatchSettings(vote=VOTE, shaping=ShapingSettings(bonus="distinct_answers", bonus_weight=0.1))
    found = score(plain, 1, 4, "none", shaped).advantages  # 1.05, 1.05, 0.1, 0.1 less their mean 0.575
    np.testing.assert_allclose(found, [[0.475, 0.475, -0.475, -0.475]])


@pytest.mark.parametrize(
    "shaping",
    [
        ShapingSettings(bonus="diversity", bonus_weight=0.5, diversity="ngrams"),
        ShapingSettings(duplicate_penalty=1.5),
    ],
)
def test_what_is_added_beside_a_vote_knows_no_labels(shaping):
    """Neither the env's success nor its reward may come back through a bonus or a penalty."""

    def advantages(success, rewards):
        episodes = [
            saying(f"<answer>{text}</answer>", member, group, success=success[member], reward=rewards[member])
            for group in range(2)
            for member, text in enumerate(["a", "b b", "a", "c c c"])
        ]
        return score(episodes, 2, 4, settings=BatchSettings(vote=VOTE, shaping=shaping)).advantages

    without = advantages([None] * 4, [0.0] * 4)
    assert np.ptp(without) > 0
    np.testing.assert_array_equal(without, advantages([False, False, False, True], [0.0, 0.0, 0.0, 1.0]))


def test_a_group_that_abstains_is_not_trained_on(play):
    episodes = [play(float(member), group=0, member=member) for member in range(3)]
    batch = make_batch(
        episodes, groups=1, group_size=3, max_completion_length=8, settings=BatchSettings(vote=VOTE)
    )
    assert batch.episodes == ()
    assert batch.dropped == 1


@pytest.mark.parametrize(
    ("vote", "words"),
    [
        ("yes", "vote takes a mapping such as"),
        ({"treshold": 1}, "rewards.vote: unknown setting 'treshold'. Did you mean 'threshold'?"),
        ({"threshold": 2}, "rewards.vote: threshold must be"),
        ({"tolerance": 0.5}, "tolerance is read with a kind of answer only"),
        ({"tolerance": 0}, "tolerance is read with a kind of answer only"),
        ({"kind": "choice"}, "two or more different texts"),
        ({"kind": "text", "tolerance": 0.5}, "takes no tolerance"),
        ({"pattern": "("}, "pattern must be a regular expression"),
    ],
)
def test_bad_settings_are_one_clear_error(vote, words):
    with pytest.raises(ConfigError, match=words.replace("?", r"\?")):
        read_vote({"vote": vote})


def test_a_vote_stands_alone():
    with pytest.raises(ConfigError, match="coherence, penalty would be added to what it replaces"):
        read_vote({"vote": {}, "penalty": {}, "coherence": {}})
    assert read_vote({}) is None
    assert read_vote({"vote": None}) == read_vote({"vote": {}}) == VoteSettings()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"group_size": 2}, "needs group_size of at least 3, got 2"),
        ({"algorithm": "ppo"}, "algorithm ppo goes by the env's own reward"),
        ({"algorithm": {"credit": "turn"}}, "algorithm.credit turn goes by"),
        ({"levels": "learnability"}, "levels learnability goes by"),
    ],
)
def test_what_reads_the_envs_reward_does_not_go_with_a_vote(toy_config, values, words):
    with pytest.raises(ConfigError, match=words):
        toy_config(rewards={"vote": {}}, **values)
