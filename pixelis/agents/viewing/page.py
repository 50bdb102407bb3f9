"""Episodes as one HTML file: no script, nothing from elsewhere, and model text is text.

The page's own content security policy lets it load nothing but its ``data:`` pictures and its style.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.viewing.aligned import align, word_pieces
from pixelis.agents.viewing.sheet import Sheet
from pixelis.agents.viewing.visible import in_html


def episodes_page(
    sheets: Sequence[Sheet], title: str, problems: Sequence[str] = (), *, side_by_side: bool = False
) -> str:
    """Return a page of episodes.

    Args:
        sheets: what is shown.
        title: of the page.
        problems: what could not be read.
        side_by_side: put them into columns, as the members of a group.
    """
    return _render(sheets=sheets, title=title, problems=problems, side_by_side=side_by_side, pairs=None)


def diff_page(left: Sheet, right: Sheet, title: str, problems: Sequence[str] = ()) -> str:
    """Return a page of two episodes, aligned by turn; words that one side alone said are marked."""
    pairs = diff_pairs(left, right)
    return _render(sheets=(left, right), title=title, problems=problems, side_by_side=True, pairs=pairs)


def diff_pairs(left: Sheet, right: Sheet) -> list[dict[str, Any]]:
    """Return the turns of two episodes in pairs, with what each said in pieces; for the macro ``diff``."""
    pairs = []
    said = [turn.action for turn in left.turns], [turn.action for turn in right.turns]
    for one, other, _ in align(*said):
        words = (None, None) if one is None or other is None else word_pieces(said[0][one], said[1][other])
        pairs.append(
            {
                "left": None if one is None else left.turns[one],
                "right": None if other is None else right.turns[other],
                "left_said": words[0],
                "right_said": words[1],
            }
        )
    return pairs


@lru_cache(1)
def templates() -> Environment:
    """Return the environment of the templates, escaping everything; ``visible`` marks what nobody sees.

    Other rooms' templates stand beside those of this one and may extend ``frame.html``.
    """
    rooms = ("pixelis.agents.viewing", "pixelis.agents.analysis")
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(room, "templates") for room in rooms]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    safe = environment.filters["safe"]
    environment.filters.update(visible=lambda text: safe(in_html(str(text))), number=number, facts=facts)
    return environment


def render(template: str, **values: Any) -> str:
    """Return a page made of a template."""
    return templates().get_template(template).render(**values).encode("utf-8", "replace").decode()


def number(value: Any) -> str:
    """Return a number, or several, in four digits; a dash for none."""
    if isinstance(value, tuple):
        return ", ".join(map(number, value))
    return "–" if value is None else f"{value:.4g}"


def facts(episode: StoredEpisode) -> str:
    """Return what is known of an episode besides its end, in one line."""
    of_task = ((name, episode.task.get(name)) for name in ("family", "difficulty", "split"))
    told = [f"{name} {value}" for name, value in of_task if value is not None]
    who = " ".join(part for part in (episode.agent, episode.mode) if part)
    told += [f"seed {episode.seed}"] if episode.seed is not None else []
    return " · ".join([*([who] if who else []), *told, episode.where])


def _render(**values: Any) -> str:
    return render("episodes.html", **values)
