"""``scripts/export_model.py``: write a run's model as an ordinary Hugging Face folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.errors import ConfigError

PROGRAM = "export_model.py"
DESCRIPTION = """\
Write the model of a training run, for transformers, vLLM and others: the adapter merged into its base (or
all weights, where these were trained), with the processor and a model card, or the PEFT adapter alone.
Nothing is written over."""
EXAMPLES = """\
examples:
  export_model.py --run runs/zoomread-pixelis-tiny-seed0 --output exported
  export_model.py --run runs/zoomread-pixelis-tiny-seed0/checkpoints/step-00000040 --output step40
  export_model.py --run runs/zoomread-pixelis-tiny-seed0 --output adapter --adapter-only"""


class ExportSettings(Settings):
    """The flags of ``export_model.py``."""

    run: str | None = setting(None, "run folder (its newest checkpoint) or one of its checkpoints")
    output: str | None = setting(None, "folder to write, which must not exist")
    adapter_only: bool = setting(False, "the PEFT adapter instead of a merged model")
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

    from pixelis.agents.publish.export import export_model  # slow to import; a wrong flag is told before

    done = export_model(
        settings.run, settings.output, adapter_only=settings.adapter_only, dtype=settings.dtype
    )
    what = "merged model" if done.rank is not None else "whole model"
    if settings.adapter_only:
        what = f"adapter of rank {done.rank} for {done.base_model}"
    print(f"{done.folder}: {what}, step {done.step}, {done.size_bytes / 1e6:.1f} MB")
    return 0
