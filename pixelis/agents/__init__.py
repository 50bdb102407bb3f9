"""Agents: language models that learn by GRPO, PPO and SFT, and the ways to train and evaluate them.

The names are listed in docs/reference/public_names.md and imported when they are used: no torch before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.agents.api import evaluate as evaluate
    from pixelis.agents.api import train as train
    from pixelis.agents.episodes.episode import Episode as Episode
    from pixelis.agents.models.loading import find_folder as find_folder
    from pixelis.agents.models.lora import LoraSettings as LoraSettings
    from pixelis.agents.models.named_models import tiny_folder as tiny_folder
    from pixelis.agents.models.policy import Policy as Policy
    from pixelis.agents.rl.run import TrainingRun as TrainingRun
    from pixelis.agents.rollout.collector import Collector as Collector
    from pixelis.agents.rollout.collector import EpisodeRequest as EpisodeRequest
    from pixelis.agents.rollout.sampling import SamplingSettings as SamplingSettings
    from pixelis.agents.runs.callbacks import EarlyStopping as EarlyStopping
    from pixelis.agents.runs.evaluate import Evaluation as Evaluation
    from pixelis.agents.runs.evaluate import evaluation_table as evaluation_table
    from pixelis.agents.sb3.config import Sb3Config as Sb3Config
    from pixelis.agents.sb3.run import Sb3Run as Sb3Run
    from pixelis.agents.settings.expert import ExpertConfig as ExpertConfig
    from pixelis.agents.settings.rl import TrainConfig as TrainConfig
    from pixelis.agents.settings.sft import SftConfig as SftConfig
    from pixelis.agents.sft.expert.run import ExpertRun as ExpertRun
    from pixelis.agents.sft.run import SftRun as SftRun

__getattr__, __dir__, __all__ = lazy_exports(__name__)
