"""What the fields of a document hold: values, ticks and choices, until the page is left."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from pixelis.envs.web.dom.tree import Element
from pixelis.envs.web.page.snapshot import collapse, cut

TEXT_TYPES = frozenset(
    [
        "text",
        "search",
        "tel",
        "url",
        "email",
        "password",
        "number",
        "date",
        "month",
        "week",
        "time",
        "datetime-local",
        "color",
    ]
)
OTHER_TYPES = frozenset(
    ["checkbox", "radio", "range", "file", "hidden", "submit", "reset", "button", "image"]
)

_NUMBER = re.compile(r"-?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?\Z")
_DATED = {
    "date": re.compile(r"(\d{4,})-(\d\d)-(\d\d)\Z"),
    "month": re.compile(r"(\d{4,})-(\d\d)\Z"),
    "week": re.compile(r"(\d{4,})-W(\d\d)\Z"),
    "time": re.compile(r"(\d\d):(\d\d)(:\d\d(\.\d{1,3})?)?\Z"),
    "datetime-local": re.compile(r"(\d{4,})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(:\d\d(\.\d{1,3})?)?\Z"),
}


def input_type(element: Element) -> str:
    """Return the type of an ``input``: what it says if there is such a type, else ``text``."""
    kind = element.get("type").lower()
    return kind if kind in TEXT_TYPES or kind in OTHER_TYPES else "text"


def sanitise(kind: str, text: str) -> str:
    """Return what a single-line field of this type holds after ``text`` was put into it.

    HTML standard, "value sanitization algorithm" of each type.
    """
    text = text.replace("\r", "").replace("\n", "")
    if kind in ("email", "url"):
        return text.strip(" \t\f")
    if kind == "number":
        return text if _NUMBER.match(text) and math.isfinite(float(text)) else ""
    if kind in _DATED:
        return text if _is_dated(kind, text) else ""
    return text


def _is_dated(kind: str, text: str) -> bool:
    match = _DATED[kind].match(text)
    if match is None:
        return False
    parts = [int(part) for part in match.groups()[:5] if part is not None and part.isdigit()]
    if kind == "time":
        return parts[0] < 24 and parts[1] < 60
    if kind == "week":
        return parts[0] > 0 and 1 <= parts[1] <= 53
    if kind == "datetime-local" and not (parts[3] < 24 and parts[4] < 60):
        return False
    day = parts[2] if len(parts) > 2 else 1
    return parts[0] > 0 and 1 <= parts[1] <= 12 and 1 <= day <= days_in_month(parts[0], parts[1])


def days_in_month(year: int, month: int) -> int:
    """Return 28 to 31."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def options_of(select: Element) -> list[Element]:
    """Return a select's options, those of its groups too."""
    return [element for element in select.elements() if element.tag == "option"]


def option_label(option: Element) -> str:
    """Return an option's label: the attribute, else its text; collapsed and cut."""
    return cut(collapse(option.get("label") or option.text()))


def option_value(option: Element) -> str:
    """Return what is sent for an option."""
    return option.get("value") if "value" in option.attrs else collapse(option.text())


def is_listbox(select: Element) -> bool:
    """Return whether a select shows a list: ``multiple``, or ``size`` above 1."""
    size = select.get("size")
    return "multiple" in select.attrs or (size.isdigit() and int(size) > 1)


def option_disabled(option: Element) -> bool:
    """Return whether an option or its group is disabled."""
    parent = option.parent
    return "disabled" in option.attrs or (
        parent is not None and parent.tag == "optgroup" and "disabled" in parent.attrs
    )


@dataclass
class FormState:
    """What differs from the page as it was served; all by keys of elements.

    Attributes:
        values: texts of fields.
        checked: ticks of checkboxes and radio buttons.
        selected: keys of a select's chosen options.
    """

    values: dict[int, str] = field(default_factory=dict)
    checked: dict[int, bool] = field(default_factory=dict)
    selected: dict[int, frozenset[int]] = field(default_factory=dict)

    def value(self, element: Element) -> str:
        """Return what a text field, slider or button holds."""
        if element.key in self.values:
            return self.values[element.key]
        if element.tag == "textarea":
            text = element.text()
            return text.removeprefix("\n")
        value = element.get("value")
        return sanitise(input_type(element), value) if value else value

    def is_checked(self, element: Element) -> bool:
        """Return whether a checkbox or radio button is ticked."""
        return self.checked.get(element.key, "checked" in element.attrs)

    def chosen(self, select: Element) -> list[Element]:
        """Return a select's chosen options."""
        options = options_of(select)
        if select.key in self.selected:
            return [option for option in options if option.key in self.selected[select.key]]
        marked = [option for option in options if "selected" in option.attrs]
        if "multiple" in select.attrs:
            return marked
        if marked:
            return marked[-1:]
        if is_listbox(select):
            return []
        return next(([option] for option in options if not option_disabled(option)), [])
