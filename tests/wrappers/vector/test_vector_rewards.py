"""Vector twins: the same numbers as one environment at a time, in every autoreset mode."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from calling_env import CallingEnv
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from pixelis.envs.pixel.zoom_read.players import answer, call
from pixelis.errors import RewardError, WrapperOrderError
from pixelis.wrappers import CoherenceReward as SingleCoherence
from pixelis.wrappers import ToolPenalty as SinglePenalty
from pixelis.wrappers import wrap
from pixelis.wrappers.vector import CoherenceReward, RewardOrchestrator, TermReward, ToolPenalty

EPISODES = (
    (["ZOOM:a READ_TEXT", "right"], ["TRACK", "", "", ""], ["wrong"]),
    (["TRACK", "wrong"], ["ZOOM:a ZOOM:a", "TRACK", "right"], ["ZOOM:a", "READ_TEXT", "right"]),
    (["", "", "", ""], ["right"], ["GET_PROPERTIES SEGMENT", "right"]),
)
"""Lane → episodes → actions."""
MODES = list(AutoresetMode)


class Boasting(CallingEnv):
    """Says something of its own under the name of the task's reward."""

    def _info(self, action, terms):
        return {**super()._info(action, terms), "reward_task": -7.0}


def expected(weights):
    """Return lane → reward of each step, from one environment at a time."""
    lanes = []
    for episodes in EPISODES:
        env = SinglePenalty(SingleCoherence(CallingEnv(), weight=weights[0]), weight=weights[1])
        lanes.append([])
        for actions in episodes:
            env.reset()
            lanes[-1] += [env.step(action)[1] for action in actions]
    return lanes


def play(envs, mode, term="penalty"):
    """Return lane → reward of each step, and lane → the term's value at the end of its episodes."""
    queues = [[action for actions in episodes for action in actions] for episodes in EPISODES]
    rewards, ends = [[] for _ in queues], [[] for _ in queues]
    waiting = np.zeros(len(queues), bool)  # the next step only resets, in mode NEXT_STEP
    envs.reset(seed=0)
    while any(queues):
        played = [lane for lane, queue in enumerate(queues) if queue and not waiting[lane]]
        actions = tuple(queue[0] if lane in played else "idle" for lane, queue in enumerate(queues))
        _, paid, terminated, truncated, infos = envs.step(actions)
        ended = terminated | truncated
        for lane in played:
            queues[lane].pop(0)
            rewards[lane].append(paid[lane])
            home = infos["final_info"] if ended[lane] and mode == AutoresetMode.SAME_STEP else infos
            if ended[lane]:
                assert home["_reward_terms"][lane]
                ends[lane].append(home["reward_terms"][term][lane])
        for lane in np.flatnonzero(waiting):
            assert paid[lane] == 0.0
        waiting = ended & (mode == AutoresetMode.NEXT_STEP)
        if mode == AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
    return rewards, ends


@pytest.mark.parametrize("mode", MODES)
def test_every_autoreset_mode_gives_what_single_environments_give(mode):
    envs = SyncVectorEnv([CallingEnv] * 3, autoreset_mode=mode)
    rewards, ends = play(ToolPenalty(CoherenceReward(envs, weight=0.3), weight=0.5), mode)
    for found, wanted in zip(rewards, expected((0.3, 0.5)), strict=True):
        assert found == pytest.approx(wanted)
    assert ends == [[0.0, -0.1, 0.0], [0.0, 0.0, 0.0], [-0.1, 0.0, 0.0]]


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_is_scored_at_once_and_nothing_twice(mode):
    seen = []

    class Counting:
        name = "counting"

        def begin(self):
            return []

        def score(self, steps):
            seen.append(len(steps))
            for memory, step in steps:
                memory.append(step.next_observation["text"])
                if step.ended:
                    assert memory == [f"turn {turn + 1}" for turn in range(len(memory))]
            return [0.0] * len(steps)

        def learn(self):
            return {}

        def state_dict(self):
            return {}

        def load_state_dict(self, state):
            pass

    envs = SyncVectorEnv([CallingEnv] * 3, autoreset_mode=mode, copy=False)
    play(TermReward(envs, Counting()), mode, "counting")
    steps = sum(len(actions) for episodes in EPISODES for actions in episodes)
    assert sum(seen) >= steps
    assert seen[0] == 3


def test_the_orchestrator_of_a_vector_has_one_set_of_statistics():
    envs = SyncVectorEnv([CallingEnv] * 2)
    env = wrap(envs, {"penalty": {"weight": 1.0}, "warmup": 2})
    assert type(env) is RewardOrchestrator
    env.reset()
    env.step(("TRACK", ""))
    _, paid, *_, infos = env.step(("wrong", "right"))
    assert paid == pytest.approx([-0.1, 1.0])
    assert infos["reward_parts"]["penalty"]["raw"] == pytest.approx([-0.1, 0.0])
    env.step(("", ""))  # only resets
    _, paid, *_, infos = env.step(("TRACK TRACK wrong", ""))
    assert paid == pytest.approx([-0.2, 0.0])  # a fine keeps its amount, whatever its z-score
    assert list(infos["reward_parts"]["_penalty"]) == [True, False]
    assert infos["reward_parts"]["penalty"]["normalised"][0] == pytest.approx(-3.0)


