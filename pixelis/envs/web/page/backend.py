"""What drives a page: the contract of the in-process and the real browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pixelis.envs.web.page.snapshot import Snapshot

if TYPE_CHECKING:
    from pixelis.envs.web.sites.site import SiteSession

ERROR_CODES = (
    "unknown_id",
    "stale",
    "hidden",
    "covered",
    "disabled",
    "not_editable",
    "no_such_option",
    "off_site",
    "timeout",
    "missed",
    "crashed",
    "page_lost",
)
"""Why an action on a page was not carried out. The first two are the environment's, the rest a backend's."""


@dataclass(frozen=True, slots=True)
class Click:
    """Press the control ``key`` of the last snapshot."""

    key: int


@dataclass(frozen=True, slots=True)
class Type:
    """Replace what a field holds by ``text``; with ``submit``, press Enter then."""

    key: int
    text: str
    submit: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """Choose an option of a select by its label (in a list of many: take it in or out)."""

    key: int
    option: str


@dataclass(frozen=True, slots=True)
class Goto:
    """Load an address of the same site, absolute or relative to the page."""

    url: str


@dataclass(frozen=True, slots=True)
class Back:
    """Return to the page before, loaded anew; fields are empty again."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Let one step go by."""


PageAction = Click | Type | Select | Goto | Back | Wait


class PageActionError(Exception):
    """An action could not be carried out; the page is as it was, or ``page``.

    Attributes:
        code: one of ``ERROR_CODES``.
        message: what would be right, for the model; empty: ``MESSAGES[code]``.
        page: the page as it is now, where the attempt has changed it and it was looked at.
    """

    def __init__(self, code: str, message: str = "", page: Snapshot | None = None) -> None:
        super().__init__(message or MESSAGES[code])
        self.code = code
        self.message = message or MESSAGES[code]
        self.page = page


class BackendFailure(Exception):
    """The browser itself failed: it died, or does not answer. The episode says nothing of the policy.

    What a page does is never one, however bad: that is a ``PageActionError``.
    """


MESSAGES = {
    "unknown_id": "No element with this id was shown. Use an id as it is written on the page, e.g. e12@v7.",
    "stale": "The page has changed since this id was shown. Use the ids of the last observation.",
    "hidden": "The element is not visible now. Open the menu, tab or dialog that it is in first.",
    "covered": "Something lies over the element. Close the dialog that is open first.",
    "disabled": "The element is disabled. Do first what the page asks for.",
    "not_editable": "Nothing can be entered here. TYPE needs a textbox, SELECT a combobox or listbox.",
    "no_such_option": "There is no such option.",
    "off_site": "This leads away from the site, which is not allowed. Use a path of this site, e.g. /.",
    "timeout": "The page did not answer in time. Try something else.",
    "missed": "The mouse did not reach the element: it moves away. Try it again, or another way.",
    "crashed": "The page crashed and was loaded anew. What was entered on it is lost.",
    "page_lost": "The page can no longer be shown, whatever is tried; the episode ends.",
}


class Backend(Protocol):
    """Loads pages, acts on them, and says what is on them.

    ``act`` checks in this order: the key (``stale`` if its element is no longer in the document), ``hidden``,
    ``covered``, ``disabled``, ``not_editable``, ``no_such_option``.
    """

    def open(self, source: SiteSession | str) -> Snapshot:
        """Begin an episode: on a site of ours at its start page, or on any page by its address.

        Raises:
            BackendFailure: the browser failed.
            PageActionError: ``timeout``; the page cannot be loaded.
        """
        ...

    def act(self, action: PageAction) -> Snapshot:
        """Carry out one action and return the page after it has settled.

        Raises:
            PageActionError: it cannot be carried out; nothing has changed.
            BackendFailure: the browser failed.
        """
        ...

    def screenshot(self) -> np.ndarray | None:
        """Return the visible part of the page, uint8 ``(H, W, 3)``, or ``None`` where nothing is drawn.

        Raises:
            BackendFailure: the browser failed.
            PageActionError: ``timeout``: the page did not paint in time; it stays as it is.
        """
        ...

    def reveal(self, key: int | None) -> None:
        """Scroll the window to the control ``key`` of the last snapshot, or to the top; for ``screenshot``.

        Raises:
            BackendFailure: the browser failed.
        """
        ...

    def accessibility(self) -> str | None:
        """Return the page's accessibility tree as text, or ``None`` where there is none.

        Raises:
            BackendFailure: the browser failed.
            PageActionError: ``timeout``.
        """
        ...

    def close(self) -> None:
        """Let go of everything; a second call does nothing."""
        ...
