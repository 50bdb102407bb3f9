"""The term ``progress`` around environments: alone, under an orchestrator, and in every kind of vector."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.wrappers import wrap

READ = "Pixelis/ZoomRead-v0"
KEYWORDS = {"difficulty": 1, "reader": "truth", "disable_env_checker": True}
ALONE, TOGETHER = {"orchestrate": False, "progress": {"weight": 0.6}}, {"progress": {"weight": 0.6}}


def oracle_turns(seed, last=None):
    """The oracle's turns of a task; ``last`` in the place of its answer."""
    env = gym.make(READ, **KEYWORDS).unwrapped
    observation, info = env.reset(seed=seed)
    player, turns, done = env.players()["oracle"](env), [], False
    while not done:
        turns.append(player.act(observation, info))
        observation, _, done, _, info = env.step(turns[-1])
    return turns if last is None else [*turns[:-1], last]


def rewards(env, seed, turns):
    env.reset(seed=seed)
    return [env.step(turn)[1] for turn in turns]


@pytest.mark.parametrize("values", [ALONE, TOGETHER])
def test_turns_are_paid_and_the_sum_stays(values):
    env = wrap(gym.make(READ, **KEYWORDS), values)
    assert rewards(env, 0, oracle_turns(0)) == pytest.approx([0.4, 1 - 0.4])
    assert rewards(env, 0, oracle_turns(0, answer("?"))) == pytest.approx([0.4, -0.4])
    assert rewards(env, 0, [call("THINK", thought="?"), answer("?")]) == pytest.approx([0, 0])


def test_its_weight_does_not_shrink_with_the_gap():
    for env_id in ("Pixelis/TweetReply-v0", READ):
        env = wrap(gym.make(env_id, disable_env_checker=True), {"orchestrate": False, "progress": {}})
        assert env.stack.weights == {"progress": 0.5}


def test_nothing_of_it_is_told():
    plain, shaped = gym.make(READ, **KEYWORDS), wrap(gym.make(READ, **KEYWORDS), ALONE)
    for env in (plain, shaped):
        env.reset(seed=0)
    turn = oracle_turns(0)[0]
    (seen, *_, info), (seen_too, *_, info_too) = plain.step(turn), shaped.step(turn)
    assert seen["text"] == seen_too["text"] and np.array_equal(seen["image"], seen_too["image"])
    assert set(info_too) - set(info) == {"reward_task"}


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("values", [ALONE, TOGETHER, {**ALONE, "progress": {"at_failure": "keep"}}])
def test_a_vector_pays_what_its_environments_pay(mode, values):
    scripts = {0: oracle_turns(0), 1: oracle_turns(1, answer("?"))}
    single = [rewards(wrap(gym.make(READ, **KEYWORDS), values), seed, scripts[seed]) for seed in scripts]
    envs = gym.make_vec(
        READ, 2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **KEYWORDS
    )
    envs = wrap(envs, values)
    envs.reset(seed=[0, 1])
    together = [envs.step(turns)[1] for turns in zip(*scripts.values(), strict=True)]
    np.testing.assert_allclose(np.array(together).T, single, atol=1e-12)
    # The next episode begins with no progress: a look that finds nothing is paid nothing.
    nothing = call("THINK", thought="?")
    for _ in range(2):
        assert envs.step((nothing, nothing))[1] == pytest.approx(0)


def test_environments_in_other_processes_are_asked_too():
    envs = wrap(gym.vector.AsyncVectorEnv([lambda: gym.make(READ, **KEYWORDS)] * 2), ALONE)
    envs.reset(seed=[0, 0])
    paid = [envs.step((turn, answer("?")))[1][0] for turn in oracle_turns(0)[:1]]
    envs.close()
    assert paid == pytest.approx([0.4])
