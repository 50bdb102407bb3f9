"""A light tree of a page's elements; selectolax parses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pixelis.envs.web.page.snapshot import collapse, cut
from pixelis.errors import MissingDependencyError

LABELABLE = frozenset({"input", "select", "textarea", "button"})


class Element:
    """An element: its tag in lower case, attributes, children (elements and texts), parent and key.

    Keys count elements from 1 in document order; a copy of a tree keeps them.
    """

    __slots__ = ("attrs", "children", "key", "parent", "tag")

    def __init__(self, tag: str, attrs: dict[str, str | None], parent: Element | None, key: int) -> None:
        self.tag, self.attrs, self.parent, self.key = tag, attrs, parent, key
        self.children: list[Element | str] = []

    def elements(self) -> Iterator[Element]:
        """Yield what is below, document order."""
        for child in self.children:
            if not isinstance(child, str):
                yield child
                yield from child.elements()

    def ancestors(self) -> Iterator[Element]:
        """Yield the element itself and what is above it, inside out."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent

    def get(self, name: str) -> str:
        """Return an attribute's value; empty when it has none or is not there."""
        return self.attrs.get(name) or ""

    def text(self) -> str:
        """Return all text below, as it stands."""
        parts = [child if isinstance(child, str) else child.text() for child in self.children]
        return "".join(parts)

    @property
    def is_shown(self) -> bool:
        """Whether neither it nor anything above has ``hidden`` or is inside a closed ``details``."""
        inner: Element | None = None
        for element in self.ancestors():
            if "hidden" in element.attrs or (
                inner is not None
                and element.tag == "details"
                and "open" not in element.attrs
                and inner is not summary_of(element)
            ):
                return False
            inner = element
        return True


def summary_of(details: Element) -> Element | None:
    """Return the ``summary`` that opens a ``details``: its first child of that name."""
    for child in details.children:
        if not isinstance(child, str) and child.tag == "summary":
            return child
    return None


@dataclass(frozen=True)
class Tree:
    """A parsed document.

    Attributes:
        body: its ``body``.
        title: collapsed and cut.
        by_key: key → element, document order.
        by_id: ``id`` → the first element that has it.
        labels: key of a labelled element → its labels, document order.
        labelled: key of a label → the element it names.
    """

    body: Element
    title: str
    by_key: dict[int, Element]
    by_id: dict[str, Element] = field(default_factory=dict)
    labels: dict[int, list[Element]] = field(default_factory=dict)
    labelled: dict[int, Element] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found: list[Element] = []
        for element in self.by_key.values():
            if "id" in element.attrs:
                self.by_id.setdefault(element.get("id"), element)
            if element.tag == "label":
                found.append(element)
        for label in found:
            target = _labelled(label, self.by_id)
            if target is not None:
                self.labels.setdefault(target.key, []).append(label)
                self.labelled[label.key] = target

    def elements(self) -> Iterable[Element]:
        """Return every element, document order."""
        return self.by_key.values()

    def copy(self) -> Tree:
        """Return a copy that shares nothing that can change."""
        by_key: dict[int, Element] = {}
        return Tree(_copy(self.body, None, by_key), self.title, by_key)

    def renew_order(self) -> None:
        """Put ``by_key`` into document order again, after elements were moved."""
        moved = {element.key: element for element in (self.body, *self.body.elements())}
        self.by_key.clear()
        self.by_key.update(moved)


def _copy(element: Element, parent: Element | None, by_key: dict[int, Element]) -> Element:
    twin = by_key[element.key] = Element(element.tag, dict(element.attrs), parent, element.key)
    twin.children = [
        child if isinstance(child, str) else _copy(child, twin, by_key) for child in element.children
    ]
    return twin


def parse_html(html: str) -> Tree:
    """Return the tree of a document.

    Raises:
        MissingDependencyError: selectolax is not installed.
    """
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise MissingDependencyError(
            "Web pages need selectolax, which is not installed; install the extra: pip install 'pixelis[web]'"
        ) from None
    parser = LexborHTMLParser(html)
    title = parser.css_first("title")
    by_key: dict[int, Element] = {}
    body = _build(parser.body, None, by_key)
    return Tree(body, cut(collapse(title.text() if title is not None else "")), by_key)


def _build(node: Any, parent: Element | None, by_key: dict[int, Element]) -> Element:
    """Copy selectolax's node, and what is below it, into elements."""
    key = len(by_key) + 1
    element = by_key[key] = Element(node.tag, node.attributes, parent, key)
    children = element.children
    child = node.first_child
    while child is not None:
        tag = child.tag
        if tag == "-text":
            children.append(child.text_content)
        elif tag[0] not in "-!":
            children.append(_build(child, element, by_key))
        child = child.next
    return element


def _labelled(label: Element, by_id: dict[str, Element]) -> Element | None:
    if "for" in label.attrs:
        target = by_id.get(label.get("for"))
        return target if target is not None and _is_labelable(target) else None
    return next((element for element in label.elements() if _is_labelable(element)), None)


def _is_labelable(element: Element) -> bool:
    return element.tag in LABELABLE and not (
        element.tag == "input" and element.get("type").lower() == "hidden"
    )
