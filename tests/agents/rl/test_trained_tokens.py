"""What an update reads: a group's prompt once, told by two counters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from letter_model import build_letter_model

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.batch import make_batch
from pixelis.agents.rl.gradient import BatchGradient, UpdateSettings
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rl.update import Updater

PROMPT, COMPLETION, MEMBERS = 1024, 128, 8


def group(number: int, prompt: int, completions: list[int]) -> list[Episode]:
    """Return a group's episodes: one prompt of random letters, members of other lengths and rewards."""
    draw = np.random.default_rng(number)
    first = Segment.given(draw.integers(0, 8, prompt))
    return [
        Episode(
            "Toy", number, number, m, [first, Segment.written(draw.integers(0, 8, length))], reward=float(m)
        )
        for m, length in enumerate(completions)
    ]


def updated(policy: Policy, groups: list[list[Episode]], beta: float = 0.0, **settings: Any) -> Any:
    """Return the metrics of a real update."""
    episodes = [episode for each in groups for episode in each]
    batch = make_batch(
        episodes, groups=len(groups), group_size=len(groups[0]), max_completion_length=COMPLETION
    )
    optimiser = Optimiser(policy.trainable_parameters(), lr=1e-3)
    return Updater(
        optimiser, BatchGradient(policy, UpdateSettings(LossSettings(beta=beta), **settings))
    ).update(batch, episodes)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder = build_letter_model(tmp_path_factory.mktemp("model"), context=2048)
    torch.manual_seed(0)
    return Policy.load(folder, device="cpu", lora=LoraSettings(rank=2))


def test_a_long_prompt_is_read_once_for_its_group(policy: Policy):
    row = updated(policy, [group(0, PROMPT, [COMPLETION] * MEMBERS)])
    assert row["tokens/trained"] == PROMPT + MEMBERS * COMPLETION == 2048
    assert row["tokens/trained_unshared"] == MEMBERS * (PROMPT + COMPLETION) == 9216
    assert row["tokens/trained_unshared"] / row["tokens/trained"] >= 4
    assert row["policy/grad_norm"] > 0


def test_groups_stay_together_in_micro_batches(policy: Policy):
    # sorted by length alone every micro-batch would mix the four groups and read every prompt
    groups = [group(number, 100, [3 + number, 10, 20 + number, 40]) for number in range(4)]
    row = updated(policy, groups, micro_batch_size=4)
    written = sum(episode.completion_length for each in groups for episode in each)
    assert row["tokens/trained"] == 4 * 100 + written
    assert row["tokens/trained_unshared"] == 16 * 100 + written
    # half a group at a time: each prompt twice
    assert updated(policy, groups, micro_batch_size=2)["tokens/trained"] == 8 * 100 + written


def test_neither_the_reference_nor_later_epochs_are_counted(policy: Policy):
    groups = [group(0, 10, [4, 4])]
    row = updated(policy, groups, beta=0.1, epochs=3)
    assert (row["tokens/trained"], row["tokens/trained_unshared"]) == (18, 28)


def test_the_generic_path_counts_its_padding(policy: Policy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(policy.__dict__, "shares_prefixes", False)
    row = updated(policy, [group(0, 10, [4, 6])])
    assert (row["tokens/trained"], row["tokens/trained_unshared"]) == (32, 30)


def test_every_step_of_a_run_logs_both(toy_config: Any, tmp_path: Path):
    with TrainingRun.start(toy_config(output=str(tmp_path / "run"))) as run:
        row, _, batch = run.trainer.step()
    assert row["tokens/trained_unshared"] == sum(map(len, batch.episodes)) > 0
    groups = {each.group: len(each.segments[0]) for each in batch.episodes}
    written = sum(each.completion_length for each in batch.episodes)
    assert row["tokens/trained"] == sum(groups.values()) + written


def test_nothing_to_train_on_is_nothing_read(policy: Policy):
    flat = group(0, 10, [4, 4])
    for episode in flat:
        episode.reward = 1.0
    row = updated(policy, [flat])
    assert (row["tokens/trained"], row["tokens/trained_unshared"]) == (0, 0)
