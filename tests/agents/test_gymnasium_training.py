"""An environment that knows nothing of language models is trained on by the ordinary command, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelis.agents import evaluate, train

LAKE = {"env": "FrozenLake-v1", "env_kwargs": {"is_slippery": False}, "max_turns": 4}


def test_the_oracle_and_the_floors_are_played_by_name():
    kwargs = {**LAKE, "max_turns": 10}
    found = [
        evaluate(name, env="Pixelis/Gymnasium-v0", env_kwargs=kwargs, episodes=6)
        for name in ("oracle", "nothing")
    ]
    assert [each.success_rate for each in found] == [1.0, 0.0]


@pytest.mark.slow
def test_a_step_of_grpo(text_folder: Path, tmp_path: Path):
    run = train(
        env="Pixelis/Gymnasium-v0",
        env_kwargs=LAKE,
        model=str(text_folder),
        steps=1,
        groups=2,
        group_size=2,
        max_new_tokens=6,
        eval_episodes=0,
        output=str(tmp_path / "run"),
    )
    (row,) = run.metrics
    assert row["episodes/invalid"] == 0 and row["turns/mean"] > 1
