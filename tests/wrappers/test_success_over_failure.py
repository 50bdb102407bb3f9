"""On real environments, whatever the terms say, no failing episode is paid as much as a succeeding one.

The terms here are as hostile as can be: they praise every failure and fine every success, by far more than
any shipped term could. The environments are those whose failures may be paid something.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import gymnasium as gym
import pytest

import pixelis.envs  # noqa: F401  # registers the environments
from pixelis.envs.check.playing import Recorder, play
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY
from pixelis.wrappers import RewardOrchestrator, TermReward

WEB = {"difficulty": 2, "family": "settings", "max_turns": 80}
GOOD, POOR = "<answer>a reply that is good</answer>", "<answer>so so</answer>"


class Hostile:
    """A term that pays what it is told to, once an episode."""

    name = "hostile"
    value = 0.0

    def begin(self):
        return None

    def score(self, steps):
        return [self.value * step.ended for _, step in steps]

    def learn(self):
        return {}

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


class ByLength:
    """Pays 1 for a good reply, a hair under the line for a poor one, and 3 for one that a gate stops."""

    def score(self, tweet, replies):
        return [
            SimpleNamespace(
                total=3.0 if "spam" in reply else 1.0 if "good" in reply else GOOD_REPLY - 1e-4,
                parts={},
                gate="spam" if "spam" in reply else None,
            )
            for reply in replies
        ]


def call(name, **arguments):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def nearly_right(env):
    """A reference that gives one wrong answer in about twenty."""
    problem = env.workspace.problem
    return (
        f"{env.task.answer}\n\n_right, _calls = {problem.entry}, []\n\n\n"
        f"def {problem.entry}(*args):\n    _calls.append(0)\n"
        f"    return object.__name__ if len(_calls) == 7 else _right(*args)\n"
    )


def code(seed):
    def won(env):
        yield f"```python\n{env.task.answer}\n```"

    def lost(env):
        yield f"```python\n{nearly_right(env)}\n```"

    return won, lost


def web(seed):
    def won(env):
        """Wasteful: every deduction that a success can have."""
        yield "what now?"
        yield from [call("CLICK", id="e99@v1")] * 40
        yield from steps.actions

    def lost(env):
        """All but the last step."""
        yield from steps.actions[:-1]
        yield "<answer>I do not know</answer>"

    twin = make("Pixelis/WebBrowse-v0", WEB).unwrapped
    steps = Recorder(twin.players()["oracle"](twin))
    play(twin, steps, seed)
    return won, lost


def thread(replies):
    def play(env):
        yield from replies

    return play


CASES = {
    "code": ("Pixelis/CodeProblem-v0", {"family": "fizzbuzz", "difficulty": 3}, code),
    "code, generous": ("Pixelis/CodeProblem-v0", {"family": "fizzbuzz", "partial_credit": 0.95}, code),
    "web": (
        "Pixelis/WebBrowse-v0",
        WEB,
        web,
    ),
    "one reply": (
        "Pixelis/TweetReply-v0",
        {"reward": ByLength()},
        lambda seed: (thread([GOOD]), thread([POOR])),
    ),
    "a reply that is spam": (
        "Pixelis/TweetReply-v0",
        {"reward": ByLength()},
        lambda seed: (thread([GOOD]), thread(["<answer>spam</answer>"])),
    ),
    "a thread": (
        "Pixelis/TweetReply-v0",
        {"reward": ByLength(), "mode": "thread"},
        lambda seed: (
            thread(
                ["<answer>good one</answer>", "<answer>very good indeed</answer>", "<answer>good!</answer>"]
            ),
            thread([GOOD, "<answer>x</answer>", "<answer>very good indeed</answer>"]),
        ),
    ),
}


def make(env_id, keywords):
    return gym.make(env_id, disable_env_checker=True, **keywords)


def played(env, script, seed):
    """Return the return and success of an episode."""
    inner = env.unwrapped
    inner.last = env.reset(seed=seed)
    total, ended = 0.0, False
    turns = script(inner)
    while not ended:
        observation, reward, terminated, truncated, info = env.step(next(turns, ""))
        inner.last = (observation, info)
        total, ended = total + reward, terminated or truncated
    return total, info


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("warm", [False, True])
def test_hostile_terms_cannot_turn_the_order_round(name, warm):
    env_id, keywords, scripts = CASES[name]
    term = Hostile()
    env = RewardOrchestrator(TermReward(make(env_id, keywords), term, weight=7.0))
    won, lost, tasks = [], [], {True: [], False: []}
    for seed in range(14 if warm else 3):
        for success, script in zip((True, False), scripts(seed), strict=True):
            term.value = -50.0 if success else 50.0
            total, info = played(env, script, seed)
            assert info["success"] is success and info.get("valid_for_training", True)
            (won if success else lost).append(total)
            tasks[success].append(info["reward_parts"]["task"]["raw"])
    env.close()
    assert max(tasks[False]) < min(tasks[True])
    assert max(lost) < min(won)
