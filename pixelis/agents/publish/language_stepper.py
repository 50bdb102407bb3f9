"""What every trainer of a language model does with weights: a card beside them, the newest at hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pixelis.agents.publish.model_card import model_card, read_facts
from pixelis.agents.run_files.saved_run import trained_in
from pixelis.agents.runs.stepper import Stepper
from pixelis.agents.settings.run_settings import RunSettings
from pixelis.files import write_atomically, writing

C = TypeVar("C", bound=RunSettings)
CARD = "README.md"


class LanguageStepper(Stepper[C]):
    """A trainer of a language model; see `Stepper`."""

    def describe(self, trained: Path, progress: Mapping[str, Any]) -> None:
        """Write the model card beside the weights."""
        facts = read_facts(
            self.run,
            self.config.to_mapping(),
            progress,
            self.policy.base_name if self.policy.has_adapter else self.policy.trained_from,
            sees_images=self.policy.chat.sees_images,
            model_class=type(self.policy.base).__name__,
            adapter_only=self.policy.has_adapter,
        )
        with writing(trained / CARD):
            write_atomically(trained / CARD, model_card(facts))

    def after_evaluation(self) -> None:
        """Let the card of the weights in the run folder say who did how well."""
        trained = trained_in(self.run.path)
        if trained.is_dir():
            self.describe(trained, {"step": self.finished_steps, "elapsed_seconds": self.elapsed_seconds})

    def after_save(self, checkpoint: Path) -> None:
        """Leave the newest weights in the run folder."""
        leave_weights(self.run.path, checkpoint)


def leave_weights(run: Path, checkpoint: Path) -> Path:
    """Put a checkpoint's adapter (or whole model) into the run folder under its own short name; return it.

    It is written aside and renamed. Weights of whole models are linked rather than copied where the file
    system can: they are never changed in place.

    Raises:
        OutputError: it cannot be written.
    """
    source = trained_in(checkpoint)
    final = run / source.name
    fresh, old = (run / f".{source.name}.{what}" for what in ("unfinished", "old"))
    with writing(run, intact=checkpoint.name):
        for path in (fresh, old):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(source, fresh, copy_function=_link)
        if final.exists():
            os.rename(final, old)
        os.rename(fresh, final)
        shutil.rmtree(old, ignore_errors=True)
    return final


def _link(source: str, target: str) -> None:
    """Link a file of weights; copy a small one, or where links cannot be made."""
    if source.endswith(".safetensors"):
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
    else:
        shutil.copyfile(source, target)
