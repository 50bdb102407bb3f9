"""The whole wrapper on real environments: both checkers, solving by numbers, vectors, no leak."""

from __future__ import annotations

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from pixelis.envs.check.playing import same
from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.tools.words import QUESTION_WORDS
from pixelis.envs.registration import ENVIRONMENTS
from pixelis.envs.spaces import Utf8Text
from pixelis.errors import ActionTypeError, ConfigError
from pixelis.wrappers import DiscreteToolActions

IDS = ("ZoomRead", "SizeCompare", "CountTiny", "TrackRead")
PIXEL_IDS = tuple(
    entry.id for entry in ENVIRONMENTS if issubclass(load_env_creator(entry.entry_point), PixelEnv)
)
ZOOM, READ, SEGMENT, PROPERTIES, ANSWER = range(5)


def make(name="ZoomRead", difficulty=0, **keywords):
    env = gym.make(
        f"pixelis:Pixelis/{name}-v0", difficulty=difficulty, reader="truth", disable_env_checker=True
    )
    return DiscreteToolActions(env, **keywords)


def episode(env, seed):
    """Return what reset and every step of an episode of random actions said."""
    said = [env.reset(seed=seed)]
    env.action_space.seed(seed)
    while len(said) == 1 or not (said[-1][2] or said[-1][3]):
        said.append(env.step(env.action_space.sample()))
    return said


def check(env):
    """Run both checkers; any warning but Gymnasium's on wrapped environments is an error."""
    from stable_baselines3.common import env_checker as sb3  # here, so that other processes need not load it

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        check_env(env, skip_render_check=True)
        sb3.check_env(env)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", PIXEL_IDS)
def test_gymnasium_and_sb3_find_nothing(env_id):
    check(DiscreteToolActions(gym.make(env_id, reader="truth", disable_env_checker=True), grid=4))


@pytest.mark.slow
def test_they_find_nothing_in_flat_actions():
    check(make("SizeCompare", flat=True, grid=4))


@pytest.mark.parametrize("env_id", PIXEL_IDS)
def test_every_pixel_environment_is_played(env_id):
    """Each tool is called or left out for a reason, each action is a turn the environment understands."""
    env = DiscreteToolActions(gym.make(env_id, reader="truth", disable_env_checker=True), grid=3)
    tools = {schema["function"]["name"] for schema in env.unwrapped.toolset.schemas()}
    assert {"ZOOM", "READ_TEXT", "SEGMENT", "GET_PROPERTIES"} <= set(env.tool_names) - {"answer"} <= tools
    assert env.counted.shape == (len(env.tool_names), 4, 5)
    for _, *_, info in episode(env, 3)[1:]:
        for call in info["tool_calls"]:
            assert call["error_code"] not in {"bad_json", "unknown_tool", "bad_arguments"}, call


def test_spaces_are_those_of_the_issue():
    env = make()
    shapes = {name: space.shape for name, space in env.observation_space.spaces.items()}
    assert shapes == {
        "overview": (96, 96, 3),
        "view": (96, 96, 3),
        "box": (4,),
        "question": (len(QUESTION_WORDS),),
        "last_result": (32,),
        "steps_left": (1,),
    }
    assert env.action_space == gym.spaces.MultiDiscrete([5, 16, 16, 4, 8])
    assert env.tool_names == ("ZOOM", "READ_TEXT", "SEGMENT", "GET_PROPERTIES", "answer")
    assert make(flat=True, grid=2).action_space == gym.spaces.Discrete(13 + 13 + 13 + 4 + 8)


@pytest.mark.parametrize("seed", range(4))
def test_zoom_read_is_solved_by_what_the_numbers_say(seed):
    env = make()
    env.reset(seed=seed)
    said, *_ = env.step(np.array([SEGMENT, 0, 0, 0, 0]))
    x, y = (said["last_result"][4:6] * 16).astype(int)
    assert said["last_result"][0] == 1 and min(x, y) >= 0
    looked, *_ = env.step(np.array([ZOOM, x, y, 2, 0]))
    assert looked["box"][2] - looked["box"][0] == pytest.approx(0.25)
    assert not np.array_equal(looked["view"], looked["overview"])
    env.step(np.array([READ, 0, 0, 0, 0]))
    assert env.candidates[0] == env.unwrapped.task.answer
    observation, reward, terminated, _, info = env.step(np.array([ANSWER, 0, 0, 0, 0]))
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert info["turn"] == f"<answer>{env.unwrapped.task.answer}</answer>"
    assert observation["steps_left"] == pytest.approx(4 / 8)


