"""A family's site with a few hand-written things in it; each request is one line of a test."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from pixelis.envs.web.dom.tree import Element, parse_html
from pixelis.envs.web.families.family import SITE, SiteStatus, open_session, outcome
from pixelis.envs.web.page.snapshot import collapse
from pixelis.envs.web.sites.levels import WebDifficulty, WebLevel
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Request
from pixelis.envs.web.sites.theme import draw_theme


class SmallSite:
    """One session of a site without dials.

    Attributes:
        level: what the site is made of.
        state: what its server remembers now.
    """

    def __init__(self, family: str, data: dict[str, Any], state: dict[str, Any], goal: dict[str, Any]):
        dials = WebDifficulty()
        theme = draw_theme(SeededRandom(0), dials, "train", {})
        state = {**state, SITE: {"pages": 0, "obeyed": [], "extras": [], "seen": []}}
        self.level = WebLevel(family, dials, "", data, state, goal, theme)
        self._session = open_session(self.level)
        self.state = self._session.state

    def get(self, path: str, **query: object) -> Element:
        """Return the body of a page."""
        response = self._session.handle(Request.of("GET", f"{path}?{urlencode(query)}" if query else path))
        assert not response.location, f"{path} redirects to {response.location}"
        return parse_html(response.html).body

    def post(self, path: str, **form: object) -> str:
        """Send a form; return where the site leads to."""
        return self._session.handle(Request.of("POST", path, urlencode(form, doseq=True))).location

    def leads_to(self, path: str) -> str:
        """Return where an address redirects to; empty when it is a page."""
        return self._session.handle(Request.of("GET", path)).location

    def texts(self, tag: str, path: str, **query: object) -> list[str]:
        """Return the texts of a page's elements of one tag, as they are read."""
        return [collapse(one.text()) for one in self.get(path, **query).elements() if one.tag == tag]

    @property
    def status(self) -> SiteStatus:
        """What the judge of the episode sees."""
        return outcome(self.level, self.state)
