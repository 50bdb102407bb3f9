"""Gymnasium wrappers: reward terms of `pixelis.rewards`, a recorder, and turns as numbers.

Vector twins have the same names in ``pixelis.wrappers.vector``. The names are listed in
docs/reference/public_names.md and imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.wrappers.discrete.discrete_tool_actions import DiscreteToolActions as DiscreteToolActions
    from pixelis.wrappers.recording.files import read_trajectories as read_trajectories
    from pixelis.wrappers.recording.record import RecordTrajectory as RecordTrajectory
    from pixelis.wrappers.recording.replay import Replayer as Replayer
    from pixelis.wrappers.recording.rescore import rescore as rescore
    from pixelis.wrappers.reward.orchestrator import RewardOrchestrator as RewardOrchestrator
    from pixelis.wrappers.reward.term_reward import CoherenceReward as CoherenceReward
    from pixelis.wrappers.reward.term_reward import CuriosityReward as CuriosityReward
    from pixelis.wrappers.reward.term_reward import TermReward as TermReward
    from pixelis.wrappers.reward.term_reward import ToolPenalty as ToolPenalty
    from pixelis.wrappers.scoring.order import layers as layers
    from pixelis.wrappers.stacking import wrap as wrap

__getattr__, __dir__, __all__ = lazy_exports(__name__)
