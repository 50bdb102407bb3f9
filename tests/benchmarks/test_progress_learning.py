"""The small agents that measure `progress`: they know what they are told, and what is remembered is true."""

from __future__ import annotations

import argparse

import numpy as np
import progress_learning
import pytest
from progress_agents import (
    DRAFTS,
    REWARD,
    CodeAgent,
    PageAgent,
    RememberingSandbox,
    ReplyAgent,
    code_env,
    page_env,
    problems,
    reply_env,
    threads,
)

from pixelis.envs.coding.sandbox import Call, Job, Sandbox, SandboxSettings
from pixelis.envs.tweet.tweet_reply.heuristic_reward import HeuristicReward

OPTIONS = argparse.Namespace(
    kind="web", steps=2, groups=1, group_size=3, lr=5.0, gamma=0.7, untrained=2, first_seed=0
)


def test_a_page_offers_its_controls():
    env, agent = page_env(), PageAgent()
    observation, _ = env.reset(seed=0)
    agent.begin(env.unwrapped.task)
    turns, table = agent.options(observation["text"])
    assert len(turns) > 1 and table.shape == (len(turns), PageAgent.width) and not table[:, -2].any()
    agent.took(0)
    assert agent.options(observation["text"])[1][0, -2] == 1
    env.close()


def test_a_program_is_known_by_its_run_alone():
    env, agent, task = code_env(), CodeAgent(), problems()[0]
    observation, _ = env.reset(seed=0, options={"task": task})
    agent.begin(env.unwrapped.task)
    turns, table = agent.options(observation["text"])
    assert len(turns) == 10 and table[:5, 0].all() and table[5:, 4].all() and table.sum() == 10
    for place in (0, 4):  # the right program is the first one, which the agent does not know
        agent.took(place)
        observation, *_ = env.step(turns[place])
        table = agent.options(observation["text"])[1]
        assert table[place, 1:4].sum() == 1 and table[place, 0] == 0
        assert (table[place, :4] == table[place + 5, 4:]).all()
    assert table[4, 3] == 0 and table[1:4, 0].all()
    assert table[0, 3] == 1
    agent.took(5)
    *_, terminated, _, info = env.step(turns[5])
    assert terminated and info["success"]
    env.close()


def test_what_ran_is_remembered_and_what_failed_is_not():
    right = Job("def f(x):\n    return 2 * x", "f", (Call((3,)),))
    other, broken = Job(right.code, "f", (Call((4,)),)), Job("def f(x:", "f", (Call((3,)),))
    with RememberingSandbox(SandboxSettings()) as sandbox, Sandbox(SandboxSettings()) as plain:
        for _ in range(2):
            found = sandbox.run([right, other, broken])
            asked = plain.run([right, other, broken])
            assert [one.outcomes for one in found] == [one.outcomes for one in asked]
            assert [one.status for one in found] == ["finished", "finished", "syntax_error"]
        assert len(sandbox.said) == 2


@pytest.mark.slow
def test_a_thread_offers_good_and_faulty_drafts():
    tasks, bare = threads(), HeuristicReward()
    assert len(tasks) > 20
    env, agent = reply_env(), ReplyAgent()
    observation, info = env.reset(seed=0, options={"task": tasks[0]})
    agent.begin(env.unwrapped.task)
    offered, terminated = [], False
    while not terminated:
        turns, table = agent.options(observation["text"])
        offered.append(len(turns))
        assert len(table) == len(turns) and len(np.unique(table, axis=0)) > DRAFTS // 2
        agent.took(0)  # the good one is the first one
        observation, _, terminated, _, info = env.step(turns[0])
    assert info["success"] and offered == [DRAFTS, *[DRAFTS + 1] * (len(info["messages"]) - 1)]
    for (message, reply), one in list(REWARD.scores.items())[:5]:
        assert bare.score(message, [reply]) == [one]
    env.close()


def test_every_arm_trains_and_says_what_it_did():
    for arm in progress_learning.ARMS:
        run = progress_learning.learn(arm, 7, OPTIONS)
        assert len(run["success"]) == len(run["turns"]) == 2 and run["episodes"] is None
    found = progress_learning.untrained(OPTIONS)
    assert list(found) == ["success", "silent", "silent_progress", "agreement"]
    assert all(0 <= found[name] <= 1 for name in list(found)[:3])
    assert [row.split(" | ")[0] for row in progress_learning.summary([run]).splitlines()[2:]] == ["| keep"]


def test_credit_by_episode_and_by_turn():
    two = [progress_learning.Played(rewards=list(rewards)) for rewards in ((0.0, 1.0), (0.0,))]
    by_episode = progress_learning.advantages([two], None)
    assert by_episode[0, 0] == pytest.approx([2**-0.5] * 2, abs=1e-3) and by_episode[0, 1, 0] < 0
    by_turn = progress_learning.advantages([two], 0.7)
    assert by_turn[0, 0, 0] == pytest.approx(-by_turn[0, 1, 0]) and by_turn[0, 0, 1] > by_turn[0, 0, 0]
