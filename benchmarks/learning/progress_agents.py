"""What the agents of ``progress_learning.py`` see and may do, imported by it: one agent a kind of task.

Each turns the environment's last words into the turns that it could write next and what it knows of each, a
row of numbers. Only what an agent is told goes into them: never an answer, a hidden test or a score.

The sandbox and the reward of replies say the same of the same text, so each is asked once for each
text and remembered; all else of the environments is done anew with every step.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from pixelis.envs.coding.code_problem.env import CodeProblemEnv
from pixelis.envs.coding.code_problem.keywords import DEFAULT_LIMITS
from pixelis.envs.coding.code_problem.players import RUN, SUBMIT, fenced
from pixelis.envs.coding.code_problem.tasks import FamilyTasks, problem_of
from pixelis.envs.coding.families import family_of
from pixelis.envs.coding.sandbox import Job, JobResult, Sandbox, SandboxSettings
from pixelis.envs.coding.verification.sandbox_lease import SandboxLease
from pixelis.envs.tasks import Task
from pixelis.envs.tweet.data.near_duplicates import NEAR
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.tweet_rows import TweetRow
from pixelis.envs.tweet.data.tweet_text import jaccard, shingles
from pixelis.envs.tweet.data.worse_replies import derive_preferences, worse_sentences
from pixelis.envs.tweet.tweet_reply.conversation import JudgedReply, context_of
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY
from pixelis.envs.tweet.tweet_reply.heuristic_reward import HeuristicReward
from pixelis.envs.tweet.tweet_reply.players import answer
from pixelis.envs.tweet.tweet_reply.tasks import row_of_task, task_of_row

WORDS = 64


class Agent(Protocol):
    """The turns of one episode that can be written, and what is known of each."""

    def begin(self, task: Task) -> None:
        """Begin an episode: gather the candidates of its task, and forget the last one."""
        ...

    def options(self, text: str) -> tuple[list[str], np.ndarray]:
        """Return the turns that can follow on an observation, and a row for each, float64 [n, width]."""
        ...

    def took(self, place: int) -> None:
        """Remember which of the last options was written."""
        ...


def page_env() -> gym.Env[Any, Any]:
    """Return WebBrowse's shop, in which three right clicks in a row are asked for."""
    return gym.make(
        "Pixelis/WebBrowse-v0", family="shop", difficulty=1, max_turns=6, disable_env_checker=True
    )


class PageAgent:
    """Presses a control of a page.

    Of each it knows role and name (hashed), whether the question names it, and whether it was pressed.
    """

    width = 2 * WORDS + 3
    _control = re.compile(r'(\w+) "([^"]*)" \[(e\d+@v\d+)\]')

    def begin(self, task: Task) -> None:
        """Begin an episode."""
        self._question = ""
        self._clicked: set[tuple[str, str]] = set()

    def options(self, text: str) -> tuple[list[str], np.ndarray]:
        """Return a CLICK for every control that the page shows."""
        self._question = self._question or text.splitlines()[0]
        self._found = self._control.findall(text)
        table = np.zeros((len(self._found), self.width))
        for row, (role, name, _) in zip(table, self._found, strict=True):
            row[zlib.crc32(role.encode()) % WORDS] = 1
            row[WORDS + zlib.crc32(name.encode()) % WORDS] = 1
            named, before = name.casefold() in self._question.casefold(), (role, name) in self._clicked
            row[-3:] = named, before, named and before
        calls = [{"name": "CLICK", "arguments": {"id": identifier}} for _, _, identifier in self._found]
        return [f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls], table

    def took(self, place: int) -> None:
        """Remember what was pressed."""
        role, name, _ = self._found[place]
        self._clicked.add((role, name))


