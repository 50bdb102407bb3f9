"""Pages from templates: Jinja2 with autoescape; the dials' boxes are put in here, for every family alike."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Response, State

if TYPE_CHECKING:
    from pixelis.envs.web.sites.levels import WebLevel


@lru_cache(1)
def templates() -> Environment:
    """Return the environment of the templates; compiled once a process."""
    environment = Environment(
        loader=PackageLoader("pixelis.envs.web.sites", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters["money"] = money
    return environment


def money(cents: int) -> str:
    """Return an amount as pages write it: ``$1,234.50``."""
    return f"${cents // 100:,}.{cents % 100:02d}"


def render(level: WebLevel, state: State, template: str, **context: Any) -> Response:
    """Return a page.

    The template extends ``base.html`` and sees ``level``, ``theme``, ``w`` (phrase → words of this site),
    ``order`` (puts
    its sections into the level's order) and what is in ``context``. Counts the page, because pop-ups and
    delays go by that.
    """
    site = state["_site"]
    number = site["pages"]
    site["pages"] = number + 1
    theme = level.theme
    words = theme["words"]
    every = theme["delay"]["every"]
    html = (
        templates()
        .get_template(template)
        .render(
            level=level,
            state=state,
            theme=theme,
            w=lambda phrase: words.get(phrase, phrase),
            order=lambda names: ordered(level, names),
            popup=theme["popups"].get(str(number)),
            delay=theme["delay"]["after"] if every and number % every == every - 1 else 0,
            **context,
        )
    )
    return Response.page(html)


def ordered(level: WebLevel, names: list[Any]) -> list[Any]:
    """Return sections (or fields) in the level's order: as given, or shuffled by the layout dial."""
    seed = level.theme["layout"]["order"]
    return SeededRandom(seed + len(names)).shuffled(names) if seed else list(names)
