"""Any Gymnasium environment in words: what is said, what is understood, floors, oracles, success."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pixelis.envs.interop.gymnasium.env import GymnasiumEnv
from pixelis.errors import ActionTypeError, ConfigError, UnknownEnvError

STILL = {"is_slippery": False}


def made(env: str, **keywords: Any) -> GymnasiumEnv:
    return gym.make("Pixelis/Gymnasium-v0", env=env, **keywords).unwrapped  # type: ignore[return-value]


def play(env: GymnasiumEnv, name: str, seed: int) -> tuple[float, bool, list[str]]:
    """Return what a scripted player gets, whether it succeeds, and what it reads."""
    observation, info = env.reset(seed=seed)
    player, total, read, over = env.players()[name](env), 0.0, [observation["text"]], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(player.act(observation, info))
        assert observation in env.observation_space
        total, over = total + reward, terminated or truncated
        read.append(observation["text"])
    return total, info["success"], read


def test_a_lake_by_hand():
    env = made("FrozenLake-v1", env_kwargs=STILL)
    text = env.reset(seed=0)[0]["text"]
    assert text.endswith("[S]FFF\nFHFH\nFFFH\nHFFG\nReply with one of these words: left, down, right, up.")
    assert "Frozen lake involves crossing a frozen lake" in text and "slippery" not in text
    seen, reward, terminated, truncated, info = env.step("I go down.")
    assert seen["text"].splitlines()[-4:] == ["SFFF", "[F]HFH", "FFFH", "HFFG"]
    assert (reward, terminated, truncated, info["understood"]) == (0.0, False, False, True)
    assert "success" not in info
    *_, terminated, truncated, info = env.step("2")  # right, by its number: into the hole
    assert terminated and info["success"] is False
    with pytest.raises(gym.error.ResetNeeded):
        env.step("left")


@pytest.mark.parametrize("said", ["", "jump", "left or right", "leftmost", "4", "<answer>hop</answer> left"])
def test_a_turn_that_says_no_action_is_told_the_rule_and_changes_nothing(said: str):
    env = made("FrozenLake-v1", env_kwargs=STILL, max_turns=3)
    env.reset(seed=0)
    seen, reward, terminated, truncated, info = env.step(said)
    assert "left, down, right, up" in seen["text"] and info["understood"] is False
    assert (reward, terminated, truncated) == (0.0, False, False)
    seen, *_ = env.step("down")
    assert "[F]HFH" in seen["text"]
    *_, truncated, info = env.step(said)
    assert truncated and info["success"] is False  # three turns, said or not
    with pytest.raises(ActionTypeError, match="got int"):
        made("FrozenLake-v1").step(1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("env", "keywords", "reward"),
    [("FrozenLake-v1", {"env_kwargs": STILL}, 1.0), ("CliffWalking-v1", {}, -13.0), ("Taxi-v4", {}, None)],
)
def test_the_oracle_of_tables_reaches_the_goal_and_floors_do_not(
    env: str, keywords: Any, reward: float | None
):
    lake = made(env, **keywords)
    found = [play(lake, "oracle", seed) for seed in range(10)]
    assert all(success for _, success, _ in found)
    if reward is not None:
        assert {total for total, _, _ in found} == {reward}
    assert not any(play(lake, "nothing", seed)[1] for seed in range(3))
    assert sum(play(lake, "random", seed)[1] for seed in range(20)) <= 4


def test_colours_that_mean_something_are_named():
    text = made("Taxi-v4").reset(seed=0)[0]["text"]
    assert "magenta: Y; blue: B" in text and "|[ ]|" in text and "\x1b" not in text


def test_numbers_have_names_where_they_are_known_or_given():
    text = made("CartPole-v1").reset(seed=3)[0]["text"]
    assert "cart position: " in text and "pole velocity: " in text
    assert "your sum: " in made("Blackjack-v1").reset(seed=3)[0]["text"]
    named = made("MountainCar-v0", names=["place", "pace"], actions=["west", "rest", "east"])
    assert "place: -0." in named.reset(seed=0)[0]["text"] and named.step("Rest!")[4]["understood"]
    car = made("MountainCarContinuous-v0")
    assert car.reset(seed=0)[0]["text"].endswith("Reply with one number, from -1 to 1.")
    assert car.step("2")[4]["understood"] is False and car.step("push -0.5")[4]["understood"] is True


def test_minigrid_with_its_own_names_and_as_a_picture():
    env = made("minigrid:MiniGrid-Empty-5x5-v0")
    text = env.reset(seed=0)[0]["text"]
    assert "mission: get to the green goal square" in text and "8-1-0" in text  # the goal, a green one
    assert text.endswith("left, right, forward, pickup, drop, toggle, done.")
    for word in ("forward", "forward", "right", "forward", "forward"):
        _, reward, terminated, _, info = env.step(word)
    assert terminated and info["success"] and reward == pytest.approx(1 - 0.9 * 5 / 100)
    seen = made("minigrid:MiniGrid-Empty-5x5-v0", picture=True).reset(seed=0)[0]
    assert seen["image"].dtype == np.uint8 and seen["image"].shape[2] == 3 and seen["image"].std() > 10


class Seen(gym.Env[Any, Any]):
    """Shows a picture, takes texts, and says itself whether it was solved."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, space: gym.Space[Any] | None = None) -> None:
        self.observation_space = gym.spaces.Dict(
            {"frame": gym.spaces.Box(0, 255, (20, 30, 3), np.uint8), "depth": gym.spaces.Box(0, 1, (40, 40))}
        )
        self.action_space = space or gym.spaces.Text(5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return {"frame": np.full((20, 30, 3), 7, np.uint8), "depth": np.zeros((40, 40), np.float32)}, {}

    def step(self, action: str) -> Any:
        return self.reset()[0], 5.0, True, False, {"is_success": action == "hello"}


@pytest.fixture
def seen_id():
    gym.register("Seen-v0", Seen)
    yield "Seen-v0"
    del gym.registry["Seen-v0"]


@pytest.mark.parametrize("said", ["hello", "other"])
def test_pictures_long_arrays_texts_and_a_success_of_its_own(seen_id: str, said: str):
    env = made(seen_id)
    seen = env.reset()[0]
    assert seen["image"].shape == (20, 30, 3) and (seen["image"] == 7).all()
    assert "depth: an array of shape (40, 40)" in seen["text"] and "1 to 5 characters" in seen["text"]
    again, _, _, _, info = env.step("too long a text")
    assert info["understood"] is False
    assert (again["image"] == 7).all() and not np.shares_memory(seen["image"], again["image"])
    assert env.step(said)[4]["success"] is (said == "hello")
    for least, reached in ((5.0, True), (5.1, False)):  # a sum that was asked for goes before what info says
        judged = made(seen_id, success_at=least)
        judged.reset()
        assert judged.step(said)[4]["success"] is reached


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"env": "FrozenLake-v1", "actions": ["a", "b"]}, "actions must be 4 different names"),
        ({"env": "FrozenLake-v1", "actions": ["a", "A", "b", "c"]}, "actions must be 4 different names"),
        ({"env": "Pendulum-v1", "actions": ["push"]}, "leave it out"),
        ({"env": "FrozenLake-v1", "env_kwargs": {"sizes": 3}}, "cannot be made with env_kwargs"),
        ({"env": "Seen-v0", "picture": True}, "renders no rgb_array"),
        (
            {"env": "Seen-v0", "env_kwargs": {"space": gym.spaces.Dict({"a": gym.spaces.Discrete(2)})}},
            "cannot be said",
        ),
        ({"env": "FrozenLake-v1", "turns": 3}, "has no keyword"),
    ],
)
def test_bad_keywords_are_one_clear_error(seen_id: str, keywords: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        made(**keywords)


def test_an_unknown_id_is_told_with_the_nearest():
    with pytest.raises(UnknownEnvError, match="Did you mean 'FrozenLake-v1'"):
        made("FrozenLak-v1")


@pytest.mark.filterwarnings("ignore::UserWarning")  # what the checker has to say of any text environment
@pytest.mark.parametrize("env", ["FrozenLake-v1", "CartPole-v1", "minigrid:MiniGrid-Empty-5x5-v0"])
def test_gymnasium_s_own_check_and_the_same_seed(env: str):
    check_env(made(env), skip_render_check=True)
    assert play(made(env), "random", 5) == play(made(env), "random", 5)
    assert play(made(env), "random", 5) != play(made(env), "random", 6)
    copied = pickle.loads(pickle.dumps(made(env)))
    assert play(copied, "random", 5) == play(made(env), "random", 5)


@pytest.mark.parametrize("env_id", ["CliffWalking-v1", "MountainCar-v0", "Pendulum-v1"])
def test_silence_is_no_better_than_random_play_where_steps_cost(env_id: str):
    env = made(env_id)
    totals = {}
    for said in (None, "I would rather not."):
        paid = []
        for seed in range(4):
            env.reset(seed=seed)
            env.inner.action_space.seed(seed)
            total, over = 0.0, False
            while not over:
                word = env.choices.word(env.inner.action_space.sample()) if said is None else said
                _, reward, terminated, truncated, info = env.step(word)
                total, over = total + reward, terminated or truncated
            paid.append(total)
        totals[said] = float(np.mean(paid))
    assert info["success"] is False
    assert totals["I would rather not."] < totals[None] / 3 < 0
    assert totals["I would rather not."] == pytest.approx(env.silence * env.max_turns)


class Costs(gym.Env[int, int]):
    """Each step costs a little, by the process's own generator; ``reset`` needs a level."""

    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def __init__(self, render_mode=None, level=None, cost=0.004):
        self.level, self.cost = level, cost

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.level is None:
            self.level = options["level"]
        return 0, {}

    def step(self, action):
        return 0, -self.cost - 0.001 * np.random.random(), False, False, {}


def test_who_is_asked_what_random_play_pays_is_another_instance():
    gym.register("Costs-v0", Costs, max_episode_steps=5)
    try:
        np.random.seed(3)
        expected = np.random.RandomState(3).random(2)
        found = [made("Costs-v0", env_kwargs={"level": 1}).silence for _ in range(2)]
        assert found == [-0.01, -0.01]  # and not 0: a turn that says nothing is no better than one that plays
        np.testing.assert_array_equal(np.random.random(2), expected)
        asks = made("Costs-v0")  # whose random play cannot begin
        assert asks.silence == 0.0
        asks.reset(seed=0, options={"level": 2})
        assert asks.inner.unwrapped.level == 2
        assert made("Costs-v0", env_kwargs={"level": 1, "cost": float("inf")}).silence == 0.0
    finally:
        del gym.registry["Costs-v0"]


def test_silence_is_no_success_where_that_is_a_sum_below_zero():
    env = made("Pendulum-v1", success_at=-200.0)
    env.reset(seed=0)
    for _ in range(env.max_turns):
        *_, info = env.step("")
    assert info["success"] is False