class RememberingSandbox(Sandbox):
    """The sandbox; a job that came to its end is run once, and a later one like it gets what it said."""

    def __init__(self, settings: SandboxSettings) -> None:
        super().__init__(settings)
        self.said: dict[str, JobResult] = {}

    def run(self, jobs: Sequence[Job]) -> list[JobResult]:
        """Run each job, unless it is known."""
        results = []
        for job in jobs:
            key = repr(job)
            (result,) = [self.said[key]] if key in self.said else super().run([job])
            if result.status == "finished":
                self.said[key] = result
            results.append(result)
        return results


class KeptLease(SandboxLease):
    """A lease of one remembering sandbox, which outlives the environments and ends with the process."""

    _sandbox: RememberingSandbox | None = None

    def get(self) -> Sandbox:
        """Return the sandbox; start it if nobody has."""
        if KeptLease._sandbox is None:
            KeptLease._sandbox = RememberingSandbox(self.settings)
        return KeptLease._sandbox


FAMILIES, DIFFICULTY, PROBLEMS = ("letters", "multiples"), 1, 24
"""Families in which nearly every mistake shows in the visible tests already."""


def code_env() -> gym.Env[Any, Any]:
    """Return CodeProblem with its tools."""
    env = gym.make(
        "Pixelis/CodeProblem-v0", mode="multi", family=list(FAMILIES), difficulty=DIFFICULTY,
        disable_env_checker=True,
    )  # fmt: skip
    bare = env.unwrapped
    assert isinstance(bare, CodeProblemEnv)
    bare.lease = KeptLease(SandboxSettings(limits=DEFAULT_LIMITS))
    return env


def problems(seed: int = 0) -> list[dict[str, Any]]:
    """Return the problems that are played: as many as can be run within minutes."""
    rng, source = np.random.default_rng(seed), FamilyTasks(FAMILIES)
    return [source.sample(rng, DIFFICULTY, "train").to_json() for _ in range(PROBLEMS)]


class CodeAgent:
    """Runs or hands in one of a family's programs: the right one and its plausible mistakes.

    Of a program it knows what RUN has said of it: nothing yet, or that none, some or all of the visible tests
    passed. It does not read programs, so that only running one can tell it from another.
    """

    width = 8
    _some = re.compile(r"^(\d+) of \d+ visible tests passed\.")

    def begin(self, task: Task) -> None:
        """Gather the programs."""
        problem, _, _ = problem_of(task)
        family = family_of(problem)
        self._programs = [family.reference(problem), *family.wrong(problem).values()]
        self._known = [0] * len(self._programs)  # 0: never run; 1, 2, 3: none, some, all passed
        self._ran: int | None = None

    def options(self, text: str) -> tuple[list[str], np.ndarray]:
        """Return a RUN and a SUBMIT of every program."""
        if self._ran is not None:
            found = self._some.match(text)
            every = text.startswith("All ")
            self._known[self._ran] = 3 if every else 2 if found and int(found[1]) else 1
        turns = [f"{fenced(code)}\n{tool}" for tool in (RUN, SUBMIT) for code in self._programs]
        table = np.zeros((len(turns), self.width))
        for place, row in enumerate(table):
            tool, program = divmod(place, len(self._programs))
            row[4 * tool + self._known[program]] = 1
        return turns, table

    def took(self, place: int) -> None:
        """Remember what was run."""
        self._ran = place if place < len(self._programs) else None


@dataclass(frozen=True)
class RememberedReward:
    """The shipped reward of replies, which is the same for the same texts, asked once for each.

    Attributes:
        reward: what is asked.
        scores: what it has said, by what was replied to and the reply.
    """

    reward: HeuristicReward
    scores: dict[tuple[str, str], JudgedReply]

    def score(self, tweet: str, replies: Sequence[str]) -> list[JudgedReply]:
        """Return the scores of replies to a tweet."""
        for reply in replies:
            if (tweet, reply) not in self.scores:
                (self.scores[tweet, reply],) = self.reward.score(tweet, [reply])
        return [self.scores[tweet, reply] for reply in replies]


