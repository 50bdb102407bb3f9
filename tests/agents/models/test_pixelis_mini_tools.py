"""The shipped model that plays by what tools say: it loads by name, is small, and plays with flaws."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pixelis.agents import Policy, evaluate
from pixelis.agents.models.named_models import TOOLS_NAME, default_model, shipped_folder, taught
from pixelis.agents.settings.files import SHIPPED, loaded

# Environment → least success of 40 tasks of its lesson, sampled and greedy, and tokens a turn: what
# docs/reference/pixelis_mini_tools.md tells less three deviations. READ_TEXT answers from the scene's truth.
LESSONS: Mapping[str, tuple[float, float, int]] = {
    "SizeCompare": (0.24, 0.24, 160),
    "CountTiny": (0.31, 0.34, 96),
    "ChartRead": (0.29, 0.29, 192),
    "ReceiptSum": (0.12, 0.24, 256),
    "TrackRead": (0.12, 0.26, 128),
}
MOST = 0.8
"""What leaves something to learn."""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load("pixelis-mini-tools", device="cpu")


def test_it_is_small_and_ships_with_the_package(policy):
    assert sum(file.stat().st_size for file in shipped_folder(TOOLS_NAME).iterdir()) <= 12_000_000
    assert not policy.chat.sees_images and policy.max_context == 4096


def test_the_environments_that_it_was_taught_take_it_by_default():
    names = {"SizeCompare", "ReceiptSum", "TrackRead", "AskImage", "CountTiny", "ChartRead"}
    assert set(taught(TOOLS_NAME)) == {f"Pixelis/{name}-v0" for name in names}
    for name in names:
        assert default_model(f"Pixelis/{name}-v0", shows_images=True) == "pixelis-mini-tools"
    assert default_model("Pixelis/ZoomRead-v0", shows_images=True) == "pixelis-tiny"
    assert default_model("Pixelis/WireTrace-v0", shows_images=True) == "pixelis-mini-wire"


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_it_plays_and_has_something_to_learn(policy, name):
    """Of what is sampled in a lesson half has a flaw, and of the likeliest turns too."""
    sampled, greedy, tokens = LESSONS[name]
    lesson = loaded((SHIPPED / f"lessons/{name}.yaml").read_text(encoding="utf-8"))
    found = {
        mode: evaluate(
            policy,
            env=f"Pixelis/{name}-v0",
            episodes=40,
            mode=mode,
            seed=1,
            env_kwargs={"difficulty": lesson["difficulty"], "reader": "truth"},
            max_new_tokens=tokens,
        ).success_rate
        for mode in ("sampled", "greedy")
    }
    assert sampled <= found["sampled"] <= MOST and greedy <= found["greedy"] <= MOST