def test_over_wrappers_inside_the_environments():
    envs = SyncVectorEnv([lambda: SinglePenalty(CallingEnv())] * 2)
    env = RewardOrchestrator(envs, {"penalty": 0.5})
    env.reset()
    _, paid, *_ = env.step(("TRACK right", "wrong"))
    assert paid == pytest.approx([0.95, 0.0])
    blind = RewardOrchestrator(SyncVectorEnv([lambda: SinglePenalty(CallingEnv())]))
    blind.reset()
    with pytest.raises(WrapperOrderError, match=r"\['penalty'\]; name those to use"):
        blind.step(("TRACK",))
    twice = ToolPenalty(SyncVectorEnv([lambda: SinglePenalty(CallingEnv())]))
    twice.reset()
    with pytest.raises(RewardError, match=r"penalty: .*already reports"):
        twice.step(("TRACK",))


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_a_reward_of_that_name_that_an_env_reports_itself_is_not_the_tasks(vector):
    """As around one environment: right pays 1 whatever it says."""
    env = ToolPenalty(vector([Boasting] * 2), weight=0.5)
    env.reset()
    _, paid, *_, infos = env.step(("TRACK right", "right"))
    env.close()
    assert paid == pytest.approx([0.95, 1.0]) and list(infos["reward_task"]) == [1.0, 1.0]
    alone = RewardOrchestrator(vector([Boasting] * 2))
    alone.reset()
    _, paid, *_ = alone.step(("right", "wrong"))
    alone.close()
    assert paid == pytest.approx([1.0, 0.0])


def test_order_and_bad_environments():
    with pytest.raises(WrapperOrderError, match="outside the RewardOrchestrator"):
        ToolPenalty(RewardOrchestrator(SyncVectorEnv([CallingEnv])))
    with pytest.raises(WrapperOrderError, match="'penalty' is there twice"):
        ToolPenalty(ToolPenalty(SyncVectorEnv([CallingEnv])))
    silent = ToolPenalty(SyncVectorEnv([lambda: CallingEnv(silent=True)]))
    silent.reset()
    with pytest.raises(RewardError, match="info has no 'tool_calls'"):
        silent.step(("x",))
    broken = ToolPenalty(SyncVectorEnv([CallingEnv, lambda: CallingEnv(paid=float("nan"))]))
    broken.reset()
    with pytest.raises(RewardError, match="task: expected a finite number"):
        broken.step(("x", "x"))


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_processes_give_the_same(where):
    values = {"coherence": {}, "penalty": {}, "orchestrate": False}

    def make():
        return wrap(CallingEnv(), values) if where == "inside" else CallingEnv()

    envs = gym.vector.AsyncVectorEnv([make] * 3)
    try:
        env = envs if where == "inside" else wrap(envs, values)
        rewards, _ = play(env, AutoresetMode.NEXT_STEP)
    finally:
        envs.close()
    for found, wanted in zip(rewards, expected((0.05, 0.08)), strict=True):
        assert found == pytest.approx(wanted)


ZOOM_TURNS = [
    call("ZOOM", center=[0.3, 0.7], factor=4) + call("READ_TEXT"),
    call("GET_PROPERTIES", region=1) + call("SEGMENT"),
    answer("KT47"),
]


def zoom_embedding(observation):
    """An embedding of text and picture that tells views apart."""
    return np.array([len(observation["text"]), *observation["image"][::48, ::48].mean((1, 2))], np.float32)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_zoom_read_in_a_vector_gives_what_it_gives_by_itself(kind):
    """Pictures and texts through shared memory, wrapped by what YAML would say."""
    values = {"coherence": {"encoder": zoom_embedding, "weight": 0.4}, "penalty": {}, "warmup": 0}

    def make():
        return gym.make("Pixelis/ZoomRead-v0", reader="truth", disable_env_checker=True)

    singles = []
    for seed in (5, 6):
        env = wrap(make(), values)
        env.reset(seed=seed)
        singles.append([env.step(turn)[1] for turn in ZOOM_TURNS])
    makers = [make] * 2
    envs = SyncVectorEnv(makers) if kind == "sync" else gym.vector.AsyncVectorEnv(makers)
    try:
        env = wrap(envs, values)
        env.reset(seed=5)
        paid = [env.step((turn, turn))[1] for turn in ZOOM_TURNS]
    finally:
        envs.close()
    np.testing.assert_allclose(np.array(paid).T, singles, rtol=1e-12)
    assert np.abs(paid[-1]).max() > 0.01
