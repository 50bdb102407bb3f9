"""TweetReply with a small reward of our own: what is shown, scored and said back, once and in threads."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import pytest

from pixelis.envs.tweet.tweet_reply.conversation import JudgedReply
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY, TweetReplyEnv, judge
from pixelis.envs.tweet.tweet_reply.players import answer
from pixelis.errors import ConfigError, DatasetError, RewardError, TaskError

TASK = {
    "question": "Write a reply to this tweet by @amy:\nRain again.",
    "answer": "Is it the fine kind of rain or the kind that bounces off the road?",
    "data": {
        "tweet": "Rain again.",
        "author": "amy",
        "thread": [
            {
                "tweet": "The bouncing kind!",
                "reply": "Then stay in, put the kettle on and let it bounce alone.",
            },
            {
                "tweet": "Kettle is on.",
                "reply": "Good, that is half of the day saved, and a biscuit saves the rest.",
            },
        ],
    },
}
TEN = "one two three four five six seven eight nine ten"


class WordCount:
    """A tenth for each word, up to 1; no word closes a gate, and so does an offer."""

    def __init__(self):
        self.contexts = []

    def score(self, tweet, replies):
        self.contexts.append(tweet)
        return [self._score(reply) for reply in replies]

    def _score(self, reply):
        words = reply.split()
        gate = "empty" if not words else "spam" if "buy" in words else None
        length = min(1.0, len(words) / 10)
        return JudgedReply(reply, -1.0 if gate else length, {"length": length}, gate)


def start(mode="single", task=TASK, **keywords):
    env = TweetReplyEnv(reward=WordCount(), mode=mode, **keywords)
    observation, info = env.reset(seed=0, options={"task": task})
    return env, observation["text"], info


def test_the_tweet_its_author_and_the_form_of_the_answer_are_shown():
    _, text, info = start()
    assert text == (
        "Write a reply to this tweet by @amy:\nRain again.\n"
        "Answer with the reply alone, at most 280 characters: <answer>…</answer>"
    )
    assert info["replies"] == []


def test_one_reply_ends_the_episode_with_its_total_and_parts():
    env, *_ = start()
    _, reward, terminated, _, info = env.step(answer("only three words"))
    assert (reward, terminated, info["success"]) == (0.3, True, False)
    assert info["reward_terms"] == {"task": 0.3, "length": 0.3}
    assert info["replies"] == [
        {"text": "only three words", "total": 0.3, "parts": {"length": 0.3}, "gate": None}
    ]


@pytest.mark.parametrize(("words", "success"), [(3, False), (4, True), (10, True)])
def test_success_begins_at_the_documented_total(words, success):
    env, *_ = start()
    info = env.step(answer(" ".join(TEN.split()[:words])))[-1]
    assert info["success"] is success
    assert "0.39" in TweetReplyEnv.__doc__


def test_a_closed_gate_is_no_success_however_long_the_reply():
    env, *_ = start()
    _, reward, terminated, _, info = env.step(answer(f"buy {TEN}"))
    assert (reward, terminated, info["success"]) == (-1.0, True, False)
    assert info["replies"][0]["gate"] == "spam"
    assert info["reward_terms"]["length"] == 1.0


def test_silence_is_told_what_to_write_and_then_scored_as_an_empty_reply():
    env, *_ = start()
    observation, reward, terminated, truncated, info = env.step("I would rather not.")
    assert observation["text"] == "No answer. Write <answer>…</answer>."
    assert (reward, terminated, truncated) == (0.0, False, False)
    observation, reward, terminated, truncated, info = env.step('<tool_call>{"name": "POST"}</tool_call>')
    assert observation["text"] == "There is no tool 'POST'. There are none here; give an answer."
    assert (reward, terminated, truncated, info["success"]) == (-1.0, False, True, False)
    assert info["replies"] == []


def test_only_what_stands_in_the_tags_is_the_reply():
    env, *_ = start()
    info = env.step(f"Sure! Here it is: {answer(TEN)} Hope that helps.")[-1]
    assert info["replies"][0]["text"] == TEN


# ---------------------------------------------------------------------- threads


def test_the_author_writes_back_what_the_data_say():
    env, text, _ = start("thread")
    assert "Rain again." in text
    observation, reward, terminated, _, info = env.step(
        answer("Is it the fine kind or the bouncing kind of rain today?")
    )
    assert observation["text"].startswith("The author, @amy, writes back:\nThe bouncing kind!\nAnswer with")
    assert (reward, terminated) == (0.0, False)
    assert "success" not in info
    env.step(answer("Then stay in and put a large kettle on right away."))
    _, reward, terminated, _, info = env.step(answer("Good, half saved"))
    assert (reward, terminated, info["success"]) == (
        pytest.approx((GOOD_REPLY + GOOD_REPLY + 0.3) / 3),
        True,
        False,
    )
    assert [one["total"] for one in info["replies"]] == [1.0, 1.0, 0.3]


def test_an_author_without_a_name_writes_back_too():
    nameless = {**TASK, "data": {name: one for name, one in TASK["data"].items() if name != "author"}}
    env, *_ = start("thread", nameless)
    text = env.step(answer("Is it the fine kind or the bouncing kind of rain today?"))[0]["text"]
    assert text.startswith("The author writes back:\nThe bouncing kind!\n")


def test_a_thread_with_one_poor_reply_is_paid_less_than_one_of_good_replies():
    """However good the others are: in a failure none counts for more than the line of a success."""
    won, lost = [], []
    for totals in ((GOOD_REPLY,) * 3, (GOOD_REPLY - 0.001, 9.0, 9.0), (9.0, 9.0, 0.0), (9.0, 9.0, 9.0)):
        replies = [JudgedReply("x", total, {}, None) for total in totals]
        gated = [*replies[:2], JudgedReply("x", totals[2], {}, "spam")]
        silent = [*replies[:2], JudgedReply(None, totals[2], {}, None)]
        for judged in (replies, gated, silent):
            env, *_ = start("thread")
            env.workspace.replies.extend(judged)
            verdict = judge(env.task, None, env.workspace)
            (won if verdict.success else lost).append(verdict.reward)
    assert len(won) == 2 and max(lost) < GOOD_REPLY <= min(won)


def test_a_follow_up_is_scored_with_the_tweet_before_it():
    env, *_ = start("thread")
    env.step(answer("Is it the fine kind or the bouncing kind of rain today?"))
    env.step(answer("Then stay in and put a large kettle on right away."))
    assert env.reward.contexts == ["Rain again.", "Rain again.", "Rain again.\nThe bouncing kind!"]


def test_what_drives_the_author_off_costs_the_rest_of_the_thread_too():
    env, *_ = start("thread")
    env.step(answer(f"{TEN} and so on"))
    observation, reward, terminated, _, info = env.step(answer("buy my umbrellas"))
    assert observation["text"] == ""
    assert (reward, terminated, info["success"]) == (pytest.approx((GOOD_REPLY - 1 - 1) / 3), True, False)


def test_the_same_reply_again_is_worth_silence():
    env, *_ = start("thread")
    env.step(answer(TEN))
    _, reward, terminated, _, info = env.step(answer(f"{TEN.upper()}!"))
    assert info["replies"][1] == {
        "text": f"{TEN.upper()}!",
        "total": -1.0,
        "parts": {"length": 1.0},
        "gate": "repeated",
    }
    assert (reward, terminated) == (pytest.approx((GOOD_REPLY - 1 - 1) / 3), True)


def test_messages_left_open_count_as_silence():
    env, *_ = start("thread", max_turns=2)
    env.step(answer(TEN))
    _, reward, terminated, truncated, info = env.step("")
    assert (reward, terminated, truncated) == (pytest.approx((GOOD_REPLY - 1 - 1) / 3), False, True)
    assert info["reward_terms"]["length"] == pytest.approx(1 / 3)
    assert not info["success"]


def test_the_oracle_gives_the_data_s_replies_and_only_in_thread_mode_all_of_them():
    for mode, count in (("single", 1), ("thread", 3)):
        env, _, info = start(mode)
        policy, terminated = env.players()["oracle"](env), False
        while not terminated:
            _, reward, terminated, _, info = env.step(policy.act({}, info))
        wanted = [TASK["answer"], *(one["reply"] for one in TASK["data"]["thread"])][:count]
        assert [one["text"] for one in info["replies"]] == wanted
        assert (reward, info["success"]) == (1.0, True)


def test_without_a_reply_in_the_data_the_oracle_is_silent():
    task = {"question": "?", "answer": "", "data": {"tweet": "Snow!"}}
    env, _, info = start(task=task)
    assert env.players()["oracle"](env).act({}, info) == ""


# ---------------------------------------------------------------------- the user's data and mistakes


def test_the_users_file_is_played_row_by_row(tmp_path):
    rows = [{"tweet": f"Tweet number {n}", "author": f"a{n}", "split": "train"} for n in range(5)]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    env = gym.make("Pixelis/TweetReply-v0", data=path, reward=WordCount())
    ids = {env.reset(seed=seed)[1]["task"]["id"] for seed in range(40)}
    assert ids == {f"tweet_reply-train-{line}" for line in range(1, 6)}
    with pytest.raises(TaskError, match="no rows of split 'test'"):
        env.reset(seed=0, options={"split": "test"})
    threads = TweetReplyEnv(data=path, mode="thread", reward=WordCount())
    with pytest.raises(TaskError, match="no threads of split 'train'"):
        threads.reset(seed=0)


class Broken(WordCount):
    def _score(self, reply):
        return JudgedReply(reply, 0.5, {"length": math.nan if reply else 0.0}, None)


class Refusing(WordCount):
    def score(self, tweet, replies):
        raise RewardError("this tweet shows nothing")


def test_a_part_that_is_not_finite_is_an_error_and_not_a_score():
    env = TweetReplyEnv(reward=Broken())
    env.reset(seed=0)
    with pytest.raises(RewardError, match="length = nan for the reply 'hello'"):
        env.step(answer("hello"))


def test_a_tweet_that_cannot_be_scored_is_refused_at_reset_by_its_row():
    with pytest.raises(TaskError, match=r"tweet_reply-train-\d+ cannot be played: this tweet shows nothing"):
        TweetReplyEnv(reward=Refusing()).reset(seed=0)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"mode": "threads"}, ConfigError, "Did you mean 'thread'"),
        ({"data": 3}, DatasetError, "path of a JSONL or CSV file"),
        ({"data": "/no/such.csv"}, DatasetError, "there is none; correct the path"),
        ({"max_turns": 0}, ConfigError, "max_turns"),
    ],
)
def test_wrong_arguments_are_one_clear_error(keywords, error, words):
    with pytest.raises(error, match=words):
        TweetReplyEnv(reward=WordCount(), **keywords)


@pytest.mark.parametrize("data", [{}, {"tweet": ""}, {"tweet": "hi", "thread": 3}, {"text": "hi"}])
def test_a_task_that_is_no_tweet_is_refused(data):
    with pytest.raises(TaskError, match="no tweet to reply to"):
        start(task={"question": "?", "answer": "", "data": data})


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_is_held_out_comes_from_its_own_file(tmp_path):
    training = write_rows(tmp_path / "grpo.jsonl", [{"tweet": f"Rain again, day {day}."} for day in range(9)])
    apart = write_rows(tmp_path / "held_out.jsonl", [{"tweet": "Sun at last.", "split": "test"}])
    env = TweetReplyEnv(reward=WordCount(), data=training, held_out=apart)
    for seed in range(5):
        assert "Sun at last." in env.reset(seed=seed, options={"split": "test"})[0]["text"]
        assert "Rain again" in env.reset(seed=seed, options={"split": "train"})[0]["text"]


def test_a_tweet_cannot_be_trained_on_and_held_out(tmp_path):
    rows = [{"tweet": "Wind.", "split": "train"}, {"tweet": "Sun at  LAST!", "split": "train"}]
    training = write_rows(tmp_path / "grpo.jsonl", rows)
    apart = write_rows(tmp_path / "held_out.jsonl", [{"tweet": "Sun at last.", "split": "test"}])
    with pytest.raises(DatasetError, match=r"grpo.jsonl, line 2 is the tweet in line 1 of .*held_out"):
        TweetReplyEnv(reward=WordCount(), data=training, held_out=apart)


def test_the_messages_so_far_are_in_info():
    env, _, info = start("thread")
    assert info["messages"] == ["Rain again."]
    info = env.step(answer("Is it the fine kind or the bouncing kind of rain today?"))[-1]
    assert info["messages"] == ["Rain again.", "The bouncing kind!"]
    info = env.step(answer("buy an umbrella"))[-1]
    assert info["messages"] == ["Rain again.", "The bouncing kind!"]  # the author has left
