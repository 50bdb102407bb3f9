"""The agents learn: on a toy of milliseconds, to measure first and then to answer with the larger."""

from __future__ import annotations

import pytest
from lasting import lasts

from pixelis.agents.sb3.run import Sb3Run

BARS = {
    "env": "bar_env:Toy/Bars-v0",
    "env_kwargs": {},
    "difficulty": None,
    "n_envs": 8,
    "batch_size": 64,
    "lr": 0.003,
    "eval_episodes": 100,
    "checkpoint_every": 1000,
    "sample_every": 1000,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "how", "steps"),
    [
        ("sb3-ppo", {"n_steps": 32, "epochs": 4}, 40),
        ("sb3-grpo", {"groups": 16, "group_size": 8, "epochs": 4}, 30),
    ],
)
def test_it_measures_and_then_answers(tiny, agent, how, steps):
    """Guessing is right in half of the episodes that answer with a bar; a perfect policy always is."""
    rates = []
    with Sb3Run.start(tiny(agent, how, **BARS, steps=steps)) as run:
        run.train(
            on_step=lambda row: rates.append(row["success/rate"]),
            should_stop=lambda: lasts(rates, 0.93, 3),  # who does not measure has half of it
        )
        greedy = run.evaluate("after")[0]
    assert greedy.success_rate >= 0.85
    assert greedy.tool_calls["SEGMENT"] >= 0.85
