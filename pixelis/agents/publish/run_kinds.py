"""The kinds of training run of a language model, told by the settings in their ``config.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.run_settings import RunSettings
from pixelis.agents.settings.sft import SftConfig
from pixelis.errors import ConfigError


@dataclass(frozen=True)
class RunKind:
    """A kind of run.

    Attributes:
        settings: the dataclass of its settings.
        script: what starts it.
        method: how it trains, for people.
        tags: of a model card.
    """

    settings: type[RunSettings]
    script: str
    method: str
    tags: tuple[str, ...]


GRPO = RunKind(
    TrainConfig, "train_agent.py", "trained with GRPO (arXiv:2402.03300)", ("reinforcement-learning", "grpo")
)
PPO = RunKind(
    TrainConfig, "train_agent.py", "trained with PPO (arXiv:1707.06347)", ("reinforcement-learning", "ppo")
)
SFT = RunKind(SftConfig, "train_sft.py", "fine-tuned on demonstrations", ("sft",))
EXPERT = RunKind(
    ExpertConfig,
    "expert_iteration.py",
    "trained with expert iteration (arXiv:1705.08439)",
    ("reinforcement-learning", "expert-iteration"),
)


def kind_of(settings: Mapping[str, Any]) -> RunKind:
    """Return the kind of run that has these settings.

    Raises:
        ConfigError: none has them all.
    """
    for kind in (GRPO, SFT, EXPERT):
        if set(settings) <= {*kind.settings.model_fields}:
            algorithm = settings.get("algorithm") or {}
            return PPO if algorithm == "ppo" or algorithm.get("type") == "ppo" else kind
    raise ConfigError(
        "these settings are of no run of a language model: "
        f"{', '.join(sorted(map(str, settings)))[:200]}; give the folder of a run of train_agent.py, "
        "train_sft.py or expert_iteration.py"
    )
