"""What the pixel environments' tools declare, for tests of reward terms by hand."""

from __future__ import annotations

from pixelis.envs.pixel.base.video_tools import VIDEO_TOOLS
from pixelis.rewards.terms.coherence import CoherenceTerm
from pixelis.rewards.terms.penalties import PenaltyTerm
from pixelis.rewards.terms.traits import RewardTraits

PIXEL_TRAITS = RewardTraits(1.0, None, {tool.name: tool.traits for tool in VIDEO_TOOLS}, frozenset({"TRACK"}))


def penalty_term(**settings):
    """Return the term as a pixel environment adapts it."""
    term = PenaltyTerm(**settings)
    term.adapt(PIXEL_TRAITS)
    return term


def coherence_term(**settings):
    """Return the term as a pixel environment adapts it."""
    term = CoherenceTerm(**settings)
    term.adapt(PIXEL_TRAITS)
    return term
