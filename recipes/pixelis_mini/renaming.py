"""Episodes with other names: what is to be learned is copying a name, not the names of the train split."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from pixelis_mini.habits import Demonstration

SHARE = 0.5
"""Share of the names that are replaced."""
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_KEPT = frozenset(
    [
        "Page",
        "Tools",
        "Home",
        "Settings",
        "Customer",
        "City",
        "Weight",
        "Status",
        "Amount",
        "Submit",
        "Save",
        "Cart",
        "Inbox",
        "From",
        "Hello",
        "Best",
        "Total",
        "Search",
        "Delete",
        "Flag",
        "Add",
        "Book",
        "Title",
        "Log",
        "User",
        "Password",
        "Name",
        "Email",
        "Order",
        "Archive",
        "Spam",
        "Receipts",
        "Week",
        "Mon",
        "Tue",
        "Wed",
        "Thu",
        "Fri",
        "Sat",
        "Sun",
        "Somebody",
        "Deliveries",
        "Put",
        "Set",
        "Turn",
        "What",
        "Which",
        "How",
        "Fill",
        "The",
        "Leave",
        "Change",
        "Its",
        "Place",
        "No",
        "Yes",
    ]
)
_ONSETS = [
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "z",
    "br",
    "ch",
    "dr",
    "fl",
    "gr",
    "kl",
    "pr",
    "sh",
    "st",
    "tr",
]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
_ENDS = ["", "", "n", "r", "l", "s", "rd", "nt", "x", "m"]


def invented_name(rng: np.random.Generator) -> str:
    """Return a capitalised word of two or three syllables that nobody has heard of."""
    count = int(rng.integers(1, 4))
    syllables = [str(rng.choice(_ONSETS)) + str(rng.choice(_VOWELS)) for _ in range(count)]
    return ("".join(syllables) + str(rng.choice(_ENDS))).capitalize()


def renamed(demonstration: Demonstration, rng: np.random.Generator) -> Demonstration:
    """Return the episode with new names in the place of some of the first page's, everywhere alike."""
    names = dict.fromkeys(_NAME.findall(demonstration.turns[0][0]))
    new = {name: invented_name(rng) for name in names if name not in _KEPT and rng.random() < SHARE}
    if not new:
        return demonstration
    new |= {name.lower(): value.lower() for name, value in new.items()}
    pattern = re.compile(rf"(?<![A-Za-z])({'|'.join(new)})(?![a-z])")

    def changed(text: str) -> str:
        return pattern.sub(lambda found: new[found[0]], text)

    return replace(
        demonstration, turns=tuple((changed(read), changed(said)) for read, said in demonstration.turns)
    )
