"""``Pixelis/TweetReply-v0``: reply to a tweet, once or in a thread with its author."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import PlainValidator
from typing_extensions import Unpack

from pixelis.envs.keywords import Difficulty, Expected, FolderPath, Split, checked_keywords
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.rendering import TextKeywords, text_keywords
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import TEXT_METADATA, ToolEnv, Verdict
from pixelis.envs.tools import Toolset
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.tweet_file import TweetFile, check_apart, how_to_make
from pixelis.envs.tweet.tweet_reply.conversation import Conversation, JudgedReply, ReplyReward
from pixelis.envs.tweet.tweet_reply.heuristic_reward import PRESETS, HeuristicReward
from pixelis.envs.tweet.tweet_reply.players import tweet_reply_players
from pixelis.envs.tweet.tweet_reply.tasks import TweetTasks, row_of_task
from pixelis.envs.verdict import FinalAnswer
from pixelis.errors import DatasetError, RewardError, TaskError, suggest

GOOD_REPLY = 0.39
"""Least total of every reply of a successful episode: where good replies of the labelled set are told best
from bad ones that no gate stops and from sentences that fit anywhere. docs/reference/tweet_reward.md has the
rule, and benchmarks/quality/tweet_separation.py prints it.
"""
BLIND_SUCCESS = 0.3
"""Success of the most successful scripted player that says nothing about the tweet (the page's baselines)."""
_TURNS = {"single": 2, "thread": 8}


def _rewarder(value: Any) -> Any:
    """Return a preset's name, or an object that scores replies."""
    if isinstance(value, str):
        if value not in PRESETS:
            raise ValueError(f"there is no such preset.{suggest(value, PRESETS)}")
    elif not callable(getattr(type(value), "score", None)) and not callable(vars(value).get("score")):
        raise ValueError("score(tweet, replies) returns total, parts and gate for each reply")
    return value


Rewarder = Annotated[
    str | ReplyReward, PlainValidator(_rewarder), Expected("a preset's name, or an object with score")
]


def _tweets(value: Any) -> Any:
    """Return the path of a file that exists; how to make a part of a split that does not is told."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError
    if not os.path.isfile(value):
        raise ValueError(f"there is none; correct the path{how_to_make(value)}")
    return value


TweetPath = Annotated[
    str | os.PathLike[str],
    PlainValidator(_tweets),
    Expected("the path of a JSONL or CSV file of tweets", error=DatasetError),
]


class TweetReplyEnv(ToolEnv[Conversation]):
    """Reply to a tweet, once or in a thread with its author.

    ## Description

    A tweet is shown; the reply is what stands in `<answer>…</answer>`. There are no tools: this environment
    is about writing. With `mode="thread"` the author writes back and wants another reply. What the author
    writes is a field of the data, so it is the same whatever was replied; a reply that closes a gate of the
    reward (spam, an insult, the tweet itself, …) drives the author off and ends the episode.

    Without a file, 360 invented tweets that come with the package are played, in English, each with a good
    reply; 43 of them are threads with one or two follow-ups.

    ## Action space

    `Utf8Text(16384)`: one whole assistant turn. The first `<answer>…</answer>` in it is the reply, as it
    stands: nothing is cleaned or filled in. A turn without one is answered with how to write it.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | at reset the tweet and its author; then what they write back, or a hint |

    ## Rewards

    At the end, the mean over the author's messages of what `pixelis.envs.tweet.reward.TweetReward` gives the
    reply (`reward="robust"`): 0 to 1 for a reply that no gate stops, below 0 down to -1 for one that a gate
    stops. A message without a reply counts as the empty reply does; after the author has left, as the reply
    that drove them off. In an episode that fails, no reply counts for more than 0.39, and one that is missing
    or stopped by a gate for no more than 0: so every success is paid at least 0.39, and every failure
    less. Heuristics see neither false claims nor bad taste: read replies before you believe
    the numbers.

    A reply to a follow-up is scored against the tweet and the follow-up together. A reply that nearly repeats
    an earlier one of the same episode closes the gate `repeated` and counts as silence.

    | in `info` | meaning |
    |---|---|
    | `reward_terms` | at the end: `task`, the reward, and its parts by name, means over the messages |
    | `replies` | every turn: the replies so far: `text`, `total`, `parts`, `gate` (`None`: none closed) |
    | `final_answer` | every turn: the last reply's `text`; `accepted`: none is missing or stopped by a gate |
    | `messages` | every turn: what the author has written so far |
    | `success` | at the end: every message has a reply, no gate closed, every total is at least 0.39 |

    The totals are for comparing replies to the same tweet. 0.39 is the line that tells labelled good replies
    best from bad ones that no gate stops (docs/reference/tweet_reward.md has the rule), no measure of wit. Of
    the good ones 77 % reach it, of the bad ones 3 %, and the best of 160 fixed replies reaches it under 30 %
    of the tweets, so compare mean rewards too. One reply to one tweet does not show that it is given to all;
    compare the replies of a batch (`pixelis.rewards.text.diversity`; `shaping: {duplicate_penalty: 1.0}` in
    GRPO).

    ## Starting state

    A row of the split, drawn from `reset(seed=…)` alone. `info["task"]["id"]` ends with the row's line
    number.

    ## Episode end

    * Termination: the last message was replied to, or a reply closed a gate.
    * Truncation: `max_turns` turns.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `data` | `None` | path of a JSONL or CSV file of tweets; `None`: those that come with the package |
    | `held_out` | `None` | path of a second file; the split `test` is its rows of that split |
    | `mode` | `single` | `single`: one reply; `thread`: only rows with follow-ups, all messages |
    | `split` | `train` | `train` or `test` |
    | `reward` | `robust` | `robust`, `classic`, `hybrid`, `fluent` (docs/reference/), or an object |
    | `reward_model` | `None` | `hybrid`: folder of the learned reward; `None`: the package's |
    | `max_turns` | `None` | turns before truncation; `None`: 2 for one reply, 8 for a thread |
    | `difficulty` | 0 | there is only one |
    | `render_mode` | `None` | `ansi`: `render` returns the transcript of the episode, a text |

    The file has one tweet a row: `tweet`, and if known `reply` (a good one), `author`, `engagement`, `topic`,
    `emotion`, `thread` and `split`; docs/guide/tweet_data.md has the details. Bad rows are reported together
    with their line numbers before anything is played. Rows without `split` go by their author, a fifth of
    them to `test`; `scripts/split_data.py` splits a file with more care, and `held_out` takes what it holds
    out. The file is read row by row: in memory are 24 bytes a row.

    A `reward` of your own has `score(tweet, replies)`, which returns for each reply an object with `total` (a
    finite number), `parts` (name to number) and `gate` (`None` or a name):

    ```python
    from types import SimpleNamespace

    import gymnasium as gym

    import pixelis


    class Shortness:
        def score(self, tweet, replies):
            return [
                SimpleNamespace(total=1 - len(reply) / 280, parts={}, gate=None if reply else "empty")
                for reply in replies
            ]


    env = gym.make("Pixelis/TweetReply-v0", reward=Shortness())
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(f"<answer>{'x' * 28}</answer>")
    assert terminated and reward == 0.9
    ```

    ## Version history

    * v0: first version.

    ## Source

    The task and the names and weights of the reward's parts are those of the reply generator of
    github.com/Sohailm25/reply-guyd (Apache-2.0); gates, data, thread mode and code are our own.
    """

    task_gap = 0.0
    success_line = GOOD_REPLY
    scorers = MappingProxyType(
        {"tweet_evaluation": "pixelis.envs.tweet.tweet_reply.evaluation:TweetEvaluation"}
    )
    metadata: dict[str, Any] = {**TEXT_METADATA}  # noqa: RUF012  # as ToolEnv

    @checked_keywords
    def __init__(
        self,
        *,
        data: TweetPath | None = None,
        held_out: TweetPath | None = None,
        mode: Literal["single", "thread"] = "single",
        split: Split = "train",
        reward: Rewarder = "robust",
        reward_model: FolderPath | None = None,
        difficulty: Difficulty = 0,
        **others: Unpack[TextKeywords],
    ) -> None:
        self.mode = mode
        named = isinstance(reward, str)
        self.reward: ReplyReward = HeuristicReward(reward, reward_model) if named else reward
        threads = mode == "thread"
        self.tweets = TweetFile.open(SEED_TWEETS if data is None else data, threads_only=threads)
        apart = None if held_out is None else TweetFile.open(held_out, threads_only=threads)
        if apart is not None:
            check_apart(self.tweets, apart)
        super().__init__(
            source=TweetTasks(self.tweets, apart, threads=threads),
            toolset=Toolset([], self._open),
            verifier=judge,
            difficulty=difficulty,
            split=split,
            **text_keywords(others, _TURNS[mode]),
        )

    @property
    def instructions(self) -> str:
        """How to reply."""
        return "Answer with the reply alone, at most 280 characters: <answer>…</answer>"

    def hear(self, answer: str) -> str | None:
        """Score a reply; return what the author writes back, ``None`` at the end or if they have left."""
        self.workspace.answer(answer)
        if self.workspace.over:
            return None
        assert self.task is not None  # step() has checked it
        message = self.workspace.messages[len(self.workspace.replies)]
        author = row_of_task(self.task).author
        who = f"The author, @{author}," if author else "The author"
        return f"{who} writes back:\n{message}\n{self.instructions}"

    def nearness(self) -> float:
        """Return how good the replies so far are, as a share of what good replies to every message are."""
        talk = self.workspace
        good = [min(1.0, max(0.0, one.total) / GOOD_REPLY) for one in talk.replies if one.gate is None]
        return sum(good) / (len(talk.messages) + 1)

    def chance(self, difficulty: int) -> float:
        """Return the success rate, 0-1, of replies that say nothing about the tweet: some fit by luck."""
        return BLIND_SUCCESS

    def final_answer(self) -> FinalAnswer:
        """Return the last reply; it is accepted where every reply was given and stopped by no gate."""
        replies = self.workspace.replies
        text = next((one.text for one in reversed(replies) if one.text), "")
        return FinalAnswer(text, all(one.text and one.gate is None for one in replies))

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, the blind baseline and the exploits of this environment."""
        return {**super().players(), **tweet_reply_players(self.mode)}

    def _open(self, task: Task) -> Conversation:
        row = row_of_task(task)
        follow_ups = row.thread if self.mode == "thread" else ()
        try:
            return Conversation((row.tweet, *(one.tweet for one in follow_ups)), self.reward)
        except RewardError as error:
            raise TaskError(f"{task.id} cannot be played: {error}") from None

    def build_info(self, results: list[Any]) -> dict[str, Any]:
        """Return the info, with all replies and messages so far."""
        talk = self.workspace
        replies = [one.to_json() for one in talk.replies]
        return {**super().build_info(results), "replies": replies, "messages": list(talk.shown)}


def judge(task: Task, answer: str | None, workspace: Conversation) -> Verdict:
    """Return the mean over the messages of totals and parts; success needs every reply to be good.

    In a failure each total is cut at ``GOOD_REPLY``, and at 0 where there is no reply or a gate stops it, so
    that the mean stays below every success.
    """
    judged = workspace.judged()
    names = {name: None for one in judged for name in one.parts}
    terms = {name: sum(one.parts.get(name, 0.0) for one in judged) / len(judged) for name in names}
    success = all(_is_fit(one) and one.total >= GOOD_REPLY for one in judged)
    totals = [one.total if success else min(one.total, GOOD_REPLY if _is_fit(one) else 0.0) for one in judged]
    mean = math.fsum(totals) / len(totals)  # rounding must not carry it over the line
    terms["task"] = max(mean, GOOD_REPLY) if success else min(mean, math.nextafter(GOOD_REPLY, -1.0))
    return Verdict(success, terms)


def _is_fit(one: JudgedReply) -> bool:
    """Return whether there is a reply, and no gate stops it."""
    return one.text is not None and one.gate is None
