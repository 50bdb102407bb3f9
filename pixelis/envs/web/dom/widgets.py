"""The closed set of widgets, as ``widgets.js`` does them too. docs/reference/web_pages.md ("Widgets").

Every function changes the tree that it is given (a copy of the parsed one) and the fields' state.
"""

from __future__ import annotations

import math
import re

from pixelis.envs.web.dom.accessible import text_of
from pixelis.envs.web.dom.form_state import FormState
from pixelis.envs.web.dom.tree import Element, Tree, summary_of
from pixelis.envs.web.page.snapshot import collapse

SUGGESTIONS = 6
PRESSED = ("data-toggle", "data-tab", "data-dialog", "data-close", "data-fill", "data-sort")
"""Attributes of the widgets that act on a click."""

_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_widget(element: Element) -> bool:
    """Return whether a click on the element does something without the site."""
    if any(name in element.attrs for name in PRESSED):
        return True
    return element.tag == "summary" and element.parent is not None and summary_of(element.parent) is element


def press(tree: Tree, form: FormState, element: Element) -> None:
    """Do what a click on a widget does."""
    attrs = element.attrs
    if "data-toggle" in attrs:
        _toggle(tree, element)
    if "data-tab" in attrs:
        _choose_tab(tree, element)
    if "data-dialog" in attrs:
        _show(tree.by_id.get(element.get("data-dialog")), True)
    if "data-close" in attrs:
        _show(next((outer for outer in element.ancestors() if "data-overlay" in outer.attrs), None), False)
    if "data-fill" in attrs:
        _fill(tree, form, element)
    if "data-sort" in attrs:
        _sort(element)
        tree.renew_order()
    if element.tag == "summary" and element.parent is not None and summary_of(element.parent) is element:
        _flip(element.parent, "open")


def suggest_options(tree: Tree, form: FormState, field: Element) -> None:
    """Show the entries of an autocomplete field's list that hold its text."""
    box = tree.by_id.get(field.get("data-autocomplete"))
    if box is None:
        return
    text = collapse(form.value(field)).lower()
    shown = 0
    for entry in box.elements():
        if "data-fill" in entry.attrs:
            fits = bool(text) and shown < SUGGESTIONS and text in collapse(entry.get("data-fill")).lower()
            shown += fits
            _show(entry, fits)
    _show(box, shown > 0)


def timed(tree: Tree) -> list[tuple[Element, str, int]]:
    """Return the elements that come or go with the clock: element, ``data-after`` or ``data-until``, when."""
    found = []
    for element in tree.elements():
        for name in ("data-after", "data-until"):
            if name in element.attrs and element.get(name).isdigit():
                found.append((element, name, int(element.get(name))))
    return found


def tick(tree: Tree, clock: int) -> None:
    """Show and hide what the clock, just moved on, says."""
    for element, name, when in timed(tree):
        if when == clock:
            _show(element, name == "data-after")


def _show(element: Element | None, shown: bool) -> None:
    if element is None:
        return
    if shown:
        element.attrs.pop("hidden", None)
    else:
        element.attrs["hidden"] = ""


def _flip(element: Element, name: str) -> None:
    if name in element.attrs:
        del element.attrs[name]
    else:
        element.attrs[name] = ""


def _toggle(tree: Tree, element: Element) -> None:
    target = tree.by_id.get(element.get("data-toggle"))
    if target is not None:
        _flip(target, "hidden")
        element.attrs["aria-expanded"] = "false" if "hidden" in target.attrs else "true"


def _choose_tab(tree: Tree, element: Element) -> None:
    bar = next((outer for outer in element.ancestors() if outer.get("role") == "tablist"), None)
    if bar is None:
        return
    for other in bar.elements():
        if "data-tab" in other.attrs:
            other.attrs["aria-selected"] = "true" if other is element else "false"
            _show(tree.by_id.get(other.get("data-tab")), other is element)


def _fill(tree: Tree, form: FormState, element: Element) -> None:
    box = next((outer for outer in element.ancestors() if outer is not element and outer.get("id")), None)
    while box is not None:
        for field in tree.elements():
            if field.tag == "input" and field.get("data-autocomplete") == box.get("id"):
                form.values[field.key] = element.get("data-fill")
                _show(box, False)
                return
        box = next((outer for outer in box.ancestors() if outer is not box and outer.get("id")), None)


def _sort(element: Element) -> None:
    head = next((outer for outer in element.ancestors() if outer.tag == "th"), None)
    table = next((outer for outer in element.ancestors() if outer.tag == "table"), None)
    if head is None or table is None or head.parent is None:
        return
    body = next((below for below in table.elements() if below.tag == "tbody"), None)
    down = head.attrs.get("aria-sort") == "ascending"
    for other in head.parent.children:
        if not isinstance(other, str):
            other.attrs.pop("aria-sort", None)
    head.attrs["aria-sort"] = "descending" if down else "ascending"
    if body is None:
        return
    column, numeric = int(element.get("data-sort") or 0), "data-numeric" in element.attrs
    rows = [row for row in body.children if not isinstance(row, str)]
    if numeric:
        numbers = {row.key: _number(_cell_text(row, column)) for row in rows}
        known = [row for row in rows if not math.isnan(numbers[row.key])]
        known.sort(key=lambda row: numbers[row.key], reverse=down)
        rows = known + [row for row in rows if math.isnan(numbers[row.key])]
    else:
        rows.sort(key=lambda row: _code_units(_cell_text(row, column).lower()), reverse=down)
    body.children = list(rows)


def _cell_text(row: Element, column: int) -> str:
    cells = [cell for cell in row.children if not isinstance(cell, str) and cell.tag in ("td", "th")]
    if column >= len(cells):
        return ""
    cell = cells[column]
    return cell.get("data-value") if "data-value" in cell.attrs else text_of(cell)


def _number(text: str) -> float:
    match = _FLOAT.match(text.replace(",", "").strip())
    return float(match.group()) if match else math.nan


def _code_units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
