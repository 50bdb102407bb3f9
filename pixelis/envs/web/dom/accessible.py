"""Role, name, value and states of an element: HTML-AAM 1.0 and accname 1.2, the part that pages of ours use.

docs/reference/web_pages.md ("The walk") is the specification; ``static/snapshot.js`` follows it too.
"""

from __future__ import annotations

from pixelis.envs.web.dom.form_state import (
    FormState,
    input_type,
    is_listbox,
    option_label,
    options_of,
)
from pixelis.envs.web.dom.tree import Element, Tree, summary_of
from pixelis.envs.web.page.snapshot import Control, collapse, cut, listed_options

LEFT_OUT = frozenset(
    (
        *(
            "head",
            "script",
            "style",
            "template",
            "noscript",
            "datalist",
            "option",
            "optgroup",
            "iframe",
            "object",
        ),
        *("embed", "canvas", "video", "audio", "map", "math"),
    )
)
BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details"),
        *(
            "dialog",
            "dir",
            "div",
            "dl",
            "dt",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "h1",
            "h2",
        ),
        *(
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
            "hgroup",
            "hr",
            "html",
            "legend",
            "li",
            "main",
            "menu",
            "nav",
            "ol",
        ),
        *(
            "p",
            "pre",
            "search",
            "section",
            "summary",
            "table",
            "tbody",
            "td",
            "tfoot",
            "th",
            "thead",
            "tr",
            "ul",
        ),
    )
)

_ARIA_ROLES = {
    role: role
    for role in ["link", "button", "textbox", "checkbox", "radio", "combobox", "slider", "switch", "tab"]
}
_ARIA_ROLES |= {role: role for role in ("option", "menuitem", "treeitem")}
_ARIA_ROLES |= {
    "searchbox": "textbox",
    "spinbutton": "textbox",
    "menuitemcheckbox": "checkbox",
    "menuitemradio": "radio",
}
_INPUT_ROLES = {
    **dict.fromkeys(("submit", "reset", "button", "image"), "button"),
    "checkbox": "checkbox",
    "radio": "radio",
    "range": "slider",
    "file": "file",
}
_NAMED_BY_CONTENT = frozenset(
    ["link", "button", "checkbox", "radio", "switch", "tab", "option", "menuitem", "treeitem", "clickable"]
)
_NAMED_BY_CLASS = frozenset(["link", "button", "clickable", "option", "menuitem", "tab"])
_FIELDS = frozenset({"input", "select", "textarea"})
_DISABLEABLE = frozenset({"input", "select", "textarea", "button", "fieldset"})


def role_of(element: Element) -> str:
    """Return the control's role; empty when the element is no control."""
    tag = element.tag
    if "role" in element.attrs:
        role = next(iter(element.get("role").lower().split()), "")
        if role in _ARIA_ROLES:
            return _ARIA_ROLES[role]
    if tag == "a" or tag == "area":
        return "link" if "href" in element.attrs else ""
    if tag == "button":
        return "button"
    if tag == "input":
        kind = input_type(element)
        return "" if kind == "hidden" else _INPUT_ROLES.get(kind, "textbox")
    if tag == "textarea":
        return "textbox"
    if tag == "select":
        return "listbox" if is_listbox(element) else "combobox"
    if tag == "summary":
        parent = element.parent
        return (
            "button"
            if parent is not None and parent.tag == "details" and summary_of(parent) is element
            else ""
        )
    return ""


def is_left_out(element: Element) -> bool:
    """Return whether neither it nor anything in it is part of the page's text or controls."""
    if element.tag in LEFT_OUT or "hidden" in element.attrs:
        return True
    return element.tag == "input" and element.get("type").lower() == "hidden"


def image_text(element: Element) -> str:
    """Return the text alternative of an ``img`` or ``svg``, collapsed and cut; of others the empty text."""
    if element.tag == "img":
        return cut(collapse(element.get("alt") or element.get("aria-label")))
    if element.tag == "svg":
        title = next((e.text() for e in element.children if not isinstance(e, str) and e.tag == "title"), "")
        return cut(collapse(element.get("aria-label") or title))
    return ""


def text_of(element: Element) -> str:
    """Return the text of what is below an element, as it names things."""
    parts: list[str] = []
    _gather(element, parts)
    return collapse("".join(parts))


def _gather(element: Element, parts: list[str]) -> None:
    summary = summary_of(element) if element.tag == "details" and "open" not in element.attrs else None
    closed = element.tag == "details" and "open" not in element.attrs
    for child in element.children:
        if isinstance(child, str):
            if not closed:
                parts.append(child)
            continue
        tag = child.tag
        if tag in ("img", "svg"):
            if "hidden" not in child.attrs and child.get("aria-hidden") != "true" and not closed:
                parts += (" ", image_text(child), " ")
        elif not (
            tag in _FIELDS
            or tag == "button"
            or is_left_out(child)
            or child.get("aria-hidden") == "true"
            or (closed and child is not summary)
        ):
            block = tag in BLOCKS
            if block:
                parts.append(" ")
            _gather(child, parts)
            if block:
                parts.append(" ")


