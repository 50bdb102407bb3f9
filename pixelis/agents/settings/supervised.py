"""The settings that supervised runs have in common: SFT and expert iteration."""

from __future__ import annotations

from dataclasses import dataclass

from pixelis.agents.settings.options import option
from pixelis.agents.settings.run_settings import UPDATE, RunSettings


@dataclass(frozen=True)
class SupervisedConfig(RunSettings):
    """Rows that every supervised run has besides those of every run."""

    batch_size: int = option(UPDATE, 16, "demonstrations an optimiser step", "[1, inf)")
    packing: bool = option(UPDATE, False, "several demonstrations in one row, without seeing each other")
    pack_length: int | None = option(
        UPDATE, None, "tokens a packed row holds; none: as the longest demonstration of the step", "[1, inf)"
    )