@pytest.mark.parametrize("seed", range(4))
def test_size_compare_is_solved_by_what_the_numbers_say(seed):
    """The list tells where the shapes are; a gradient hides a part of one there, so each is measured."""
    env = make("SizeCompare", difficulty=1)
    env.reset(seed=seed)
    observation, *_ = env.step([SEGMENT, 0, 0, 0, 0])
    places = observation["last_result"][8:].reshape(8, 3)[: len(env.candidates), 1:]
    for x, y in (places * 16).astype(int):
        observation, *_ = env.step([SEGMENT, x, y, 1, 0])
    values = observation["last_result"][8::3][: len(env.candidates)]
    *_, info = env.step([ANSWER, 0, 0, 0, int(values.argmax())])
    assert info["success"]


def test_numbers_answer_a_count():
    env = make("CountTiny", answers="numbers")
    env.reset(seed=0)
    y, x = divmod(int(env.unwrapped.task.answer), 16)
    *_, info = env.step([ANSWER, x, y, 0, 0])
    assert info["success"]


def test_flat_actions_are_the_same_turns():
    flat, wide = make(flat=True, grid=2), make(grid=2)
    flat.reset(seed=3), wide.reset(seed=3)
    turns = {flat.turn_of(number) for number in range(flat.action_space.n)}
    wide.action_space.seed(0)
    assert {wide.turn_of(wide.action_space.sample()) for _ in range(200)} <= turns


def test_only_the_tools_that_are_named():
    env = make(tools=["SEGMENT", "ZOOM"], grid=2)
    assert env.tool_names == ("SEGMENT", "ZOOM", "answer")
    assert env.action_space.nvec.tolist() == [3, 2, 2, 4, 8]
    env.reset(seed=0)
    assert [call["tool"] for call in env.step([0, 0, 0, 0, 0])[-1]["tool_calls"]] == ["SEGMENT"]


def test_slots_go_round():
    """With two choices slots 0, 2, 4, 6 are the first of them."""
    env = make("SizeCompare")
    env.reset(seed=0)
    turns = [env.turn_of([ANSWER, 0, 0, 0, slot]) for slot in range(8)]
    assert turns == [f"<answer>{env.candidates[slot % 2]}</answer>" for slot in range(8)]


def test_numbers_that_are_not_counted_change_nothing():
    """For each tool and scale, the numbers that count are those that some other value changes the turn of."""
    env = make(grid=3)
    env.reset(seed=3)
    env.step([SEGMENT, 0, 0, 0, 0])
    sizes = env.action_space.nvec
    for tool in range(sizes[0]):
        for scale in range(sizes[3]):
            changes = set()
            for number in (1, 2, 4):
                turns = set()
                for value in range(sizes[number]):
                    action = [tool, 1, 1, scale, 0]
                    action[number] = value
                    turns.add(env.turn_of(action))
                changes |= {number} if len(turns) > 1 else set()
            assert changes <= set(env.counted[tool, scale].nonzero()[0])
            if tool in (ZOOM, READ, SEGMENT) and scale:
                assert changes == {1, 2}
    assert env.counted[ANSWER].tolist() == [[True, False, False, False, True]] * 4
    assert make("CountTiny", answers="numbers").counted[ANSWER, 0].tolist() == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_it_goes_through_the_real_environment():
    """The turns of an episode, played as text, give the same rewards, limits and records."""
    wrapped = make()
    said = episode(wrapped, 5)
    turns = [info["turn"] for *_, info in said[1:]]
    plain = gym.make("Pixelis/ZoomRead-v0", difficulty=0, reader="truth", disable_env_checker=True)
    plain.reset(seed=5)
    for turn, (_, *outcome, info) in zip(turns, said[1:], strict=True):
        _, *played, told = plain.step(turn)
        assert played == outcome
        assert told == {key: value for key, value in info.items() if key != "turn"}


def test_an_answer_before_anything_was_read_costs_a_turn():
    env = make()
    env.reset(seed=0)
    for turn in range(8):
        _, reward, terminated, truncated, info = env.step([ANSWER, 0, 0, 0, 7])
        assert (reward, terminated, truncated) == (0.0, False, turn == 7)
        assert [call["error_code"] for call in info["tool_calls"]] == ["no_action"]


