"""Who plays the episodes of training: this process, or workers of Ray (docs/guide/scaling.md)."""

from __future__ import annotations

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.base import setting
from pixelis.agents.settings.run_settings import RolloutRunSettings
from pixelis.errors import ConfigError


class PlayedSettings(RolloutRunSettings):
    """What a run has besides whose episodes others can play."""

    groups_at_once: int | None = setting(
        None,
        "groups that are played together; null: all of a process, or of a worker",
        ge=1,
        identity=False,
        more=True,
    )
    workers: int | None = setting(
        None, "workers of Ray that play; null: this process does", ge=1, identity=False, more=True
    )
    ray_address: str | None = setting(
        None,
        "Ray cluster that has them; auto: one that runs here; null: one is started",
        identity=False,
        more=True,
    )
    worker_threads: int = setting(1, "threads, and processors, of a worker", ge=1, identity=False, more=True)
    worker_gpus: float = setting(
        0.0, "GPUs, or what share of one, a worker has", ge=0, identity=False, more=True
    )
    worker_labels: dict[str, str] = setting(
        {}, "labels of Ray that their nodes must have, e.g. {browser: here}", identity=False, more=True
    )
    worker_timeout_seconds: float = setting(
        1800.0, "a worker that is silent for longer is replaced", gt=0, identity=False, more=True
    )
    max_staleness: int = setting(
        0, "steps by which workers may play ahead, with older weights", ge=0, more=True
    )

    @model_validator(mode="after")
    def _check_workers(self) -> Self:
        if self.workers is None:
            self.refuse_changed(OF_WORKERS, "without workers")
            return self
        parts = -(-self.groups // (self.groups_at_once or 1))
        if parts < self.workers:
            raise ConfigError(
                f"workers must be at most {parts}, got {self.workers}: {self.groups} groups"
                + (f", {self.groups_at_once} of them at once," if self.groups_at_once else "")
                + " are no more pieces; set more --groups, or fewer workers"
            )
        return self


OF_WORKERS = (
    "ray_address",
    "worker_threads",
    "worker_gpus",
    "worker_labels",
    "worker_timeout_seconds",
    "max_staleness",
)
"""Settings that nothing reads without ``workers``."""
