"""Forms without a browser: what is valid, and what is sent.

HTML standard, "Constraint validation" and "Form submission"; the parts that pages of ours use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from urllib.parse import quote_plus

from pixelis.envs.web.dom.accessible import is_disabled
from pixelis.envs.web.dom.form_state import (
    TEXT_TYPES,
    FormState,
    input_type,
    option_disabled,
    option_value,
)
from pixelis.envs.web.dom.tree import Element, Tree

_EMAIL = re.compile(
    r"[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\Z"
)
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+\Z")
_SUBMITTABLE = frozenset({"input", "select", "textarea", "button"})
_ONE_LINE = TEXT_TYPES - {"color"}

Pairs = list[tuple[str, str]]


def form_of(tree: Tree, element: Element) -> Element | None:
    """Return the form that owns an element."""
    if "form" in element.attrs:
        owner = tree.by_id.get(element.get("form"))
        return owner if owner is not None and owner.tag == "form" else None
    return next((outer for outer in element.ancestors() if outer.tag == "form"), None)


def fields_of(tree: Tree, form: Element) -> Iterator[Element]:
    """Yield the elements that a form owns and could send, document order."""
    for element in tree.elements():
        if element.tag in _SUBMITTABLE and form_of(tree, element) is form:
            yield element


def is_submit(element: Element) -> bool:
    """Return whether pressing the element sends its form."""
    if element.tag == "button":
        return element.get("type").lower() not in ("button", "reset")
    return element.tag == "input" and input_type(element) in ("submit", "image")


def is_reset(element: Element) -> bool:
    """Return whether pressing the element empties its form."""
    return element.tag in ("button", "input") and element.get("type").lower() == "reset"


def default_button(tree: Tree, form: Element) -> Element | None:
    """Return the form's first submit button: what Enter in a field presses."""
    return next((element for element in fields_of(tree, form) if is_submit(element)), None)


def sends_without_button(tree: Tree, form: Element) -> bool:
    """Return whether Enter sends a form that has no submit button: it has one single-line field at most."""
    lines = [e for e in fields_of(tree, form) if e.tag == "input" and input_type(e) in _ONE_LINE]
    return len(lines) <= 1


def entries(tree: Tree, state: FormState, form: Element, submitter: Element | None) -> Pairs:
    """Return what a form sends, name and value, in document order."""
    pairs: Pairs = []
    for element in fields_of(tree, form):
        if is_disabled(element) or not element.get("name") or _in_datalist(element):
            continue
        pairs += [(element.get("name"), value) for value in _sent_values(state, element, submitter)]
    return pairs


def _in_datalist(element: Element) -> bool:
    return any(outer.tag == "datalist" for outer in element.ancestors())


def _sent_values(state: FormState, element: Element, submitter: Element | None) -> list[str]:
    if element.tag == "select":
        return [option_value(option) for option in state.chosen(element) if not option_disabled(option)]
    if element.tag == "textarea":
        return [_crlf(state.value(element))]
    if element.tag == "button":
        return [element.get("value")] if element is submitter else []
    kind = input_type(element)
    if kind in ("submit", "reset", "button", "image"):
        return [element.get("value")] if element is submitter and kind == "submit" else []
    if kind in ("checkbox", "radio"):
        if not state.is_checked(element):
            return []
        return [element.get("value") if "value" in element.attrs else "on"]
    return [_crlf(state.value(element))]


def _crlf(text: str) -> str:
    return re.sub(r"\r\n|\r|\n", "\r\n", text)


def encode(pairs: Pairs) -> str:
    """Return ``application/x-www-form-urlencoded`` text, as browsers write it."""
    return "&".join(f"{_encode(name)}={_encode(value)}" for name, value in pairs)


def _encode(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


# ---------------------------------------------------------------------- validity


def first_invalid(tree: Tree, state: FormState, form: Element) -> tuple[Element, str] | None:
    """Return the first field that is not valid, and the key of ``snapshot.VALIDITY`` that says why."""
    for element in fields_of(tree, form):
        if is_disabled(element) or "readonly" in element.attrs:
            continue
        if problem := validity(tree, state, element):
            return element, problem
    return None


def validity(tree: Tree, state: FormState, element: Element) -> str:
    """Return why a field is not valid, a key of ``snapshot.VALIDITY``; empty when it is."""
    if element.tag == "button" or (
        element.tag == "input" and input_type(element) in ("submit", "reset", "button", "image", "hidden")
    ):
        return ""
    if element.tag == "select":
        chosen = state.chosen(element)
        missing = "required" in element.attrs and not any(option_value(option) for option in chosen)
        return "valueMissing" if missing else ""
    kind = "textarea" if element.tag == "textarea" else input_type(element)
    if kind in ("checkbox", "radio"):
        return "" if _is_ticked_enough(tree, state, element, kind) else "valueMissing"
    value = state.value(element)
    if not value:
        return "valueMissing" if "required" in element.attrs and kind not in ("range", "color") else ""
    if (kind == "email" and not _EMAIL.match(value)) or (kind == "url" and not _URL.match(value)):
        return "typeMismatch"
    if kind in TEXT_TYPES and not _fits_pattern(element, value):
        return "patternMismatch"
    least = element.get("minlength")
    if least.isdigit() and element.key in state.values and len(value) < int(least):
        return "tooShort"
    return _range_problem(element, kind, value)


def _is_ticked_enough(tree: Tree, state: FormState, element: Element, kind: str) -> bool:
    if kind == "checkbox":
        return "required" not in element.attrs or state.is_checked(element)
    group = radio_group(tree, element)
    return not any("required" in one.attrs for one in group) or any(map(state.is_checked, group))


def radio_group(tree: Tree, element: Element) -> list[Element]:
    """Return the radio buttons of which one at most can be ticked, this one among them."""
    name, form = element.get("name"), form_of(tree, element)
    if not name:
        return [element]
    return [
        other
        for other in tree.elements()
        if other.tag == "input"
        and input_type(other) == "radio"
        and other.get("name") == name
        and form_of(tree, other) is form
    ]


def _fits_pattern(element: Element, value: str) -> bool:
    pattern = element.get("pattern")
    return not pattern or re.fullmatch(pattern, value) is not None


def _range_problem(element: Element, kind: str, value: str) -> str:
    if kind in ("number", "range"):
        number = float(value)
        low, high = _number(element.get("min")), _number(element.get("max"))
        if number < low:
            return "rangeUnderflow"
        if number > high:
            return "rangeOverflow"
        step = _number(element.get("step") or "1")
        base = low if not math.isnan(low) else 0.0
        if (
            element.get("step") != "any"
            and step > 0
            and abs((number - base) / step - round((number - base) / step)) > 1e-9
        ):
            return "stepMismatch"
    elif kind in ("date", "month", "week", "time", "datetime-local"):
        if element.get("min") and value < element.get("min"):
            return "rangeUnderflow"
        if element.get("max") and value > element.get("max"):
            return "rangeOverflow"
    return ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
