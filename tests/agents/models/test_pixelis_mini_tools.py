"""The shipped model that plays by what tools say: it loads by name, is small, and plays with flaws."""

from __future__ import annotations

import pytest

from pixelis.agents import Policy, evaluate
from pixelis.agents.models.named_models import TOOLS_NAME, default_model, shipped_folder

# Least success of 40 held-out tasks, sampled: docs/reference/pixelis_mini_tools.md less three deviations.
FLOORS = {"Pixelis/SizeCompare-v0": 0.15, "Pixelis/ReceiptSum-v0": 0.05}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load("pixelis-mini-tools", device="cpu")


def test_it_is_small_and_ships_with_the_package(policy):
    assert sum(file.stat().st_size for file in shipped_folder(TOOLS_NAME).iterdir()) <= 12_000_000
    assert not policy.chat.sees_images and policy.max_context == 4096


def test_pixel_environments_that_it_was_taught_take_it_by_default():
    assert default_model("Pixelis/ReceiptSum-v0", shows_images=True) == "pixelis-mini-tools"
    assert default_model("Pixelis/ZoomRead-v0", shows_images=True) == "pixelis-tiny"
    assert default_model("Pixelis/CountTiny-v0", shows_images=True) == "pixelis-tiny"


@pytest.mark.slow
@pytest.mark.parametrize("env", FLOORS)
def test_it_plays_and_has_something_to_learn(policy, env):
    chosen = {"env_kwargs": {"reader": "truth"}, "max_new_tokens": 128}
    result = evaluate(policy, env=env, episodes=40, mode="sampled", seed=1, **chosen)
    assert FLOORS[env] <= result.success_rate < 0.85
