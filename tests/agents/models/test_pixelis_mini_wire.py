"""The shipped adapter that plays WireTrace by what tools say: it loads by name, is small, and plays."""

from __future__ import annotations

import pytest

from pixelis.agents import Policy, evaluate
from pixelis.agents.models.named_models import WIRE_NAME, default_model, shipped_folder, taught
from pixelis.agents.settings.files import SHIPPED, loaded


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load("pixelis-mini-wire", device="cpu")


def test_it_is_a_small_adapter_on_pixelis_mini_tools(policy):
    assert sum(file.stat().st_size for file in shipped_folder(WIRE_NAME).iterdir()) <= 2_000_000
    assert policy.has_adapter and policy.base_name == "pixelis-mini-tools"
    assert not policy.chat.sees_images and policy.max_context == 4096


def test_wire_trace_takes_it_by_default():
    assert set(taught(WIRE_NAME)) == {"Pixelis/WireTrace-v0"}
    assert default_model("Pixelis/WireTrace-v0", shows_images=True) == "pixelis-mini-wire"


@pytest.mark.slow
def test_it_plays_and_has_something_to_learn(policy):
    lesson = loaded((SHIPPED / "lessons/WireTrace.yaml").read_text(encoding="utf-8"))
    found = {
        mode: evaluate(
            policy,
            env=lesson["env"],
            episodes=24,
            mode=mode,
            seed=1,
            env_kwargs={"difficulty": lesson["difficulty"], "reader": "truth"},
            max_new_tokens=lesson["max_new_tokens"],
        ).success_rate
        for mode in ("sampled", "greedy")
    }
    # What docs/reference/pixelis_mini_wire.md tells less three deviations of it; who uses no tool gets 0.
    assert all(0.04 <= rate <= 0.6 for rate in found.values()), found
