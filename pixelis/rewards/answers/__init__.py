"""Comparing an answer with the truth: texts, numbers, choices, sets, boxes and points.

Every comparison reads an answer in one way at most, so an answer that lists several candidates matches none
of them. Nothing is evaluated, and an answer longer than the limit of its type matches nothing, so a hostile
one costs little.
"""

from pixelis.rewards.answers.choices import choice_index, choice_matches, set_matches, split_items
from pixelis.rewards.answers.dates import Date, parse_date
from pixelis.rewards.answers.places import box_iou, box_matches, parse_box, parse_point, point_matches
from pixelis.rewards.answers.quantity import NumberTolerance, Quantity, number_matches, parse_quantity
from pixelis.rewards.answers.text import normalise_text, phrase_matches, text_matches
from pixelis.rewards.answers.typed import ANSWER_TYPES, TypedAnswer

__all__ = [
    "ANSWER_TYPES",
    "Date",
    "NumberTolerance",
    "Quantity",
    "TypedAnswer",
    "box_iou",
    "box_matches",
    "choice_index",
    "choice_matches",
    "normalise_text",
    "number_matches",
    "parse_box",
    "parse_date",
    "parse_point",
    "parse_quantity",
    "phrase_matches",
    "point_matches",
    "set_matches",
    "split_items",
    "text_matches",
]