def name_of(tree: Tree, element: Element, role: str) -> str:
    """Return the accessible name, collapsed and cut."""
    attrs = element.attrs
    if "aria-labelledby" in attrs:
        targets = [tree.by_id[i] for i in element.get("aria-labelledby").split() if i in tree.by_id]
        if name := collapse(" ".join(text_of(target) for target in targets)):
            return cut(name)
    if "aria-label" in attrs and (name := collapse(element.get("aria-label"))):
        return cut(name)
    return cut(_native_name(tree, element, role) or _last_names(element, role))


def _native_name(tree: Tree, element: Element, role: str) -> str:
    if element.tag == "input" and role == "button":
        kind = input_type(element)
        if kind == "image":
            return collapse(element.get("alt")) or "Submit"
        return collapse(element.get("value")) or {"submit": "Submit", "reset": "Reset"}.get(kind, "")
    if element.tag in _FIELDS:
        labels = tree.labels.get(element.key, ())
        return collapse(" ".join(text_of(label) for label in labels))
    return text_of(element) if role in _NAMED_BY_CONTENT else ""


def _last_names(element: Element, role: str) -> str:
    for name in ("title", "placeholder"):
        if text := collapse(element.get(name)):
            return text
    if role not in _NAMED_BY_CLASS:
        return ""
    words = element.get("class").replace("-", " ").replace("_", " ")
    return " ".join(dict.fromkeys(collapse(words).split(" ")))


def value_of(element: Element, role: str, form: FormState) -> str | None:
    """Return what a control holds, collapsed and cut; ``None`` when that is nothing."""
    if element.tag == "select":
        return cut(", ".join(option_label(option) for option in form.chosen(element))) or None
    if role in ("textbox", "combobox", "slider") and element.tag in _FIELDS:
        value = form.value(element)
        if element.tag == "input" and input_type(element) == "password":
            return cut("•" * len(value)) or None
        return cut(collapse(value)) or None
    if role == "slider":
        return collapse(element.get("aria-valuetext") or element.get("aria-valuenow")) or None
    return None


def is_disabled(element: Element) -> bool:
    """Return whether a form element cannot be used, by itself, by a fieldset around it, or by ARIA."""
    if element.attrs.get("aria-disabled") == "true":
        return True
    if element.tag not in _DISABLEABLE:
        return False
    if "disabled" in element.attrs:
        return True
    inner = element
    for outer in element.ancestors():
        if outer.tag == "fieldset" and "disabled" in outer.attrs and outer is not element:
            legend = next((c for c in outer.children if not isinstance(c, str) and c.tag == "legend"), None)
            if inner is not legend:
                return True
        inner = outer
    return False


def states_of(element: Element, role: str, form: FormState) -> tuple[str, ...]:
    """Return the states, in the order of ``snapshot.STATES``."""
    attrs, tag = element.attrs, element.tag
    states: list[str] = []
    if role in ("checkbox", "radio", "switch"):
        native = tag == "input" and input_type(element) in ("checkbox", "radio")
        if form.is_checked(element) if native else attrs.get("aria-checked") == "true":
            states.append("checked")
    if attrs.get("aria-selected") == "true":
        states.append("selected")
    if is_disabled(element):
        states.append("disabled")
    if "readonly" in attrs and tag in ("input", "textarea"):
        states.append("readonly")
    if ("required" in attrs and tag in _FIELDS) or attrs.get("aria-required") == "true":
        states.append("required")
    expanded = attrs.get("aria-expanded")
    if tag == "summary" and element.parent is not None and element.parent.tag == "details":
        expanded = "true" if "open" in element.parent.attrs else "false"
    if expanded in ("true", "false"):
        states.append("expanded" if expanded == "true" else "collapsed")
    if attrs.get("aria-invalid") == "true":
        states.append("invalid")
    return tuple(states)


def control_of(tree: Tree, element: Element, role: str, form: FormState) -> Control:
    """Return the control that an element with this role is."""
    options: tuple[str, ...] = ()
    if element.tag == "select":
        shown = [option for option in options_of(element) if "hidden" not in option.attrs]
        options = listed_options([option_label(option) for option in shown])
    return Control(
        element.key,
        role,
        name_of(tree, element, role),
        value_of(element, role, form),
        states_of(element, role, form),
        options,
    )