@pytest.mark.parametrize("name", IDS)
def test_the_truth_is_not_observed(name):
    """Two tasks that differ in nothing but the stored answer look the same, whatever is done."""
    env = make(name)
    env.reset(seed=1)
    task = env.unwrapped.task.to_json()
    lie = {**task, "answer": "7" if name == "CountTiny" else "none of them"}
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(6)]
    seen = []
    for given in (task, lie):
        seen.append([env.reset(seed=1, options={"task": given})[0]])
        for action in actions:
            observation, _, terminated, truncated, _ = env.step(action)
            seen[-1].append(observation)
            if terminated or truncated:
                break
    assert same(seen[0], seen[1])


@pytest.mark.parametrize("name", IDS)
def test_equal_seeds_give_equal_episodes(name):
    first, second = make(name), make(name)
    assert same(episode(first, 11), episode(second, 11))


def test_pickled_in_the_middle_of_an_episode_it_goes_on_alike():
    env = make()
    env.reset(seed=2)
    env.step([SEGMENT, 0, 0, 0, 0])
    twin = pickle.loads(pickle.dumps(env))
    for action in ([PROPERTIES, 3, 3, 0, 0], [ZOOM, 3, 3, 1, 0], [READ, 0, 0, 0, 0]):
        assert same(env.step(action), twin.step(action))


def test_it_stands_in_a_spec():
    spec = copy.deepcopy(gym.spec("Pixelis/ZoomRead-v0"))
    spec.additional_wrappers = (DiscreteToolActions.wrapper_spec(grid=4),)
    env = gym.make(spec, disable_env_checker=True)
    assert env.action_space == gym.spaces.MultiDiscrete([5, 4, 4, 4, 8])


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_processes_play_as_one_does(context):
    makers = [partial(make, grid=4)] * 2
    vectors = [SyncVectorEnv(makers), AsyncVectorEnv(makers, context=context)]
    logs = []
    for vector in vectors:
        vector.action_space.seed(0)
        log = [vector.reset(seed=7)[0]]
        log += [vector.step(vector.action_space.sample())[:4] for _ in range(6)]
        logs.append(log)
        vector.close()
    assert same(*logs)


def test_threads_play_as_one_does():
    seeds = range(4)
    alone = [episode(make(grid=4), seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        beside = list(pool.map(lambda seed: episode(make(grid=4), seed), seeds))
    assert same(alone, beside)


@pytest.mark.parametrize(
    "action", ["ZOOM", 3, [5, 0, 0, 0, 0], [0, -1, 0, 0, 0], [0, 0, 0, 0], [0.5] * 5, None, [[0] * 5]]
)
def test_bad_actions(action):
    env = make()
    env.reset(seed=0)
    with pytest.raises(ActionTypeError, match="expected an action in MultiDiscrete"):
        env.step(action)
    assert env.unwrapped.turn == 0


@pytest.mark.parametrize("action", [-1, 51, [0], 0.0, "0"])
def test_bad_flat_actions(action):
    env = make(flat=True, grid=2)
    env.reset(seed=0)
    with pytest.raises(ActionTypeError, match=r"Discrete\(51\)"):
        env.step(action)


def test_reset_comes_first():
    with pytest.raises(gym.error.ResetNeeded):
        make().turn_of([0, 0, 0, 0, 0])


class Numbers(gym.Env):
    observation_space = gym.spaces.Dict(text=Utf8Text(10))
    action_space = gym.spaces.Discrete(2)


@pytest.mark.parametrize(
    ("env", "keywords", "message"),
    [
        (Numbers, {}, "needs a ToolEnv with an image, got Numbers"),
        (None, {"answers": "words"}, "answers must be one of auto, numbers"),
        (None, {"grid": 1}, "grid must be an integer from 2 to 64"),
        (None, {"factors": (2, 4)}, "factors must ascend from 1"),
        (None, {"tools": ["ZOOM", "REED_TEXT"]}, "no tool 'REED_TEXT' .* Did you mean 'READ_TEXT'"),
        (None, {"tools": ["THINK"]}, "no tool 'THINK' that numbers can call"),
        (None, {"tools": "ZOOM"}, "tools must be a list of names"),
        (None, {"tools": []}, "tools must be a list of names"),
    ],
)
def test_mistakes(env, keywords, message):
    with pytest.raises(ConfigError, match=message):
        DiscreteToolActions(env(), **keywords) if env else make(**keywords)
