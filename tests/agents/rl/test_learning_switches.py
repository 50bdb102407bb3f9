"""The toy is learnt with each way to make a batch."""

from __future__ import annotations

import pytest
from lasting import lasts

from pixelis.agents.rl.run import TrainingRun

CHANCE, ALWAYS_THE_SAME = 1 / 8, 1 / 4  # rewards a turn, see test_learning.py


@pytest.mark.slow
@pytest.mark.parametrize(
    ("turns", "goal", "changes"),
    [
        pytest.param(
            2,
            2 * ALWAYS_THE_SAME,
            {"steps": 40, "algorithm": {"credit": {"type": "turn", "gamma": 0.5}}},
            id="turn credit",
        ),
        pytest.param(1, 0.85, {"steps": 50, "algorithm": {"refill_episodes": 64}}, id="refill"),
        pytest.param(
            1, 0.85, {"steps": 50, "algorithm": {"replay": {"ratio": 0.5, "staleness": 3}}}, id="replay"
        ),
        pytest.param(
            1,
            0.85,
            # divided by the deviation, even the smallest bonus would be all that zero-variance groups are
            # compared by
            {
                "steps": 60,
                "shaping": {
                    "bonus": {"name": "distinct_answers"},
                    "advantage_clip": 2.0,
                    "mask_truncated": True,
                },
                "algorithm": {"scale": "none"},
            },
            id="bonus and clip",
        ),
    ],
)
def test_the_toy_is_learnt(toy_config, turns, goal, changes):
    rewards = []
    common = {"lr": 0.003, "groups": 8, "group_size": 8, "max_new_tokens": 1, "beta": 0.0}
    config = toy_config(
        **common, **changes, env_kwargs={"turns": turns}, micro_batch_size=64, checkpoint_every=1000
    )
    with TrainingRun.start(config) as run:
        run.train(
            on_step=lambda row: rewards.append(row["reward/mean"] / turns),
            should_stop=lambda: lasts(rewards, goal),
        )
    assert rewards[0] < 2 * CHANCE
    assert sum(rewards[-10:]) / 10 > goal
