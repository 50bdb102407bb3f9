"""Expert iteration: what is kept, that it is learnt, and that a stopped run goes on the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from lasting import lasts

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.seeds import task_seeds
from pixelis.agents.models.policy import Policy
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.metrics import comparable_metrics
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.sft.expert.run import ExpertRun
from pixelis.agents.sft.expert.selection import select
from pixelis.errors import ConfigError

CHANCE = 1 / 8  # eight letters are known


def played(group: int, member: int, reward: float, sampled: int = 1, **fields: object) -> Episode:
    segments = [Segment.given([1, 2]), Segment.written([3] * sampled)]
    return Episode("", group, group, member, segments, reward=reward, **fields)  # type: ignore[arg-type]


def places(episodes: list[Episode]) -> list[tuple[int, int]]:
    return [(episode.group, episode.member) for episode in episodes]


ROUND = [
    played(1, 0, 0.5),
    played(1, 1, 1.0),
    played(1, 2, 1.0),  # as good, and later
    played(0, 0, 0.0),
    played(0, 1, -1.0),
    played(2, 0, math.nan),
    played(2, 1, 2.0, valid_for_training=False),
    played(2, 2, 3.0, sampled=0),
    played(2, 3, 0.25),
]


def test_the_best_of_each_task_is_kept():
    assert places(select(ROUND)) == [(1, 1), (2, 3)]
    assert places(select(ROUND, min_reward=0.25)) == [(1, 1)]
    assert places(select(ROUND, min_reward=-2.0)) == [(0, 0), (1, 1), (2, 3)]


def test_all_that_earned_more_are_kept():
    assert places(select(ROUND, "all")) == [(1, 0), (1, 1), (1, 2), (2, 3)]
    assert places(select(ROUND, "all", min_reward=0.5)) == [(1, 1), (1, 2)]
    assert select([], "all") == []


def train(config: ExpertConfig, until: int | None = None) -> ExpertRun:
    with ExpertRun.start(config) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps == until)
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"select": "best", "steps": 60}, id="best of 8"),
        pytest.param({"select": "all", "batch_size": 64, "steps": 60}, id="all that succeeded"),
    ],
)
def test_the_toy_is_learnt(changes: dict[str, object], expert_config: Callable[..., ExpertConfig]):
    rewards: list[float] = []
    with ExpertRun.start(expert_config(**changes)) as run:
        run.train(
            on_step=lambda row: rewards.append(row["reward/mean"]),
            should_stop=lambda: lasts(rewards, 0.85),
        )
    assert rewards[0] < 2 * CHANCE
    assert sum(rewards[-10:]) / 10 > 0.85


@pytest.mark.parametrize("changes", [{}, {"restart": True, "epochs": 2, "select": "all"}])
def test_a_run_that_was_stopped_equals_one_that_was_not(
    changes: dict[str, object], expert_config: Callable[..., ExpertConfig], tmp_path: Path
):
    whole = train(expert_config(output=str(tmp_path / "whole"), **changes))
    stopped = train(expert_config(**changes), until=2)
    assert len(comparable_metrics(stopped.folder.metrics)) == 2
    with ExpertRun.resume(
        stopped.folder.path, ExpertConfig.from_mapping(settings_of(stopped.folder.path))
    ) as again:
        again.train()
    assert comparable_metrics(again.folder.metrics) == comparable_metrics(whole.folder.metrics)
    assert all(
        row["expert/kept"] >= row["expert/tasks_kept"] > 0 for row in comparable_metrics(whole.folder.metrics)
    )


def test_a_round_without_success_changes_nothing(expert_config: Callable[..., ExpertConfig]):
    with ExpertRun.start(expert_config(min_reward=1.0, steps=2)) as run:
        before = [parameter.detach().clone() for parameter in run.policy.trainable_parameters()]
        run.train()
        assert all(map(torch.equal, before, run.policy.trainable_parameters()))
    assert [
        (row["expert/kept"], row["train/updates"], row["train/loss"])
        for row in comparable_metrics(run.folder.metrics)
    ] == [(0, 0, None)] * 2


def test_each_round_starts_from_the_first_adapter_if_asked(expert_config: Callable[..., ExpertConfig]):
    with ExpertRun.start(expert_config(restart=True, steps=1, lr=0.01, warmup_steps=0)) as run:
        start = [parameter.detach().clone() for parameter in run.policy.trainable_parameters()]
        run.train()
        after = [parameter.detach().clone() for parameter in run.policy.trainable_parameters()]
        assert not all(map(torch.equal, start, after))
        trainer = run.trainer
        trainer._go_back_to_start()
        assert all(map(torch.equal, start, run.policy.trainable_parameters()))
        assert trainer.learner.steps == 0


def test_the_tasks_are_those_of_grpo(expert_config: Callable[..., ExpertConfig]):
    with ExpertRun.start(expert_config(seed=5)) as run:
        episodes = run.trainer._play(3)
    assert [episode.seed for episode in episodes[::8]] == task_seeds(5, 3, 8)
    assert Policy.load(run.folder.path / "checkpoints" / "step-00000000" / "adapter").has_adapter


def test_an_environment_is_needed(expert_config: Callable[..., ExpertConfig]):
    with pytest.raises(ConfigError, match="env must be"):
        expert_config(env=None)
