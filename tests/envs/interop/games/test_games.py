"""Games of TextArena and GEM: said and played in words, each with randomness of its own."""

from __future__ import annotations

import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pixelis.envs.interop.games.game_env import GameEnv, Move
from pixelis.envs.interop.randomness import GlobalRandomness
from pixelis.errors import ActionTypeError, ConfigError, UnknownEnvError

TEXTARENA, GEM = "Pixelis/TextArena-v0", "Pixelis/Gem-v0"
NUMBER = {TEXTARENA: "GuessTheNumber-v0", GEM: "game:GuessTheNumber-v0-hard"}
GUESS = {TEXTARENA: "[{}]", GEM: "\\boxed{{{}}}"}


def made(env_id: str, game: str | None = None, **keywords: Any) -> GameEnv:
    game = NUMBER[env_id] if game is None else game
    return gym.make(env_id, game=game, **keywords).unwrapped  # type: ignore[return-value]


def by_halves(env: GameEnv, env_id: str, seed: int) -> tuple[float, bool, list[str]]:
    """Play Guess the Number as one should; return what it pays, whether it is won, and what was said."""
    read = [env.reset(seed=seed)[0]["text"]]
    low, high, reward, info = 1, 20 if env_id == TEXTARENA else 50, 0.0, {}
    while "success" not in info:
        middle = (low + high) // 2
        seen, reward, *_, info = env.step(GUESS[env_id].format(middle))
        read.append(seen["text"])
        low, high = (low, middle - 1) if "lower" in seen["text"] else (middle + 1, high)
    return reward, info["success"], read


@pytest.mark.parametrize("env_id", [TEXTARENA, GEM])
def test_the_number_is_found_by_halves_and_pays_one_at_the_end(env_id: str):
    env = made(env_id)
    for seed in range(6):
        reward, success, read = by_halves(env, env_id, seed)
        assert (reward, success) == (1.0, True)
        assert "Guess The Number" in read[0] and len(read) <= 8
        assert all("Guess The Number" not in text for text in read[1:])  # the rules are said once


@pytest.mark.parametrize("env_id", [TEXTARENA, GEM])
def test_the_same_seed_is_the_same_game_whatever_is_played_beside_it(env_id: str):
    alone = [by_halves(made(env_id), env_id, seed) for seed in (3, 4)]
    one, other = made(env_id), made(env_id)
    one.reset(seed=3)
    other.reset(seed=4)
    random.seed(99)
    np.random.seed(99)
    assert [by_halves(one, env_id, 3), by_halves(other, env_id, 4)] == alone and alone[0] != alone[1]
    kept = random.getstate()
    one.reset(seed=5)
    one.step(GUESS[env_id].format(7))
    assert random.getstate() == kept


def test_what_a_game_pays_for_half_the_way_is_paid_only_where_it_is_wanted():
    for partial, wanted in ((False, 0.0), (True, 0.5)):
        env = made(TEXTARENA, "RushHour-v0", partial=partial)
        env.reset(seed=0)
        env.step("nothing of sense")
        _, reward, terminated, _, info = env.step("nothing of sense")  # the second invalid move ends the game
        assert terminated and (reward, info["success"]) == (wanted, False)
        assert info["game"]["reward"] == 0.5 and info["game"]["invalid_move"] is True


def test_a_game_that_mixes_up_its_arguments_pays_nothing():
    """``Countdown-v0`` of TextArena 0.7.4 tells its reason as the reward."""
    env = made(TEXTARENA, "Countdown-v0", partial=True)
    env.reset(seed=0)
    env.step("?")
    _, reward, terminated, _, info = env.step("?")
    assert (reward, terminated, info["success"]) == (0.0, True, False) and "raised" not in info


def test_games_that_print_are_silent(capfd: pytest.CaptureFixture[str]):
    env = made(TEXTARENA, "RushHour-v0")
    capfd.readouterr()
    for seed in range(3):
        env.reset(seed=seed)
    assert capfd.readouterr().out == ""


class Breaking(GameEnv):
    """Raises for one word, and says how often it was asked."""

    def __init__(self, partial: bool = False) -> None:
        super().__init__(max_turns=3, success_at=1.0, partial=partial)

    def begin(self, seed: int) -> str:
        return f"Say a number below {random.randint(2, 9)}."

    def play(self, action: str) -> Move:
        if action == "boom":
            raise KeyError("no such word")
        return Move("more", 0.5)


def test_a_game_that_raises_is_lost_and_no_error():
    env = Breaking()
    env.reset(seed=0)
    seen, reward, terminated, truncated, info = env.step("boom")
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)
    assert info["raised"] == "KeyError: 'no such word'" and "cannot go on" in seen["text"]
    with pytest.raises(gym.error.ResetNeeded):
        env.step("more")
    with pytest.raises(ActionTypeError, match="got int"):
        env.step(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("partial", "rewards"), [(False, [0.0, 0.0, 1.0]), (True, [0.5, 0.5, 0.5])])
def test_turns_are_counted_and_a_sum_makes_a_success(partial: bool, rewards: list[float]):
    env = Breaking(partial)
    env.reset(seed=0)
    steps = [env.step("x" * 9000) for _ in range(3)]
    assert [step[1] for step in steps] == rewards
    assert [step[3] for step in steps] == [False, False, True] and steps[-1][4]["success"] is True


@pytest.mark.filterwarnings("ignore::UserWarning")  # what the checker has to say of any text environment
@pytest.mark.parametrize("env_id", [TEXTARENA, GEM])
def test_gymnasium_s_own_check_and_the_floors(env_id: str):
    env = made(env_id)
    check_env(env, skip_render_check=True)
    for name in env.players():
        wins = 0
        for seed in range(10):
            observation, info = env.reset(seed=seed)
            player = env.players()[name](env)
            while "success" not in info:
                observation, *_, info = env.step(player.act(observation, info))
            wins += info["success"]
        assert wins <= 5, name


@pytest.mark.parametrize(
    ("env_id", "game", "error", "message"),
    [
        (TEXTARENA, "GuessTheNumbr-v0", UnknownEnvError, "Did you mean 'GuessTheNumber-v0'"),
        (TEXTARENA, "ConnectFour-v0", ConfigError, "cannot be played alone here: .*2"),
        (TEXTARENA, "GuessWho-v0", ConfigError, "OPENROUTER_API_KEY"),
        (GEM, "game:GuessTheNumber-v0", UnknownEnvError, "Did you mean 'game:GuessTheNumber-v0-"),
        (GEM, "math:GSM8K", UnknownEnvError, "no game 'math:GSM8K'"),
    ],
)
def test_a_game_that_cannot_be_played_is_one_clear_error(env_id: str, game: str, error: Any, message: str):
    with pytest.raises(error, match=message):
        made(env_id, game)
    with pytest.raises(ConfigError, match="cannot be played"):
        made(env_id, game_kwargs={"numbers_of_mine": 3, "min_number": "x"})


def test_a_state_of_the_generators_is_given_back_also_when_a_game_raises():
    own = GlobalRandomness(7)
    random.seed(1)
    first = random.getstate()
    with pytest.raises(KeyError), own.lent():
        drawn = random.random()
        raise KeyError
    assert random.getstate() == first
    with own.lent():
        again = random.random()
    assert drawn == random.Random(7).random() and again != drawn
