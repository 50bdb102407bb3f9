"""The recipe of a model for all pixel environments: its demonstrators, questions and targets are right."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from pixelis_mini_vl.patches import BINS, IGNORE, NOTHING, WORDS, patch_targets
from pixelis_mini_vl.routines import ROUTINES
from pixelis_mini_vl.scenes import Thing, seen_in, tasks_of, things_in

import pixelis  # noqa: F401  (registers the environments)


def _play(env, habit: str, seed: int, options=None) -> float:
    observation, info = env.reset(seed=seed, options=options)
    played = ROUTINES[env.spec.id.split("/")[1].removesuffix("-v0")](
        env.unwrapped, habit, np.random.default_rng(seed)
    )
    reward, ended = 0.0, False
    while not ended:
        observation, paid, terminated, truncated, info = env.step(played.act(observation, info))
        reward, ended = reward + float(paid), terminated or truncated
    return reward


@pytest.mark.parametrize("name", ROUTINES)
def test_a_careful_routine_solves_every_question_about_a_scene(name):
    env = gym.make(f"Pixelis/{name}-v0", difficulty=0, reader="truth", split="train")
    env.reset(seed=3)
    tasks = list(tasks_of(env.unwrapped.task, np.random.default_rng(0)))
    assert len({task["question"] for task in tasks}) == len(tasks) >= 1
    assert len(tasks) > 1 or name in ("SizeCompare", "TrackRead")
    for task in tasks[:3]:
        assert _play(env, "careful", 3, {"task": task}) == 1, task["question"]


@pytest.mark.parametrize("name", ROUTINES)
def test_habits_are_shares_and_flaws_lose(name):
    habits = ROUTINES[name].habits
    assert sum(habits.values()) == pytest.approx(1, abs=0.02)
    env = gym.make(f"Pixelis/{name}-v0", difficulty=0, reader="truth", split="train")
    assert _play(env, "answer_at_once" if "answer_at_once" in habits else "no_zoom", 8) in (0, 1)
    assert min(_play(env, habit, 8) for habit in habits) == 0


def test_patches_say_what_covers_them():
    things = [
        Thing("red", (0.0, 0.0, 0.125, 0.125), (0.06, 0.06)),
        Thing("page", (0.5, 0.5, 1.0, 1.0), (0.75, 0.97)),
    ]
    targets = patch_targets(things).reshape(8, 8, 3)
    assert targets[0, 0].tolist() == [WORDS.index("red"), 1, 1]
    assert targets[7, 7].tolist() == [WORDS.index("page"), 15, BINS - 1]
    assert (targets[4:, 4:, 0] == WORDS.index("page")).all()
    assert targets[0, 1].tolist() == [NOTHING, IGNORE, IGNORE]
    assert (targets[..., 0] == NOTHING).sum() == 64 - 1 - 16


@pytest.mark.parametrize(
    "name", ["ZoomRead", "SizeCompare", "TrackRead", "ReceiptSum", "WireTrace", "ChartRead"]
)
def test_what_is_seen_is_in_the_first_view(name):
    env = gym.make(f"Pixelis/{name}-v0", difficulty=0, reader="truth", split="train").unwrapped
    env.reset(seed=1)
    assert seen_in(env.task)
    for thing in things_in(env.task):
        x0, y0, x1, y1 = thing.box
        assert x0 < x1 and y0 < y1 and max(thing.place) <= 1 and min(thing.place) >= 0
