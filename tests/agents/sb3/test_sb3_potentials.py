"""The potential on what the environment really says, and what it pays over an episode."""

from __future__ import annotations

import gymnasium as gym
import pytest

from pixelis.agents.sb3.vectors import check_sums_matter
from pixelis.envs.pixel.tools.potentials import text_was_read
from pixelis.envs.pixel.zoom_read.env import target_sign
from pixelis.errors import ConfigError
from pixelis.wrappers import DiscreteToolActions, wrap

REWARDS = {
    "orchestrate": False,
    "potential": {"potential": "pixelis.envs.pixel.tools.potentials:text_was_read", "weight": 0.5},
}


def test_what_the_tools_say():
    env = DiscreteToolActions(
        wrap(gym.make("Pixelis/ZoomRead-v0", difficulty=0, reader="truth", disable_env_checker=True), REWARDS)
    )
    env.reset(seed=1)
    scene, sign = target_sign(env.unwrapped.task)
    x, y = (int(16 * place / scene.size) for place in sign.center)
    zoom, read, segment, answer = ([tool, x, y, 2 * (tool == 0), 0] for tool in (0, 1, 2, 4))
    # nothing is legible at first, a list of regions is no reading; then it is read, looked away from, read
    paid = [env.step(action)[1] for action in (read, segment, zoom, read, read, segment, read, answer)]
    assert paid == pytest.approx([0, 0, 0, 0.5, 0, -0.5, 0.5, 1 - 0.5])


def test_what_only_moves_reward_between_turns_is_refused_by_what_compares_episodes():
    for values in (REWARDS, {"orchestrate": False, "progress": {}}):
        with pytest.raises(ConfigError, match=r"only moves reward between the turns .* sb3-grpo"):
            check_sums_matter(values)
    check_sums_matter({"orchestrate": False, "progress": {"at_failure": "keep"}, "penalty": {}})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("K4YH [0.40, 0.41, 0.42, 0.42]", 1),
        ("View [0.28, 0.29, 0.53, 0.54].\nK4YH [0.40, 0.41, 0.42, 0.42]", 1),
        ("View [0.28, 0.29, 0.53, 0.54].", 0),
        ("1: red [0.16, 0.32, 0.24, 0.35]\n2: blue [0.36, 0.41, 0.46, 0.43]", 0),
        ("No text can be read here.", 0),
        ("", 0),
    ],
)
def test_texts(text, value):
    assert text_was_read({"text": text}) == value
