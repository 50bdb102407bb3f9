"""From a tree of elements to the lines of a snapshot, as docs/reference/web_pages.md ("The walk") has it."""

from __future__ import annotations

from pixelis.envs.web.dom.accessible import BLOCKS, LEFT_OUT, control_of, image_text, is_left_out, role_of
from pixelis.envs.web.dom.form_state import FormState
from pixelis.envs.web.dom.tree import Element, Tree, summary_of
from pixelis.envs.web.page.snapshot import PageLine, Piece, collapse

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ROLE_TAGS = frozenset({"a", "area", "button", "input", "textarea", "select", "summary"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})


def walk(tree: Tree, form: FormState) -> list[PageLine]:
    """Return the lines of a page."""
    lines = _Lines(tree, form)
    lines.visit(tree.body, quiet=False)
    lines.end_line()
    return lines.lines


class _Lines:
    """Collects lines; ``quiet`` is true where texts and images are left out but controls are not."""

    def __init__(self, tree: Tree, form: FormState) -> None:
        self.tree, self.form = tree, form
        self.lines: list[PageLine] = []
        self._pieces: list[Piece] = []
        self._text: list[str] = []
        self._kind, self._level, self._in_row = "text", 0, False

    def end_line(self) -> None:
        """Keep the line that is being collected, if there is anything on it."""
        self._end_text()
        if self._pieces:
            self.lines.append(PageLine(self._kind, self._level, tuple(self._pieces)))
            self._pieces = []

    def _end_text(self) -> None:
        if self._text:
            if text := collapse("".join(self._text)):
                self._pieces.append(text)
            self._text = []

    def visit(self, element: Element, *, quiet: bool) -> None:
        """Walk an element that may be left out."""
        tag = element.tag
        if tag in LEFT_OUT or (element.attrs and is_left_out(element)):
            return
        quiet = quiet or element.attrs.get("aria-hidden") == "true"
        if tag == "img" or tag == "svg":
            if not quiet and (text := image_text(element)):
                self._text.append(f' image "{text}" ')
            if not role_of(element):
                return
        if tag not in BLOCKS:
            self._visit_inline(element, quiet)
        elif self._in_row:
            self._text.append(" ")
            self._visit_inline(element, quiet)
            self._text.append(" ")
        else:
            self._visit_block(element, quiet)

    def _visit_block(self, element: Element, quiet: bool) -> None:
        self.end_line()
        before = self._kind, self._level, self._in_row
        tag = element.tag
        if tag in _HEADINGS:
            self._kind, self._level = "heading", _HEADINGS[tag]
        elif tag == "li":
            self._kind, self._level = "item", sum(above.tag in _LISTS for above in element.ancestors())
        elif tag == "tr":
            self._kind, self._level = "row", 0
            self._in_row = not any(below.tag == "table" for below in element.elements())
        self._visit_inline(element, quiet)
        self.end_line()
        self._kind, self._level, self._in_row = before

    def _visit_inline(self, element: Element, quiet: bool) -> None:
        role = _role(element)
        if role:
            self._end_text()
            self._pieces.append(control_of(self.tree, element, role, self.form))
            if not _holds_control(element):
                return
        elif element.tag == "label" and element.key in self.tree.labelled:
            quiet = quiet or _is_named_by_labels(self.tree.labelled[element.key])
        closed = element.tag == "details" and "open" not in element.attrs
        summary = summary_of(element) if closed else None
        cells = 0
        for child in element.children:
            if isinstance(child, str):
                if not quiet and not closed:
                    self._text.append(child)
            elif not closed or child is summary:
                if self._in_row and element.tag == "tr" and child.tag in ("td", "th"):
                    if cells:
                        self._text.append(" | ")
                    cells += 1
                self.visit(child, quiet=quiet)


def _role(element: Element) -> str:
    """Return ``role_of``, at once for the many elements that have none."""
    return role_of(element) if element.tag in _ROLE_TAGS or "role" in element.attrs else ""


def _holds_control(element: Element) -> bool:
    for child in element.children:
        if (
            not isinstance(child, str)
            and not is_left_out(child)
            and (role_of(child) or _holds_control(child))
        ):
            return True
    return False


def _is_named_by_labels(element: Element) -> bool:
    attrs = element.attrs
    return bool(role_of(element)) and not ({"hidden", "aria-labelledby", "aria-label"} & attrs.keys())
