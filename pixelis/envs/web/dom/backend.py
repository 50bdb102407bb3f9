"""The in-process browser: no JavaScript, no network, thousands of steps a second."""

from __future__ import annotations

import numpy as np

from pixelis.envs.web.dom.accessible import role_of
from pixelis.envs.web.dom.document import DomDocument
from pixelis.envs.web.dom.forms import (
    default_button,
    encode,
    entries,
    first_invalid,
    form_of,
    is_reset,
    is_submit,
    sends_without_button,
)
from pixelis.envs.web.dom.tree import Element
from pixelis.envs.web.page.addresses import resolve
from pixelis.envs.web.page.backend import Back, Click, Goto, PageAction, PageActionError, Select, Type
from pixelis.envs.web.page.snapshot import NO_PREVIOUS_PAGE, Snapshot, not_sent
from pixelis.envs.web.sites.site import Request, SiteSession
from pixelis.errors import ConfigError

MAX_REDIRECTS = 10


class DomBackend:
    """Plays our own sites in process (``backend.Backend``)."""

    def __init__(self) -> None:
        self._session: SiteSession | None = None
        self._document: DomDocument | None = None
        self._history: list[str] = []
        self._generation = 0

    def open(self, source: SiteSession | str) -> Snapshot:
        """Begin an episode on a site.

        Raises:
            ConfigError: ``source`` is an address; pages of others need a real browser.
        """
        if isinstance(source, str):
            raise ConfigError(f"the dom backend opens sites of Pixelis only, got {source!r}; use 'chromium'")
        self._session, self._history, self._generation = source, [], 0
        self._load("GET", source.start)
        return self._snapshot("")

    def act(self, action: PageAction) -> Snapshot:
        """Carry out one action.

        Raises:
            PageActionError: it cannot be carried out; nothing has changed.
        """
        before = self._page.generation
        notice = self._do(action)
        if self._page.generation == before:
            self._page.tick()
        return self._snapshot(notice)

    def screenshot(self) -> np.ndarray | None:
        """Return ``None``: nothing is drawn."""
        return None

    def reveal(self, key: int | None) -> None:
        """Do nothing: there is no window."""

    def accessibility(self) -> str | None:
        """Return ``None``: the tree is the real browser's."""
        return None

    def close(self) -> None:
        """Forget the episode."""
        self._session = self._document = None

    # ------------------------------------------------------------------ actions

    @property
    def _page(self) -> DomDocument:
        assert self._document is not None  # open() loads one
        return self._document

    def _do(self, action: PageAction) -> str:
        match action:
            case Click(key):
                return self._click(self._page.element(key))
            case Type(key, text, submit):
                element = self._page.element(key)
                notice = self._page.type_into(element, text)
                element = self._page.tree.by_key[key]  # of the copy, where suggestions came under the field
                return (self._enter(element) if submit and element.tag == "input" else "") or notice
            case Select(key, option):
                self._page.select(self._page.element(key), option)
            case Goto(url):
                self._follow(url)
            case Back():
                if len(self._history) < 2:
                    return NO_PREVIOUS_PAGE
                self._history.pop()
                self._load("GET", self._history.pop())
        return ""

    def _click(self, element: Element) -> str:
        if role_of(element) == "link" and "href" in element.attrs:
            target = resolve(self._page.url, element.get("href"))
            if target is None:
                raise PageActionError("off_site")
        self._page.press_widget(element)
        element = self._page.tree.by_key.get(element.key, element)  # of the copy that a widget has changed
        if "href" in element.attrs:
            self._follow(element.get("href"))
        elif is_submit(element):
            form = form_of(self._page.tree, element)
            return "" if form is None else self._submit(form, element)
        elif is_reset(element):
            self._page.reset_form(element)
        return ""

    def _follow(self, address: str) -> None:
        """Load an address, unless it is another place on this page."""
        target = resolve(self._page.url, address)
        if target is None:
            raise PageActionError("off_site")
        path, _ = target
        if "#" not in address or path != self._page.url:
            self._load("GET", path)

    def _enter(self, element: Element) -> str:
        tree = self._page.tree
        form = form_of(tree, element)
        if form is None:
            return ""
        button = default_button(tree, form)
        if button is not None:
            try:
                return self._click(self._page.element(button.key))
            except PageActionError:  # disabled, hidden or covered: Enter does nothing then
                return ""
        return self._submit(form, None) if sends_without_button(tree, form) else ""

    def _submit(self, form: Element, submitter: Element | None) -> str:
        page = self._page
        button = submitter.attrs if submitter is not None else {}
        if "novalidate" not in form.attrs and "formnovalidate" not in button:
            problem = first_invalid(page.tree, page.form, form)
            if problem is not None:
                return self._not_sent(*problem)
        pairs = entries(page.tree, page.form, form, submitter)
        method = (button.get("formmethod") or form.get("method") or "get").upper()
        target = resolve(page.url, button.get("formaction") or form.get("action"))
        if target is None:
            raise PageActionError("off_site")
        if method == "POST":
            self._load("POST", target[0], encode(pairs))
        else:
            self._load("GET", f"{target[0].partition('?')[0]}?{encode(pairs)}")
        return ""

    def _not_sent(self, element: Element, problem: str) -> str:
        control = self._page.control(element)
        return not_sent(control.role, control.name, problem)

    # ------------------------------------------------------------------ loading

    def _load(self, method: str, target: str, body: str = "") -> None:
        assert self._session is not None  # open() sets it
        response = self._session.handle(Request.of(method, target, body))
        for _ in range(MAX_REDIRECTS):
            if not response.location:
                break
            moved = resolve(target, response.location)
            if moved is None:
                raise PageActionError("off_site")
            target = moved[0]
            response = self._session.handle(Request.of("GET", target))
        else:
            raise PageActionError("timeout", "The page redirects for ever.")
        self._generation += 1
        self._document = DomDocument(response.html, target, self._generation)
        if not self._history or self._history[-1] != target:
            self._history.append(target)

    def _snapshot(self, notice: str) -> Snapshot:
        page = self._page
        return Snapshot(page.url, page.tree.title, tuple(page.lines()), page.generation, notice)
