"""What any Gymnasium environment can keep of the contract: each fault is found by its clause."""

from __future__ import annotations

import json
import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pixelis.envs import check_env
from pixelis.envs.check.check import main


class Walk(gym.Env[Any, Any]):
    """A good one: a walk of five steps from a place that is drawn."""

    observation_space = gym.spaces.Box(-10, 10, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.left = float(self.draw()), 5
        return self.seen(), {}

    def draw(self) -> float:
        return self.np_random.uniform(-1, 1)

    def seen(self) -> Any:
        return np.array([self.place], np.float32)

    def step(self, action: Any) -> Any:
        self.place += 2 * int(action) - 1
        self.left -= 1
        return self.seen(), self.reward(), self.left == 0, False, {"success": self.place > 0}

    def reward(self) -> float:
        return 0.0

    def players(self) -> Any:
        return {"oracle": lambda env: Says(1), "nothing": lambda env: Says(0)}


class Says:
    def __init__(self, action: int) -> None:
        self.action = action

    def act(self, observation: Any, info: Any) -> int:
        return self.action


class FromTheGlobalOne(Walk):
    def draw(self) -> float:
        return random.uniform(-1, 1)


class OfNumPys(Walk):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        np.random.seed(seed)
        return super().reset(seed=seed)

    def draw(self) -> float:
        return np.random.uniform(-1, 1)


class TakesNoSeed(Walk):
    """Draws by one of its own, which no seed reaches: six resets, six places, whatever the seed."""

    def __init__(self) -> None:
        self.own = np.random.default_rng(7)

    def draw(self) -> float:
        return self.own.uniform(-1, 1)


class IgnoresTheSeed(Walk):
    """Every seed is the same episode; without one it is another."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None if seed is None else 0)


class OutsideItsSpace(Walk):
    def seen(self) -> Any:
        return np.array([self.place + 100], np.float32)


class PaysNothingThatCounts(Walk):
    def reward(self) -> float:
        return float("nan")


class KeepsItsPlaceInTheClass(Walk):
    """Two of them disturb each other."""

    steps = 0

    def seen(self) -> Any:
        type(self).steps += 1
        return np.array([type(self).steps % 7], np.float32)


class PaysItsFloor(Walk):
    def players(self) -> Any:
        return {"oracle": lambda env: Says(0), "nothing": lambda env: Says(1)}


class NothingIsDrawn(Walk):
    def draw(self) -> float:
        return 0.25


FAULTS: dict[type[Walk], set[str]] = {
    Walk: set(),
    NothingIsDrawn: set(),
    FromTheGlobalOne: {"same_seed_same_bytes", "global_randomness_is_left_alone", "threads_equal_sync"},
    OfNumPys: {"global_randomness_is_left_alone"},
    TakesNoSeed: {"global_randomness_is_left_alone"},
    IgnoresTheSeed: {"seeds_matter"},
    OutsideItsSpace: {"spaces_are_honest"},
    PaysNothingThatCounts: {"spaces_are_honest"},
    KeepsItsPlaceInTheClass: {"same_seed_same_bytes"},
    PaysItsFloor: {"players_keep_their_places"},
}


@pytest.mark.filterwarnings("ignore")  # what the checker has to say of spaces
@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_each_fault_is_found_by_its_clause(kind: type[Walk]):
    report = check_env(kind, seeds=6, processes=False)
    found = {finding.clause for finding in report.failures}
    assert FAULTS[kind] <= found, str(report)
    assert found - FAULTS[kind] <= EVEN_SO.get(kind, set()), str(report)
    assert all(finding.remedy and finding.expected for finding in report.failures)


EVEN_SO: dict[type[Walk], set[str]] = {
    FromTheGlobalOne: {"gymnasium_checker", "pickles"},
    OfNumPys: {"same_seed_same_bytes", "threads_equal_sync", "gymnasium_checker"},
    TakesNoSeed: {"threads_equal_sync", "pickles", "same_seed_same_bytes", "gymnasium_checker"},
    IgnoresTheSeed: {"gymnasium_checker"},
    OutsideItsSpace: {"gymnasium_checker"},
    PaysNothingThatCounts: {"gymnasium_checker", "same_seed_same_bytes", "global_randomness_is_left_alone"}
    | {"threads_equal_sync", "pickles"},
    KeepsItsPlaceInTheClass: {"threads_equal_sync", "gymnasium_checker", "seeds_matter", "pickles"}
    | {"global_randomness_is_left_alone"},
}
"""Where the same fault shows as well: NaN is equal to nothing, and an order of threads is luck."""


def test_gymnasium_s_own_and_what_is_said_of_it(capsys: pytest.CaptureFixture[str]):
    words = ["Pixelis/Gymnasium-v0", "--make", "env=FrozenLake-v1", "--seeds", "3", "--no-processes"]
    assert main([*words, "--make", 'env_kwargs={"is_slippery": false}', "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] and told["figures"]["of"] == "random actions" and told["figures"]["steps"] > 0
    (players,) = [one for one in told["findings"] if one["clause"] == "players_keep_their_places"]
    assert players["numbers"]["oracle"] == 1.0 and players["numbers"]["nothing"] == 0.0


def test_warnings_of_the_checker_are_plain_text_each_once():
    report = check_env("CartPole-v1", seeds=2, processes=False)
    (said,) = [finding.measured for finding in report.findings if finding.clause == "gymnasium_checker"]
    lowest, highest = said.split("; ")
    assert lowest.startswith("A Box observation space minimum value is") and "maximum" in highest
    assert said.isprintable() and "WARN" not in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_processes_play_the_same():
    report = check_env("CartPole-v1", seeds=2)
    assert report.ok, str(report)
