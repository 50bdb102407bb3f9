"""Other words for the same thing: what the paraphrase dial chooses from."""

from __future__ import annotations

from collections.abc import Mapping

from pixelis.envs.web.sites.seeded_random import SeededRandom

PHRASES: dict[str, tuple[str, ...]] = {
    "Home": ("Start", "Front page", "Overview"),
    "Search": ("Find", "Look up", "Go"),
    "Save": ("Apply changes", "Store", "Keep changes"),
    "Cancel": ("Discard", "Never mind", "Go back"),
    "Next": ("Continue", "Further", "Onward"),
    "Previous": ("Back", "Earlier", "Return"),
    "Next page": ("More results", "Older", "Following page"),
    "Previous page": ("Newer", "Page before", "Preceding page"),
    "Submit": ("Send", "Done", "Finish"),
    "Delete": ("Remove", "Erase", "Drop"),
    "Close": ("No thanks", "Dismiss", "Not now"),
    "Settings": ("Preferences", "Options", "Configuration"),
    "Log in": ("Sign in", "Enter", "Access my account"),
    "Log out": ("Sign out", "Leave", "End session"),
    "User name": ("Login", "Account name", "Member id"),
    "Password": ("Pass phrase", "Secret word", "Access key"),
    "Name": ("Full name", "Your name", "Recipient"),
    "Email": ("E-mail address", "Mail address", "Contact e-mail"),
    "Street": ("Address line", "Street and number", "Road"),
    "City": ("Town", "Place", "Town or city"),
    "Postcode": ("ZIP code", "Postal code", "ZIP"),
    "Apply": ("Use", "Set", "Update"),
    "Filter": ("Narrow down", "Refine", "Restrict"),
    "Category": ("Department", "Kind", "Section"),
}
"""Phrase → other ways to say it, the usual first. Families add their own (``Family.phrases``)."""

_SHARE = (0.0, 0.35, 0.8, 1.0)
_VARIANTS = (0, 1, 2, 3)


def draw_words(draw: SeededRandom, dial: int, phrases: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return phrase → what this site says instead, for the phrases that it says otherwise.

    Two phrases of one site never get the same words.

    Args:
        draw: the generator.
        dial: ``paraphrase``, 0-3: how many phrases change, and how far from the usual word.
        phrases: the phrases that the family's pages use.
    """
    words: dict[str, str] = {}
    taken = {phrase.lower() for phrase in phrases}
    for phrase, others in phrases.items():
        if not draw.chance(_SHARE[dial]):
            continue
        free = [other for other in others[: _VARIANTS[dial]] if other.lower() not in taken]
        if free:
            words[phrase] = draw.one(free)
            taken.add(words[phrase].lower())
    return words
