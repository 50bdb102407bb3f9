"""The same trainer on a vision-language model: pictures in the first and in later turns."""

from __future__ import annotations

import pytest
import torch
from lasting import lasts

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics


@pytest.fixture
def config(toy_config, vision_folder):
    return toy_config(
        env="toy_env:Toy/Picture-v0",
        model=str(vision_folder),
        steps=2,
        max_new_tokens=6,
        micro_batch_size=5,
        lr=0.003,
    )


def test_steps_with_pictures(config):
    with TrainingRun.start(config) as run:
        before = [weight.clone() for weight in run.policy.trainable_parameters()]
        run.train()
    rows = read_metrics(run.folder.metrics)
    assert all(row["policy/mismatch"] < 1e-4 for row in rows)
    assert all(row["policy/grad_norm"] > 0 for row in rows)
    assert all(row["turns/mean"] == 2 and row["episodes/invalid"] == 0 for row in rows)
    changed = [
        not torch.equal(one, two) for one, two in zip(before, run.policy.trainable_parameters(), strict=True)
    ]
    assert any(changed)


@pytest.mark.parametrize(
    "changes", [{"algorithm": {"credit": "turn", "replay": {"ratio": 0.5}}}, {"algorithm": "ppo"}]
)
def test_stored_pictures_and_values_survive_a_stop(config, tmp_path, changes):
    rows = []
    for name, stops in (("whole", [3]), ("halves", [2, 3])):
        settings = config.with_values(output=str(tmp_path / name), steps=3, **changes)
        with TrainingRun.start(settings) as run:
            trainer = run.trainer
            run.train(should_stop=lambda: trainer.finished_steps >= stops[0])  # noqa: B023
        if len(stops) > 1:
            with TrainingRun.resume(settings.output, settings) as run:
                run.train()
        rows.append(comparable_metrics(run.folder.metrics))
    assert rows[0] == rows[1] and len(rows[0]) == 3
    assert changes["algorithm"] == "ppo" or rows[0][-1]["replay/drawn"] > 0


@pytest.mark.slow
def test_a_vision_model_learns(config):
    """Small letters are 26 of 262 tokens; the policy finds out that they pay."""
    rewards = []

    def risen():
        return len(rewards) >= 10 and lasts(rewards, sum(rewards[:5]) / 5 + 0.5, 5)

    changes = {"steps": 30, "groups": 4, "group_size": 8, "beta": 0.0, "lr": 0.01, "micro_batch_size": 32}
    with TrainingRun.start(config.with_values(**changes)) as run:
        run.train(on_step=lambda row: rewards.append(row["reward/mean"]), should_stop=risen)
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.5
