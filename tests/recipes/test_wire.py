"""The recipe of pixelis-mini-wire: who follows a cable by words alone, and words that need no picture."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from pixelis_mini_tools.wire import AROUND, PORTS, Follower, WireTrace
from pixelis_mini_tools.wire_measure import right_steps
from pixelis_mini_tools.wire_words import Told, from_the_port_on, lookups, unrendered

import pixelis  # noqa: F401 (it registers the environments)
from pixelis.agents import Policy
from pixelis.envs.pixel.base.scripted_turns import answer
from pixelis.envs.pixel.wire_trace.env import asked_cable

ROOT = Path(__file__).resolve().parents[2]


def _env(reader: str = "truth"):
    return gym.make("Pixelis/WireTrace-v0", difficulty=0, reader=reader, disable_env_checker=True).unwrapped


def test_care_follows_two_in_three_cables_and_is_right_where_one_cable_alone_has_the_colour():
    env, right, alone = _env(), [], []
    for seed in range(16):
        observation, info = env.reset(seed=seed)
        player, over = WireTrace(env, "careful", np.random.default_rng(seed)), False
        scene = asked_cable(env.task)[0]
        while not over:
            observation, _, terminated, truncated, info = env.step(player.act(observation, info))
            over = terminated or truncated
        right.append(info["success"])
        colour = player.follower.colour
        if scene.colours.count(colour) == 1:
            alone.append(info["success"])
        assert player.follower.found and colour in scene.colours
    assert all(alone) and len(alone) >= 4 and np.mean(right) >= 0.5


def test_the_follower_knows_nothing_but_words():
    follower = Follower("AB3C", "careful", "XXXX")
    first = follower.say("In which port does the cable end that starts at port AB3C?")
    assert first.startswith("AB3C? ") and first.count("READ_TEXT") == 2
    found = follower.say("View [0.00, 0.00, 0.34, 0.34].\nAB3C [0.21, 0.06, 0.23, 0.07]")
    assert found.startswith("AB3C [0.21, 0.06. ") and '"center": [0.21, 0.06], "factor": 8' in found
    looks = follower.say(
        "View [0.15, 0.00, 0.27, 0.12].\n1: yellow [0.18, 0.06, 0.26, 0.08]\n2: red [0.22, 0.09, 0.22, 0.12]"
    )
    assert (
        looks.startswith("AB3C 2: red [start. Asked: red [start. <tool_call>")
        and looks.count('"factor": 8') == 2
    )
    seen = (
        "View [0.35, 0.00, 0.47, 0.12].\nKL4M [0.40, 0.06, 0.43, 0.07]\n"
        "3: yellow [0.38, 0.06, 0.45, 0.08]\n4: {} [0.41, 0.09, 0.42, 0.12]"
    )
    on = follower.say(seen.format("blue"))
    assert on.startswith("KL4M 4: blue [KL4M. Asked: red [start. <tool_call>")
    assert follower.say(seen.format("red")) == f"KL4M 4: red [KL4M. Asked: red [KL4M. {answer('KL4M')}"


def test_words_without_a_picture_are_the_tools_words_but_for_a_hundredth():
    env, same, lines = _env(), 0, 0
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        told = Told(asked_cable(env.task)[0], np.random.default_rng(0))
        player, over = WireTrace(env, "careful", np.random.default_rng(seed)), False
        while not over:
            said = player.act(observation, info)
            observation, _, terminated, truncated, info = env.step(said)
            over = terminated or truncated
            if over:
                break
            for real, made in zip(observation["text"].split("\n"), told.to(said).split("\n"), strict=True):
                assert re.sub(r"[\d.]+[,\]]", "", real) == re.sub(r"[\d.]+[,\]]", "", made)
                numbers = [[float(each) for each in re.findall(r"\d\.\d\d", line)] for line in (real, made)]
                np.testing.assert_allclose(*numbers, atol=0.0151)
                same, lines = same + (real == made), lines + 1
    assert same >= 0.6 * lines


def test_demonstrations_are_of_mixed_quality_and_the_likeliest_habit_fails_more_often():
    found: dict[str, list[bool | None]] = defaultdict(list)
    for one in unrendered(range(300)):
        found[one.habit].append(one.success)
    assert set(found) == set(WireTrace.habits)
    assert max(WireTrace.habits, key=lambda habit: WireTrace.habits[habit]) == "impatient"
    assert np.mean(found["careful"]) >= 0.6 and 0.15 <= np.mean(found["impatient"]) <= 0.4
    assert not any(found["same_half"]) and not any(found["answer_at_once"])
    assert next(unrendered(range(5, 6))) == next(unrendered(range(5, 6)))


def test_an_episode_may_begin_where_the_port_was_found():
    turns = next(one.turns for one in unrendered(range(100)) if len(one.turns) > 5)
    short = from_the_port_on(turns)
    assert short[0][0].startswith(f"{turns[0][0]}\nView [") and '"factor": 8' in short[0][1]
    assert short[1:] == turns[-len(short) + 1 :] and len(short) < len(turns)
    assert from_the_port_on(turns[:1]) == ()


def test_a_drill_answers_the_port_of_the_pair_that_has_the_colour_or_names_the_first():
    for seed in range(20):
        _, ((_, first), *steps) = lookups(np.random.default_rng(seed))
        colour = first.split()[1]
        assert first == f"Asked: {colour} [start. "
        for given, said in steps:
            has = re.findall(rf"(\w+) \d+: {colour} ", given)
            end = f"<answer>{has[0]}</answer>" if has else ""
            assert said == f"Asked: {colour} [{(has or ['start'])[0]}. {end}"


def test_every_port_is_looked_at_and_every_label_is_read():
    assert len(set(PORTS)) == 16 and len(set(AROUND)) == 8


@pytest.mark.slow
def test_the_command_writes_an_adapter(tmp_path):
    command = [sys.executable, "scripts/pretrain_mini_wire.py", "--output", str(tmp_path / "made")]
    subprocess.run([*command, "--steps", "2", "--batch-size", "2"], cwd=ROOT, check=True, timeout=300)
    policy = Policy.load(tmp_path / "made", device="cpu")
    assert right_steps(policy, range(2))["answer"][1] == 2
    assert policy.has_adapter and policy.base_name == "pixelis-mini-tools"
