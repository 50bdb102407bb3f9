"""The frame of every trainer, around steps that are a random walk of the adapter's weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.saved_run import ADAPTER, PROGRESS
from pixelis.agents.runs.metrics import Row, comparable_metrics, read_metrics
from pixelis.agents.runs.stepper import Stepper
from pixelis.agents.settings.run_settings import RunSettings
from pixelis.errors import CheckpointError, ConfigError, LostProcessError, TrainingError


class Walk(Stepper[RunSettings]):
    """Each step adds noise to the first weight and keeps the distance in each of the three ways."""

    def __init__(self, config: RunSettings, policy: Policy, run: RunFolder) -> None:
        super().__init__(config, policy, run)
        self.weight = policy.trainable_parameters()[0]
        self.distance, self.longest, self.seen = torch.zeros(()), 0.0, 0
        self.written: list[int] = []

    @property
    def total_steps(self) -> int:
        return 5

    def take_step(self, number: int) -> Row:
        noise = torch.randn_like(self.weight)
        with torch.no_grad():
            self.weight += noise
        self.distance += noise.norm()
        self.longest, self.seen = max(self.longest, float(noise.norm())), number
        return {"walk/number": number, "walk/distance": float(self.distance), "walk/longest": self.longest}

    def after_step(self) -> None:
        self.written.append(len(read_metrics(self.run.metrics)))

    def state_dict(self) -> dict[str, Any]:
        return {"distance": self.distance}

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        self.distance = tensors["distance"]

    def progress(self) -> dict[str, Any]:
        return {"longest": self.longest}

    def load_progress(self, progress: Mapping[str, Any]) -> None:
        if progress["longest"] < 0:
            raise CheckpointError("no distance is negative")
        self.longest = float(progress["longest"])

    def save_files(self, folder: Path) -> None:
        (folder / "seen.txt").write_text(str(self.seen))

    def load_files(self, folder: Path) -> None:
        self.seen = int((folder / "seen.txt").read_text())


Make = Callable[..., Walk]


@pytest.fixture
def make(tmp_path: Path, text_folder: Path) -> Make:
    """Return a builder of walks in a folder, each with a policy of its own."""

    def make_walk(name: str, checkpoint: Path | None = None, kind: type[Walk] = Walk, **changes: Any) -> Walk:
        config = RunSettings(**{"checkpoint_every": 2, "keep_checkpoints": 9, **changes})
        path = tmp_path / name
        run = RunFolder(path) if path.exists() else RunFolder.create(path, config.to_mapping())
        torch.manual_seed(0)
        adapter = checkpoint / ADAPTER if checkpoint else text_folder
        policy = Policy.load(adapter, device="cpu", lora=None if checkpoint else LoraSettings(rank=2))
        walk = kind(config, policy, run)
        if checkpoint:
            torch.manual_seed(99)  # what the process did before must not matter
            walk.load_checkpoint(checkpoint)
        return walk

    return make_walk


def names(walk: Walk) -> list[str]:
    return [path.name for path in list_checkpoints(walk.run.checkpoints)]


def test_steps_are_numbered_timed_written_down_and_told(make: Make):
    walk, told = make("walk"), []
    walk.train(told.append)
    assert [row["step"] for row in told] == [row["walk/number"] for row in told] == [1, 2, 3, 4, 5]
    assert read_metrics(walk.run.metrics) == told
    assert walk.written == [1, 2, 3, 4, 5]  # after each row, before the next step
    assert (
        walk.elapsed_seconds
        == told[-1]["time/elapsed"]
        == pytest.approx(sum(row["time/step"] for row in told))
    )
    assert names(walk) == [f"step-0000000{step}" for step in (0, 2, 4, 5)]
    saved = json.loads((walk.run.checkpoints / "step-00000005" / PROGRESS).read_text())
    assert list(saved) == ["step", "elapsed_seconds", "longest", "alarms", "identity", "digest"]
    assert (saved["step"], saved["longest"]) == (5, walk.longest)


def test_it_stops_where_it_is_told_to_and_when_time_is_up(make: Make):
    walk = make("walk")
    walk.train(should_stop=lambda: walk.finished_steps == 3)
    assert walk.finished_steps == 3 and names(walk)[-1] == "step-00000003"
    late = make("late", minutes=1e-9)
    late.train()
    assert late.finished_steps == 1 and names(late) == ["step-00000000", "step-00000001"]


def test_going_on_from_a_checkpoint_changes_nothing_and_drops_what_came_after(make: Make):
    whole = make("whole")
    whole.train()
    broken = make("broken")
    broken.train(should_stop=lambda: broken.finished_steps == 3)
    again = make("broken", broken.run.checkpoints / "step-00000002")
    assert (again.finished_steps, again.seen) == (2, 2) and again.elapsed_seconds > 0
    assert names(again) == ["step-00000000", "step-00000002"]
    again.train()
    assert comparable_metrics(again.run.metrics) == comparable_metrics(whole.run.metrics)
    assert torch.equal(again.weight, whole.weight) and names(again) == names(whole)


class Deserted(Walk):
    """A walk whose others are lost in step 4, before it has changed anything but the random numbers."""

    can_go_back, error = True, LostProcessError("process 1 of 2 is gone")

    def take_step(self, number: int) -> Row:
        if number == 4:
            torch.randn(3)
            raise type(self.error)(*self.error.args)
        return super().take_step(number)

    def go_back(self) -> bool:
        return self.can_go_back


def test_where_others_are_lost_the_finished_steps_are_saved_and_it_goes_on_to_the_same_numbers(make: Make):
    whole = make("whole", checkpoint_every=99)
    whole.train()
    lost = make("lost", kind=Deserted, checkpoint_every=99)
    with pytest.raises(LostProcessError, match=r"is gone; step 3, the last one, has been saved$"):
        lost.train()
    assert names(lost) == ["step-00000000", "step-00000003"]
    again = make("lost", lost.run.checkpoints / "step-00000003", checkpoint_every=99)
    again.train()
    assert comparable_metrics(again.run.metrics) == comparable_metrics(whole.run.metrics)
    assert torch.equal(again.weight, whole.weight)


@pytest.mark.parametrize(
    ("changes", "every"),
    [
        ({"can_go_back": False}, 2),  # it has begun to learn
        ({"error": TrainingError("updates are not finite")}, 2),
        ({}, 3),  # it is saved already
    ],
)
def test_nothing_is_saved_beside_what_is_there(changes: dict[str, Any], every: int, make: Make):
    lost = make("lost", kind=type("Changed", (Deserted,), changes), checkpoint_every=every)
    with pytest.raises(TrainingError) as caught:
        lost.train()
    assert "saved" not in str(caught.value) and names(lost) == ["step-00000000", f"step-0000000{every}"]


def test_a_trainer_without_a_learning_rate_cannot_lower_it(make: Make):
    with pytest.raises(
        ConfigError, match=r"on_alarm lower_lr needs a learning rate, and Walk has none .*warn"
    ):
        make("walk", on_alarm="lower_lr")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"identity": None}, "does not say which settings"),
        ({"identity": {"seed": 4}}, "other settings: seed was 4 and is 0"),
        ({"longest": -1.0}, "^no distance is negative$"),
        ({"longest": "far"}, "does not fit this version .TypeError"),
        ({"alarms": {"watch": 3}}, "does not fit this version .TypeError"),
        ({"step": None}, "does not fit this version .TypeError"),
    ],
)
def test_a_checkpoint_that_does_not_fit(change: dict[str, Any], message: str, make: Make):
    walk = make("walk")
    checkpoint = walk.save()
    saved = json.loads((checkpoint / PROGRESS).read_text())
    (checkpoint / PROGRESS).write_text(json.dumps({**saved, **change}))
    with pytest.raises(CheckpointError, match=message):
        make("walk", checkpoint)


def test_a_checkpoint_that_lacks_an_entry(make: Make):
    checkpoint = make("walk").save()
    saved = json.loads((checkpoint / PROGRESS).read_text())
    del saved["longest"]
    (checkpoint / PROGRESS).write_text(json.dumps(saved))
    with pytest.raises(CheckpointError, match=r"does not fit this version \(KeyError: 'longest'"):
        make("walk", checkpoint)
