"""Reward terms and graders of answers, with no import of an environment or of Gymnasium.

The names are listed in docs/reference/public_names.md and imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.rewards.answers.choices import choice_index as choice_index
    from pixelis.rewards.answers.choices import choice_matches as choice_matches
    from pixelis.rewards.answers.choices import set_matches as set_matches
    from pixelis.rewards.answers.choices import split_items as split_items
    from pixelis.rewards.answers.dates import Date as Date
    from pixelis.rewards.answers.dates import parse_date as parse_date
    from pixelis.rewards.answers.places import box_iou as box_iou
    from pixelis.rewards.answers.places import box_matches as box_matches
    from pixelis.rewards.answers.places import parse_box as parse_box
    from pixelis.rewards.answers.places import parse_point as parse_point
    from pixelis.rewards.answers.places import point_matches as point_matches
    from pixelis.rewards.answers.quantity import NumberTolerance as NumberTolerance
    from pixelis.rewards.answers.quantity import Quantity as Quantity
    from pixelis.rewards.answers.quantity import number_matches as number_matches
    from pixelis.rewards.answers.quantity import parse_quantity as parse_quantity
    from pixelis.rewards.answers.text import normalise_text as normalise_text
    from pixelis.rewards.answers.text import phrase_matches as phrase_matches
    from pixelis.rewards.answers.text import text_matches as text_matches
    from pixelis.rewards.answers.typed import ANSWER_TYPES as ANSWER_TYPES
    from pixelis.rewards.answers.typed import TypedAnswer as TypedAnswer
    from pixelis.rewards.curiosity.dynamics import InverseModel as InverseModel
    from pixelis.rewards.curiosity.dynamics import LoRADynamicsModel as LoRADynamicsModel
    from pixelis.rewards.curiosity.term import CuriosityTerm as CuriosityTerm
    from pixelis.rewards.stack.stack import RewardStack as RewardStack
    from pixelis.rewards.stack.stack import build_stack as build_stack
    from pixelis.rewards.terms.coherence import CoherenceTerm as CoherenceTerm
    from pixelis.rewards.terms.function import FunctionTerm as FunctionTerm
    from pixelis.rewards.terms.penalties import PenaltyTerm as PenaltyTerm
    from pixelis.rewards.terms.potential import PotentialTerm as PotentialTerm
    from pixelis.rewards.terms.potential import ProgressTerm as ProgressTerm
    from pixelis.rewards.terms.registry import make_term as make_term
    from pixelis.rewards.terms.term import RewardTerm as RewardTerm
    from pixelis.rewards.terms.term import Transition as Transition
    from pixelis.rewards.terms.traits import RewardTraits as RewardTraits
    from pixelis.rewards.terms.traits import ToolTraits as ToolTraits

__getattr__, __dir__, __all__ = lazy_exports(__name__)
