"""A web site as a function: a request and a state to a response. Both backends speak to this."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

State = dict[str, Any]
"""What a site remembers; JSON values only."""

MAX_VISITED = 1_000


@dataclass(frozen=True)
class Request:
    """What a browser asks for.

    Attributes:
        method: ``GET`` or ``POST``.
        path: begins with ``/``.
        query: name → values, of the address.
        form: name → values, of the body of a POST.
    """

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    form: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, method: str, target: str, body: str = "") -> Request:
        """Return the request for a path with its query, and the urlencoded body of a POST."""
        path, _, query = target.partition("?")
        return cls(method, path, _fields(query), _fields(body))

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a field of the form, else of the query."""
        for fields in (self.form, self.query):
            if fields.get(name):
                return fields[name][0]
        return default

    def number(self, name: str, default: int) -> int:
        """Return the first value of a field as a whole number of at most nine digits; else ``default``."""
        text = self.get(name).strip()
        return int(text) if text.isdecimal() and len(text) <= 9 else default

    def all(self, name: str) -> list[str]:
        """Return every value of a field of the form, else of the query."""
        return list(self.form.get(name) or self.query.get(name) or [])


def _fields(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=1_000) if text else {}
    except ValueError:  # too many fields: no form of ours sends them
        return {}


@dataclass(frozen=True)
class Response:
    """What a site says: a page, or (``location`` not empty) where to go.

    Attributes:
        status: of HTTP.
        html: the page; empty with a redirect.
        location: path and query of a redirect.
    """

    status: int
    html: str = ""
    location: str = ""

    @classmethod
    def page(cls, html: str, status: int = 200) -> Response:
        """Return a page."""
        return cls(status, html)

    @classmethod
    def redirect(cls, location: str) -> Response:
        """Return a redirect that is followed with GET."""
        return cls(303, "", location)


Handler = Callable[[State, Request], Response]


class SiteSession:
    """One episode's copy of a site. Sessions share nothing that can change.

    Args:
        handler: ``(state, request) -> response``; changes the state in place.
        state: the site's first state; it is copied.
        start: path of the first page.

    Attributes:
        token: unguessable; the HTTP server tells sessions apart by it.
        state: what the site remembers now.
        visited: paths and queries of the pages that were loaded, in order.
    """

    def __init__(self, handler: Handler, state: State, start: str = "/") -> None:
        self.token = secrets.token_urlsafe(24)
        self.start = start
        self.state: State = json.loads(json.dumps(state))  # JSON by contract, and faster than deepcopy
        self.visited: list[str] = []
        self._handler = handler

    def handle(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            RuntimeError: the site answered a POST with a page (a mistake of the site's, see
                docs/reference/web_pages.md).
        """
        response = self._handler(self.state, request)
        if request.method == "POST" and not response.location:
            raise RuntimeError(f"POST {request.path} was answered with a page; a site redirects after a POST")
        if not response.location and len(self.visited) < MAX_VISITED:
            self.visited.append(request.path)
        return response