REWARD = RememberedReward(HeuristicReward(), {})
DRAFTS = 8


def reply_env() -> gym.Env[Any, Any]:
    """Return TweetReply's threads."""
    return gym.make("Pixelis/TweetReply-v0", mode="thread", reward=REWARD, disable_env_checker=True)


def _messages(row: TweetRow) -> list[TweetRow]:
    """Return a row for each message of a thread, as if it stood alone."""
    first = replace(row, thread=())
    return [first, *(replace(first, tweet=one.tweet, reply=one.reply) for one in row.thread)]


def _threads() -> list[tuple[TweetRow, int]]:
    tweets = TweetFile.open(SEED_TWEETS, threads_only=True)
    found = (tweets.read("train", place) for place in range(tweets.count("train")))
    return [(row, line) for line, row in found]


def threads() -> list[dict[str, Any]]:
    """Return the tasks of the package's threads that can be won with the good replies of the data."""

    def won(row: TweetRow) -> bool:
        texts = [one.tweet for one in _messages(row)]
        scores = [
            REWARD.score(context_of(texts, place), [one.reply])[0] for place, one in enumerate(_messages(row))
        ]
        return all(one.gate is None and one.total >= GOOD_REPLY for one in scores)

    return [task_of_row(row, line).to_json() for row, line in _threads() if won(row)]


def _drafts(seed: int = 0) -> Mapping[str, list[str]]:
    """Return message → a good reply and the faulty ones that are offered beside it."""
    rows = [one for row, _ in _threads() for one in _messages(row)]
    rng, faulty = np.random.default_rng(seed), {row.tweet: [] for row in rows}
    for pair in derive_preferences(rows, worse_sentences(), seed):
        faulty[pair.tweet].append(pair.rejected)
    return {
        row.tweet: [row.reply, *rng.permutation(faulty[row.tweet])[: DRAFTS - 1].tolist()] for row in rows
    }


class ReplyAgent:
    """Sends one of eight drafts for each message: a good one and seven of the known faulty kinds.

    Of a draft it knows its words (hashed), how long it is, which signs it has, how many of the message's
    words, and whether it nearly repeats the message or a reply before. After the first message the reply that
    was sent last is a draft, too.
    """

    width = WORDS + 16
    _word = re.compile(r"[^\W_]+")

    def __init__(self) -> None:
        self._drafts = _drafts()

    def begin(self, task: Task) -> None:
        """Begin an episode."""
        row = row_of_task(task)
        self._messages, self._said = [one.tweet for one in _messages(row)], list[str]()

    def options(self, text: str) -> tuple[list[str], np.ndarray]:
        """Return the drafts for the message that is open as answers."""
        message = self._messages[len(self._said)]
        self._texts = [*self._drafts[message], *self._said[-1:]]
        return [answer(draft) for draft in self._texts], np.array(
            [self._row(draft, message) for draft in self._texts]
        )

    def took(self, place: int) -> None:
        """Remember what was replied."""
        self._said.append(self._texts[place])

    def _row(self, draft: str, message: str) -> np.ndarray:
        row, words = np.zeros(self.width), self._word.findall(draft.casefold())
        for word in words:
            row[zlib.crc32(word.encode()) % WORDS] = 1
        asked = {word for word in self._word.findall(message.casefold()) if len(word) > 3}
        shared, pieces = len(asked & set(words)), shingles(draft)
        near = [jaccard(pieces, shingles(one)) >= NEAR for one in (message, *self._said)]
        row[WORDS:] = (
            *(low <= len(draft) < high for low, high in ((0, 30), (30, 80), (80, 160), (160, 1 << 20))),
            *(sign in draft for sign in "#@!?"),
            "http" in draft,
            not draft.isascii(),
            draft[:1].isupper() and draft[-1:] in ".!?",
            len(set(words)) < 0.7 * len(words),
            shared == 0,
            2 * shared > len(asked),
            near[0],
            any(near[1:]),
        )
        return row
