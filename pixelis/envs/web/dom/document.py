"""One document in the in-process browser: its tree, fields, clock and lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pixelis.envs.web.dom import widgets
from pixelis.envs.web.dom.accessible import control_of, is_disabled, role_of
from pixelis.envs.web.dom.form_state import (
    OTHER_TYPES,
    FormState,
    input_type,
    option_disabled,
    option_label,
    options_of,
    sanitise,
)
from pixelis.envs.web.dom.forms import fields_of, form_of, radio_group
from pixelis.envs.web.dom.tree import Element, Tree, parse_html
from pixelis.envs.web.dom.walk import walk
from pixelis.envs.web.page.backend import PageActionError
from pixelis.envs.web.page.snapshot import NOT_TAKEN, Control, PageLine, Piece, collapse

CACHED_PAGES = 256


@dataclass(frozen=True)
class ServedPage:
    """A page as it was served: shared by all documents of the same text, so nobody changes it.

    Attributes:
        tree: parsed.
        lines: what is on it at first.
        is_timed: whether something comes or goes with the clock.
        has_overlays: whether something may lie over the rest.
    """

    tree: Tree
    lines: list[PageLine]
    is_timed: bool
    has_overlays: bool


@lru_cache(CACHED_PAGES)
def served_page(html: str) -> ServedPage:
    """Parse and walk a page, or remember it."""
    tree = parse_html(html)
    overlays = any("data-overlay" in element.attrs for element in tree.elements())
    return ServedPage(tree, walk(tree, FormState()), bool(widgets.timed(tree)), overlays)


class DomDocument:
    """A page that has been loaded.

    The tree is shared with every document of the same text until a widget changes it; then it is copied.

    Args:
        html: the page's text.
        url: path and query.
        generation: how many documents have been loaded, this one included.
    """

    def __init__(self, html: str, url: str, generation: int) -> None:
        page = served_page(html)
        self.tree = page.tree
        self.url, self.generation = url, generation
        self.form = FormState()
        self.clock = 0
        self._owns_tree = False
        self._timed, self._overlays = page.is_timed, page.has_overlays
        self._lines: list[PageLine] | None = page.lines
        self._places: dict[int, tuple[int, int]] | None = None

    def lines(self) -> list[PageLine]:
        """Return the lines of the page as it is now."""
        if self._lines is None:
            self._lines = walk(self.tree, self.form)
            self._places = None
        return self._lines

    def control(self, element: Element) -> Control:
        """Return an element as a control of the page as it is now."""
        return control_of(self.tree, element, role_of(element), self.form)

    def element(self, key: int) -> Element:
        """Return an element that can be acted on now.

        Raises:
            PageActionError: ``stale``, ``hidden``, ``covered`` or ``disabled``.
        """
        element = self.tree.by_key.get(key)
        if element is None:
            raise PageActionError("stale")
        if not element.is_shown:
            raise PageActionError("hidden")
        if self._overlays and not self._is_on_top(element):
            raise PageActionError("covered")
        if is_disabled(element):
            raise PageActionError("disabled")
        return element

    def _is_on_top(self, element: Element) -> bool:
        shown = [e for e in self.tree.elements() if "data-overlay" in e.attrs and e.is_shown]
        return not shown or shown[-1] in element.ancestors()

    # ------------------------------------------------------------------ changes

    def press_widget(self, element: Element) -> None:
        """Do what a click does on the page alone: widgets, ticks."""
        if widgets.is_widget(element):
            self._own()
            widgets.press(self.tree, self.form, self.tree.by_key[element.key])
        if element.tag == "input":
            kind = input_type(element)
            if kind == "checkbox":
                self.form.checked[element.key] = not self.form.is_checked(element)
                self._refresh(element)
            elif kind == "radio":
                for other in radio_group(self.tree, element):
                    if self.form.is_checked(other) != (other is element):
                        self.form.checked[other.key] = other is element
                        self._refresh(other)

    def type_into(self, element: Element, text: str) -> str:
        """Replace what a field holds; return a notice if it does not hold the text then.

        Raises:
            PageActionError: ``not_editable``.
        """
        kind = "textarea" if element.tag == "textarea" else input_type(element)
        typable = element.tag == "textarea" or (
            element.tag == "input" and (kind not in OTHER_TYPES or kind == "range")
        )
        if not typable or "readonly" in element.attrs:
            raise PageActionError("not_editable")
        limit = element.get("maxlength")
        value = text[: int(limit)] if limit.isdigit() and kind not in ("number", "range") else text
        value = (
            value.replace("\r\n", "\n").replace("\r", "\n") if kind == "textarea" else sanitise(kind, value)
        )
        self.form.values[element.key] = value
        self._refresh(element)
        if "data-autocomplete" in element.attrs:
            self._own()
            widgets.suggest_options(self.tree, self.form, self.tree.by_key[element.key])
        return NOT_TAKEN if value != text else ""

    def select(self, element: Element, label: str) -> None:
        """Choose an option by its label.

        Raises:
            PageActionError: ``not_editable``, ``no_such_option`` or ``disabled``.
        """
        if element.tag != "select":
            raise PageActionError("not_editable")
        options = [option for option in options_of(element) if "hidden" not in option.attrs]
        wanted = collapse(label)
        same = [o for o in options if option_label(o) == wanted] or [
            o for o in options if option_label(o).lower() == wanted.lower()
        ]
        if not same:
            known = ", ".join(option_label(option) for option in options[:8])
            raise PageActionError("no_such_option", f"There is no such option. There are: {known}.")
        if option_disabled(same[0]):
            raise PageActionError("disabled", "This option is disabled.")
        key = same[0].key
        if "multiple" in element.attrs:
            chosen = frozenset(option.key for option in self.form.chosen(element))
            self.form.selected[element.key] = chosen ^ {key}
        else:
            self.form.selected[element.key] = frozenset({key})
        self._refresh(element)

    def reset_form(self, element: Element) -> None:
        """Give the fields of the element's form the values they were served with."""
        form = form_of(self.tree, element)
        for field in fields_of(self.tree, form) if form is not None else ():
            self.form.values.pop(field.key, None)
            self.form.checked.pop(field.key, None)
            self.form.selected.pop(field.key, None)
            self._refresh(field)

    def tick(self) -> None:
        """Let a step go by."""
        self.clock += 1
        if self._timed and any(when == self.clock for _, _, when in widgets.timed(self.tree)):
            self._own()
            widgets.tick(self.tree, self.clock)

    # ------------------------------------------------------------------ private

    def _own(self) -> None:
        if not self._owns_tree:
            self.tree = self.tree.copy()
            self._owns_tree = True
        self._lines = None

    def _refresh(self, element: Element) -> None:
        """Renew one control in the lines."""
        if self._lines is None:
            return
        if self._places is None:
            self._lines = list(self._lines)
            self._places = {
                piece.key: (row, column)
                for row, line in enumerate(self._lines)
                for column, piece in enumerate(line.pieces)
                if not isinstance(piece, str)
            }
        place = self._places.get(element.key)
        if place is not None:
            line = self._lines[place[0]]
            pieces: list[Piece] = list(line.pieces)
            pieces[place[1]] = self.control(element)
            self._lines[place[0]] = PageLine(line.kind, line.level, tuple(pieces))
