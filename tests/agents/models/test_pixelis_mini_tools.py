"""The shipped model that plays by what tools say: it loads by name, is small, and plays with flaws."""

from __future__ import annotations

import pytest

from pixelis.agents import Policy, evaluate
from pixelis.agents.models.named_models import TOOLS_NAME, default_model, shipped_folder

# Least success of 40 tasks, sampled and greedy: docs/reference/pixelis_mini_tools.md less three deviations.
LEVELS = {0: (0.27, 0.75), 1: (0.13, 0.6)}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load("pixelis-mini-tools", device="cpu")


def test_it_is_small_and_ships_with_the_package(policy):
    assert sum(file.stat().st_size for file in shipped_folder(TOOLS_NAME).iterdir()) <= 12_000_000
    assert not policy.chat.sees_images and policy.max_context == 4096


def test_the_environment_that_it_was_taught_takes_it_by_default():
    assert default_model("Pixelis/SizeCompare-v0", shows_images=True) == "pixelis-mini-tools"
    assert default_model("Pixelis/ZoomRead-v0", shows_images=True) == "pixelis-tiny"
    assert default_model("Pixelis/ReceiptSum-v0", shows_images=True) == "pixelis-tiny"


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", LEVELS)
def test_it_plays_and_has_something_to_learn(policy, difficulty):
    """Its likeliest turns are careful, of those that are sampled half have a flaw."""
    found = {
        mode: evaluate(
            policy,
            env="Pixelis/SizeCompare-v0",
            episodes=40,
            mode=mode,
            seed=1,
            env_kwargs={"difficulty": difficulty},
            max_new_tokens=160,
        ).success_rate
        for mode in ("sampled", "greedy")
    }
    sampled, greedy = LEVELS[difficulty]
    assert sampled <= found["sampled"] < 0.75 and found["greedy"] >= greedy
