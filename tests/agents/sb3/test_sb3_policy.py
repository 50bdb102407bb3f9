"""The distribution of what an action does, against sums over all actions worked out by brute force."""

from __future__ import annotations

import itertools
from collections import defaultdict

import gymnasium as gym
import numpy as np
import pytest
import torch

from pixelis.agents.sb3.policy import CountedNumbers
from pixelis.wrappers import DiscreteToolActions


@pytest.fixture(scope="module")
def env():
    env = DiscreteToolActions(
        gym.make("Pixelis/ZoomRead-v0", difficulty=0, reader="truth", disable_env_checker=True),
        grid=2,
        factors=(1, 4),
    )
    env.reset(seed=0)
    env.step([2, 0, 0, 0, 0])
    return env


@pytest.fixture
def distribution(env):
    sizes = env.action_space.nvec.tolist()
    logits = torch.randn(1, sum(sizes), generator=torch.Generator().manual_seed(0))
    return CountedNumbers(sizes, env.counted).proba_distribution(logits)


def chances(env, distribution):
    """Return action class (what counts of it) → its probability, by summing the product over all actions."""
    parts = [part.probs[0].double().numpy() for part in distribution.distribution]
    total = defaultdict(float)
    for action in itertools.product(*(range(len(part)) for part in parts)):
        counted = env.counted[action[0], action[3]]
        key = tuple(number if counts else None for number, counts in zip(action, counted, strict=True))
        total[key] += float(np.prod([part[number] for part, number in zip(parts, action, strict=True)]))
    return total


def test_a_turn_has_the_probability_of_all_actions_that_mean_it(env, distribution):
    total = chances(env, distribution)
    assert sum(total.values()) == pytest.approx(1)
    for key, chance in total.items():
        action = torch.tensor([[number or 0 for number in key]])
        assert distribution.log_prob(action).item() == pytest.approx(np.log(chance), abs=1e-5)


def test_numbers_that_do_not_count_do_not_change_it(distribution):
    answers = torch.tensor([[4, 0, 0, 0, 3], [4, 1, 0, 1, 3], [4, 1, 1, 0, 3]])
    values = [distribution.log_prob(answer[None]).item() for answer in answers]
    assert values[0] == values[1] == values[2]


def test_the_entropy_is_that_of_the_turns(env, distribution):
    values = np.array(list(chances(env, distribution).values()))
    assert distribution.entropy().item() == pytest.approx(-(values * np.log(values)).sum(), abs=1e-5)


def test_one_tool_without_numbers_has_no_entropy(env):
    sizes = env.action_space.nvec.tolist()
    logits = torch.zeros(1, sum(sizes))
    logits[0, 2], logits[0, sum(sizes[:3])] = 1e4, 1e4  # SEGMENT at scale 0: list all, whatever x and y
    certain = CountedNumbers(sizes, env.counted).proba_distribution(logits)
    assert certain.entropy().item() == pytest.approx(0, abs=1e-6)
