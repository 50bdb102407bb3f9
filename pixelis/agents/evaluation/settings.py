"""What the commands ask that let models play tasks: how a model plays, what is played, on which device."""

from __future__ import annotations

from typing import Any, Literal

from pixelis.agents.settings.base import Settings, setting
from pixelis.agents.settings.endpoint import EndpointSettings


class EvaluationSettings(Settings):
    """Settings that commands share; one that is to be listed before them stands in a second base class."""

    mode: Literal["both", "greedy", "sampled"] = setting("both", "how a model chooses tokens")
    temperature: float | None = setting(
        None, "sampling temperature; null: as the run had it, else 1", gt=0, le=10
    )
    top_p: float | None = setting(None, "nucleus sampling; null: as the run had it, else 1", gt=0, le=1)
    max_new_tokens: int | None = setting(
        None, "longest turn, in tokens; null: as the run had it, else 64, 1024 at an address", ge=1
    )

    env: str | None = setting(None, "Gymnasium id of the environment; null: that of the run")
    env_kwargs: dict[str, Any] = setting({}, "keyword arguments for gym.make, in place of those of the run")
    split: Literal["train", "test"] = setting("test", "which tasks")
    episodes: int = setting(200, "how many tasks, one episode each", ge=1)
    seed: int = setting(0, "decides what a sampling model says", ge=0)

    device: str = setting("auto", "auto, cpu, cuda or cuda:N")
    dtype: Literal["float32", "bfloat16", "float16", "auto"] | None = setting(
        None, "type of the weights; null: as the run had it, else float32"
    )
    batch_size: int = setting(32, "episodes a model plays at the same time", ge=1)
    endpoint: EndpointSettings = setting(EndpointSettings(), "a model at an address", more=True)
