"""A light tree of a page's elements; selectolax parses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pixelis.envs.web.snapshot import collapse, cut
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
        by_id: ``id`` → the first element that has it.
        by_key: key → element.
        labels: key of a labelled element → its labels, document order.
        labelled: key of a label → the element it names.
    """

    body: Element
    title: str
    by_id: dict[str, Element]
    by_key: dict[int, Element]
    labels: dict[int, list[Element]]
    labelled: dict[int, Element]

    def copy(self) -> Tree:
        """Return a copy that shares nothing that can change."""
        return _index(_copy(self.body, None), self.title)


def _copy(element: Element, parent: Element | None) -> Element:
    twin = Element(element.tag, dict(element.attrs), parent, element.key)
    twin.children = [child if isinstance(child, str) else _copy(child, twin) for child in element.children]
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
    body = _Builder().build(parser.body, None)
    return _index(body, cut(collapse(title.text() if title is not None else "")))


class _Builder:
    """Copies selectolax's nodes into elements; counts keys."""

    def __init__(self) -> None:
        self.count = 0

    def build(self, node: Any, parent: Element | None) -> Element:
        self.count += 1
        element = Element(node.tag, node.attributes, parent, self.count)
        children = element.children
        child = node.first_child
        while child is not None:
            tag = child.tag
            if tag == "-text":
                children.append(child.text_content)
            elif tag[0] not in "-!":
                children.append(self.build(child, element))
            child = child.next
        return element


def _index(body: Element, title: str) -> Tree:
    by_id: dict[str, Element] = {}
    by_key = {body.key: body}
    labels: list[Element] = []
    for element in body.elements():
        by_key[element.key] = element
        if "id" in element.attrs:
            by_id.setdefault(element.get("id"), element)
        if element.tag == "label":
            labels.append(element)
    tree = Tree(body, title, by_id, by_key, {}, {})
    for label in labels:
        target = _labelled(label, by_id)
        if target is not None:
            tree.labels.setdefault(target.key, []).append(label)
            tree.labelled[label.key] = target
    return tree


def _labelled(label: Element, by_id: dict[str, Element]) -> Element | None:
    if "for" in label.attrs:
        target = by_id.get(label.get("for"))
        return target if target is not None and _is_labelable(target) else None
    return next((element for element in label.elements() if _is_labelable(element)), None)


def _is_labelable(element: Element) -> bool:
    return element.tag in LABELABLE and not (
        element.tag == "input" and element.get("type").lower() == "hidden"
    )
