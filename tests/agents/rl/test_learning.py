"""The trainer must learn: a toy with a known optimum, a random model, seconds."""

from __future__ import annotations

import pytest
from lasting import lasts

from pixelis.agents.rl.run import TrainingRun

CHANCE, ALWAYS_THE_SAME, BEST = 1 / 8, 1 / 4, 1.0  # rewards a turn: eight letters are known, four are shown
COMMON = {
    "steps": 70,
    "lr": 0.003,
    "groups": 8,
    "group_size": 8,
    "max_new_tokens": 1,
    "micro_batch_size": 64,
    "checkpoint_every": 1000,
}


def learn(config, goal):
    """Train until the goal is reached and kept, and return the mean reward of each step."""
    rewards = []
    with TrainingRun.start(config) as run:
        run.train(
            on_step=lambda row: rewards.append(row["reward/mean"]),
            should_stop=lambda: lasts(rewards, goal),
        )
    return rewards


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"beta": 0.01}, id="kl to the reference"),
        pytest.param(
            {"beta": 0.0, "epochs": 2, "loss": {"surrogate": {"epsilon_high": 0.3}}},
            id="two epochs, clip-higher",
        ),
        pytest.param(
            {
                "beta": 0.0,
                "loss": {"aggregation": "constant"},
                "algorithm": {"scale": "none"},
                "steps": 100,
            },
            id="dr grpo",
        ),
        pytest.param(
            {"beta": 0.0, "loss": {"aggregation": "sequence_mean"}, "algorithm": {"scale": "batch"}},
            id="sequence mean",
        ),
        pytest.param({"beta": 0.0, "epochs": 2, "loss": {"surrogate": "dual_clip"}}, id="dual clip"),
        pytest.param(
            {"beta": 0.0, "epochs": 2, "loss": {"surrogate": {"type": "cispo", "epsilon_high": 4.0}}},
            id="cispo",
        ),
        pytest.param({"beta": 0.0, "epochs": 2, "loss": {"surrogate": "sapo"}}, id="sapo"),
        pytest.param(
            {"beta": 0.0, "epochs": 2, "loss": {"ratio": "sequence", "aggregation": "sequence_mean"}},
            id="gspo",
        ),
        pytest.param(
            {"beta": 0.0, "epochs": 2, "algorithm": {"scale": "leave_one_out"}, "steps": 100},
            id="leave one out",
        ),
        pytest.param(
            {
                "beta": 0.01,
                "loss": {"kl": {"estimator": "k1", "place": "reward"}},
                "epochs": 2,
                "algorithm": {"scale": "leave_one_out"},
            },
            id="rloo with the kl in the reward",
        ),
        pytest.param(
            {"beta": 0.01, "loss": {"kl": {"estimator": "k1", "ratio": True}}, "epochs": 2},
            id="k1 times the ratio",
        ),
        pytest.param({"beta": 0.0, "loss": {"correction": "truncate"}, "epochs": 2}, id="truncated weights"),
        pytest.param(
            {"beta": 0.0, "loss": {"correction": {"type": "mask", "level": "sequence"}}, "epochs": 2},
            id="masked weights of sequences",
        ),
    ],
)
def test_the_toy_is_learnt(toy_config, changes):
    rewards = learn(toy_config(**COMMON | changes), 0.85 * BEST)
    assert rewards[0] < 2 * CHANCE
    assert sum(rewards[-10:]) / 10 > 0.85 * BEST


@pytest.mark.slow
def test_two_turns_are_learnt(toy_config):
    config = toy_config(**COMMON | {"steps": 100, "micro_batch_size": 8}, beta=0.0, env_kwargs={"turns": 2})
    rewards = learn(config, 2 * 2 * ALWAYS_THE_SAME)
    assert rewards[0] < 2 * 2 * CHANCE
    assert sum(rewards[-10:]) / 10 > 2 * 2 * ALWAYS_THE_SAME
