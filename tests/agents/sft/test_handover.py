"""From SFT to GRPO: the adapter is where GRPO starts, and what its KL penalty is measured from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import peft
import pytest
import torch
from transformers import AutoModelForCausalLM

from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.run import SftRun

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
IDS = torch.tensor([[1, 2, 3, 4]])


@pytest.fixture
def adapter(sft_config: Callable[..., SftConfig], tmp_path: Path) -> Path:
    """An adapter that SFT trained far from the base."""
    with SftRun.start(sft_config(output=str(tmp_path / "sft"), steps=10)) as run:
        run.train()
    return run.adapter


@pytest.fixture
def grpo_config(
    adapter: Path, toy_config: Callable[..., TrainConfig], tmp_path: Path
) -> Callable[..., TrainConfig]:
    settings = {"model": str(adapter), "output": str(tmp_path / "grpo"), "groups": 2, "beta": 0.1}
    return lambda **changes: toy_config(**settings | changes)


def logits(policy: Policy) -> torch.Tensor:
    with torch.no_grad():
        return policy.model(IDS).logits


@pytest.fixture
def started(grpo_config: Callable[..., TrainConfig]) -> Iterator[TrainingRun]:
    with TrainingRun.start(grpo_config()) as run:
        yield run


def test_grpo_starts_where_sft_ended(started: TrainingRun, adapter: Path, letter_model: Path):
    trained = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(letter_model), str(adapter))
    with torch.no_grad():
        expected = trained(IDS).logits
        bare = AutoModelForCausalLM.from_pretrained(letter_model)(IDS).logits
    torch.testing.assert_close(logits(started.policy), expected)
    assert (expected - bare).abs().max() > 0.1


def test_the_reference_is_the_sft_policy_and_stays_so(started: TrainingRun):
    before = logits(started.policy)
    started.train()
    with started.policy.reference():
        reference = logits(started.policy)
    assert torch.equal(reference, before)
    assert (logits(started.policy) - before).abs().max() > 1e-3
    first, *_, last = read_metrics(started.folder.metrics)
    assert first["policy/kl_reference"] == pytest.approx(0.0, abs=1e-6)  # to the bare base it would be large
    assert last["policy/kl_reference"] > 0


def test_only_the_adapter_learns_not_its_copy(started: TrainingRun):
    names = [name for name, each in started.policy.model.named_parameters() if each.requires_grad]
    assert names and all(".default." in name for name in names)
    with started.policy.reference():
        pass
    assert [name for name, each in started.policy.model.named_parameters() if each.requires_grad] == names


def test_a_resumed_run_has_the_same_reference(grpo_config: Callable[..., TrainConfig], tmp_path: Path):
    whole = grpo_config(output=str(tmp_path / "whole"), steps=4)
    with TrainingRun.start(whole) as run:
        run.train()
    with TrainingRun.start(grpo_config(steps=2)) as run:
        run.train()
    halved = TrainConfig.from_mapping(settings_of(run.folder.path)).with_values(steps=4)
    with TrainingRun.resume(run.folder.path, halved) as run:
        run.train()

    rows = [comparable_metrics(tmp_path / name / "metrics.jsonl") for name in ("grpo", "whole")]
    assert rows[0] == rows[1] and len(rows[0]) == 4


def test_a_new_run_from_grpos_adapter_takes_that_as_its_reference(
    started: TrainingRun, grpo_config: Callable[..., TrainConfig], tmp_path: Path
):
    started.train()
    newest = latest_checkpoint(started.folder.checkpoints) / "adapter"
    again = grpo_config(model=str(newest), output=str(tmp_path / "again"))
    with TrainingRun.start(again) as run, run.policy.reference():
        torch.testing.assert_close(logits(run.policy), logits(started.policy))


def test_without_a_penalty_or_a_trained_adapter_nothing_is_copied(
    grpo_config: Callable[..., TrainConfig], letter_model: Path, tmp_path: Path
):
    changes = [{"beta": 0.0}, {"model": str(letter_model)}]
    for index, change in enumerate(changes):
        with TrainingRun.start(grpo_config(output=str(tmp_path / str(index)), **change)) as run:
            assert list(run.policy.model.peft_config) == ["default"]


def test_a_second_copy_replaces_the_first(letter_model: Path):
    policy = Policy.load(letter_model, device="cpu", lora=LoraSettings(rank=2))
    policy.freeze_reference()
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.add_(0.3)
    policy.freeze_reference()
    with policy.reference():
        copied = logits(policy)
    assert torch.equal(copied, logits(policy))
