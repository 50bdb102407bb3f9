"""``scripts/export_model.py``: write a run's model as an ordinary Hugging Face folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.errors import ConfigError

PROGRAM = "export_model.py"
DESCRIPTION = """\
Write the model of a training run, for transformers, vLLM and others: the adapter merged into its base (or
all weights, where these were trained), with the processor and a model card, or the PEFT adapter alone; or the
episodes that it kept, as a dataset. Nothing is written over. What was written can be pushed to the Hub."""
EXAMPLES = """\
examples:
  export_model.py --run runs/zoomread-pixelis-tiny-seed0 --output exported
  export_model.py --run runs/zoomread-pixelis-tiny-seed0/checkpoints/step-00000040 --output step40
  export_model.py --run runs/zoomread-pixelis-tiny-seed0 --output adapter --adapter-only
  export_model.py --run runs/zoomread-pixelis-tiny-seed0 --output played --episodes --push-to-hub me/played"""


class ExportSettings(Settings):
    """The flags of ``export_model.py``."""

    run: str | None = setting(None, "run folder (its newest checkpoint) or one of its checkpoints")
    output: str | None = setting(None, "folder to write, which must not exist")
    adapter_only: bool = setting(False, "the PEFT adapter instead of a merged model")
    episodes: bool = setting(False, "the episodes that the run kept, as a dataset, and no model")
    push_to_hub: str | None = setting(
        None, "repository USER/NAME of the Hugging Face Hub to upload it to, private"
    )
    public: bool = setting(False, "with --push-to-hub: a new repository can be seen by all")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto", "type of the merged weights; auto: that of the run"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_export, words)


def _export(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, ExportSettings, EXAMPLES).read(words)
    if settings.run is None or settings.output is None:
        raise ConfigError(
            "--run and --output are both needed: a run folder, and a folder that does not exist yet"
        )

    if settings.episodes and settings.adapter_only:
        raise ConfigError("--episodes is a dataset and --adapter-only a model; give one of them")
    if settings.dtype != "auto" and (settings.episodes or settings.adapter_only):
        raise ConfigError("--dtype is that of a merged model; leave out --episodes and --adapter-only, or it")
    if settings.public and settings.push_to_hub is None:
        raise ConfigError("--public is read with --push-to-hub only")
    if settings.episodes:
        from pixelis.agents.publish.dataset import export_dataset

        counts = export_dataset(settings.run, settings.output)
        told = ", ".join(f"{count} episodes in {split}" for split, count in counts.items())
        print(f"{settings.output}: {told}")
    else:
        _export_model(settings, settings.run, settings.output)
    if settings.push_to_hub is not None:
        from pixelis.agents.publish.hub import push_folder

        kind = "dataset" if settings.episodes else "model"
        where = push_folder(Path(settings.output), settings.push_to_hub, kind, public=settings.public)
        print(f"pushed: {where}")
    return 0


def _export_model(settings: ExportSettings, run: str, output: str) -> None:
    from pixelis.agents.publish.export import export_model  # slow to import; a wrong flag is told before

    done = export_model(run, output, adapter_only=settings.adapter_only, dtype=settings.dtype)
    what = "merged model" if done.rank is not None else "whole model"
    if settings.adapter_only:
        what = f"adapter of rank {done.rank} for {done.base_model}"
    print(f"{done.folder}: {what}, step {done.step}, {done.size_bytes / 1e6:.1f} MB")
