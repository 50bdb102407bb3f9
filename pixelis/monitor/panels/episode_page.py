"""An episode as markup. Every text of it goes through `text_of`, so that it is shown and never acts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from pixelis.agents.episode_files.stored import StoredEpisode, StoredToken, StoredTurn, finite
from pixelis.agents.viewing.visible import in_plain

SHOWN = 20_000
"""Characters of a text that are shown at first; the rest is one click away."""
MOST_TURNS = 200
MOST_TOKENS = 4_000
MOST_CALLS = 50
"""Of a turn."""
MOST_MARKUP = 4_000_000
"""Characters of a page, after which no further turn is begun."""
COLOURINGS = ("probability", "entropy", "advantage", "nothing")
_LONGEST_TOKEN = 400
_MOST_BOXES = _MOST_TERMS = 40
_BOX_NAMES = ("view", "box", "boxes", "bbox")
Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in shares of the scene, or of a picture."""
_WHOLE: Box = (0.0, 0.0, 1.0, 1.0)
Address = Callable[[str], str | None]
"""From a picture's SHA-256 to where the browser gets it; None where its file is not there."""


def text_of(text: str) -> str:
    """Return markup that shows a text as it was written."""
    return escape(in_plain(text))


def page_of(episode: StoredEpisode, address: Address, more: str, colour_by: str = "probability") -> str:
    """Return an episode as markup.

    Args:
        episode: what is shown.
        address: of its pictures.
        more: address of the whole line, for texts that are too long to be shown at once.
        colour_by: what colours the tokens, one of `COLOURINGS`.
    """
    parts = [_head(episode)]
    if episode.turns is not None:
        boxes = drawn_boxes(episode)
        asked = _block("heard", _cut(episode.asked, more)) if episode.asked else ""
        parts.append(_section("first look", None, asked + _picture(episode, 0, boxes, address)))
        shown = 0
        for place, turn in enumerate(episode.turns[:MOST_TURNS], start=1):
            if sum(map(len, parts)) > MOST_MARKUP:
                break
            inside = _turn(turn, more, colour_by, episode.advantage_of(place))
            picture = _picture(episode, place, boxes, address)
            parts.append(_section(f"turn {place}", turn.reward, inside + picture, turn.terms))
            shown = place
        if len(episode.turns) > shown:
            parts.append(_note(f"{len(episode.turns) - shown} more turns", more))
    else:
        parts.append(_note("the file holds this episode as one text: it is of an older version"))
        parts.append(_block("said", _cut(episode.text, more)))
        parts += _calls(episode.calls, more)
    return f'<article class="episode">{"".join(parts)}</article>'


def drawn_boxes(episode: StoredEpisode) -> dict[int, list[tuple[int, Box]]]:
    """Return the boxes that stand on each picture: its place in the episode → turn and box.

    Calls name boxes in shares of the scene. A call's stand on the picture that was shown before its turn, as
    far as that shows them, and on the first picture, which shows all of the scene and frame 0 of a video.
    Those of another frame stand on neither.
    """
    found: dict[int, list[tuple[int, Box]]] = {}
    frame, view = 0, _WHOLE
    place, shown_frame, shown_view = 0, frame, view  # of the picture that is shown
    for number, turn in enumerate(episode.turns or (), start=1):
        for call in turn.calls:
            about = call.get("data")
            data: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
            frame = data["frame"] if isinstance(data.get("frame"), int) else frame
            for box in boxes_of(call):
                if place and frame == 0:
                    found.setdefault(0, []).append((number, box))
                if frame == shown_frame and (part := _part(box, shown_view)) is not None:
                    found.setdefault(place, []).append((number, part))
            opened = _boxes([data["view"]]) if isinstance(data.get("view"), list) else []
            view = opened[0] if opened and _part(opened[0], _WHOLE) is not None else view
        if number < len(episode.pictures) and episode.pictures[number] is not None:
            place, shown_frame, shown_view = number, frame, view
    return found


def boxes_of(call: Mapping[str, Any]) -> Iterator[Box]:
    """Yield the boxes that a call names, in shares of the scene, each in [0, 1]."""
    for source in (call.get("data"), call.get("arguments")):
        named = [source.get(name) for name in _BOX_NAMES] if isinstance(source, Mapping) else []
        found = [box for each in named if isinstance(each, list) for box in _boxes(each)]
        if found:  # where the call looked in the end says more than where it was asked to
            yield from found
            return


def probability_colour(logprob: float | None) -> str:
    """Return the colour of a token: none where it was sure, red where it was a long shot."""
    if logprob is None:
        return "transparent"
    doubt = 1.0 - math.exp(min(logprob, 0.0))
    return f"rgba(213,94,0,{0.65 * doubt:.2f})"


def entropy_colour(entropy: float | None) -> str:
    """Return the colour of a place: none where one token was certain, blue where many were open."""
    if entropy is None:
        return "transparent"
    return f"rgba(0,114,178,{0.65 * (1.0 - math.exp(-max(entropy, 0.0))):.2f})"


def advantage_colour(advantage: float | None) -> str:
    """Return the colour of what an advantage pushes: green for more of it, red for less."""
    if not advantage:
        return "transparent"
    strength = 0.15 + 0.45 * min(abs(advantage) / 2.0, 1.0)
    return f"rgba(0,158,115,{strength:.2f})" if advantage > 0 else f"rgba(213,94,0,{strength:.2f})"


# ---------------------------------------------------------------------- private


def _part(box: Box, view: Box) -> Box | None:
    """Return the part of a box of the scene that a view shows, in shares of the view; None for nothing."""
    (x0, y0, x1, y1), (left, top, right, bottom) = box, view
    x0, x1 = ((min(max(x, left), right) - left) / (right - left) for x in (x0, x1))
    y0, y1 = ((min(max(y, top), bottom) - top) / (bottom - top) for y in (y0, y1))
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


def _boxes(value: list[Any]) -> list[Box]:
    each = value[:_MOST_BOXES] if value and isinstance(value[0], list) else [value]
    found = [[finite(side) for side in box] for box in each if isinstance(box, list) and len(box) == 4]
    return [
        (box[0], box[1], box[2], box[3])
        for sides in found
        if len(box := [side for side in sides if side is not None and 0 <= side <= 1]) == 4
    ]


def _head(episode: StoredEpisode) -> str:
    badge = {True: ("good", "✓ success"), False: ("bad", "✗ failed"), None: ("unclear", "? not said")}
    kind, word = badge[episode.success]
    facts: list[tuple[str, Any]] = [
        ("reward", episode.reward),
        ("advantage", episode.mean_advantage),
        ("seed", episode.seed),
        ("member", episode.member),
        ("turns", episode.turn_count),
        ("level", episode.level or None),
        ("agent", episode.agent or None),
        ("mode", episode.mode or None),
    ]
    told = "".join(
        f"<span>{name} <b>{text_of(_short(value))}</b></span>" for name, value in facts if value is not None
    )
    cut = '<span class="badge unclear">ran out of turns</span>' if episode.truncated else ""
    why = f'<p class="failure">{text_of(episode.failure[:2000])}</p>' if episode.failure else ""
    return f'<header><span class="badge {kind}">{word}</span>{cut}{told}</header>{why}{_terms(episode)}'


def _terms(episode: StoredEpisode) -> str:
    if episode.reward_parts:
        columns = ("raw", "normalised", "weighted")
        head = "".join(f"<th>{name}</th>" for name in columns)
        rows = [
            "<tr><th>"
            + text_of(str(name))
            + "</th>"
            + "".join(f"<td>{text_of(_short(value.get(column)))}</td>" for column in columns)
            + "</tr>"
            for name, value in list(episode.reward_parts.items())[:_MOST_TERMS]
        ]
        return f'<table class="terms"><tr><th></th>{head}</tr>{"".join(rows)}</table>'
    told = "".join(
        f"<span>{text_of(str(name))} <b>{text_of(_short(value))}</b></span>"
        for name, value in list(episode.reward_terms.items())[:_MOST_TERMS]
    )
    return f'<p class="facts">{told}</p>' if told else ""


def _section(title: str, reward: float | None, inside: str, terms: Mapping[str, float] | None = None) -> str:
    paid = "" if reward is None else f"<span>reward <b>{_short(reward)}</b></span>"
    for name, value in list((terms or {}).items())[:_MOST_TERMS]:
        paid += f"<span>{text_of(name[:80])} <b>{_short(value)}</b></span>"
    return f"<section><h4>{title}{paid}</h4>{inside}</section>"


def _turn(turn: StoredTurn, more: str, colour_by: str, advantage: float | None) -> str:
    inside = [_block("said", _tokens(turn, colour_by, advantage) or _cut(turn.action, more))]
    inside += _calls(turn.calls, more, turn.heard or "")
    inside += [_block("heard", _cut(turn.heard, more))] if turn.heard else []
    return "".join(inside)


def _picture(
    episode: StoredEpisode, place: int, boxes: Mapping[int, Sequence[tuple[int, Box]]], address: Address
) -> str:
    """Return the picture before the first turn (0) or after the n-th, nothing where none was kept."""
    about = episode.pictures[place] if place < len(episode.pictures) else None
    what = f"turn {place}" if place else "first look"
    if about is None:
        return ""
    source = address(about["sha256"])
    if source is None:
        return _note(f"the picture of the {what} is not in trajectories/images any more")
    return _figure(source, boxes.get(place, ()), what)


def _tokens(turn: StoredTurn, colour_by: str, advantage: float | None) -> str:
    if not turn.sampled or colour_by == "nothing":
        return ""
    told: list[str] = []
    left = SHOWN
    for token in turn.sampled[:MOST_TOKENS]:
        if left <= 0:
            break
        told.append(_token(token, colour_by, advantage))
        left -= min(len(token.text), _LONGEST_TOKEN)
    rest = len(turn.sampled) - len(told)
    return "".join(told) + (f" … {rest} more tokens" if rest > 0 else "")


def _token(token: StoredToken, colour_by: str, advantage: float | None) -> str:
    colour = {
        "probability": probability_colour(token.logprob),
        "entropy": entropy_colour(token.entropy),
    }.get(colour_by, advantage_colour(advantage))
    tips = [] if token.logprob is None else [f"probability {math.exp(min(token.logprob, 0.0)):.3g}"]
    tips += [] if token.entropy is None else [f"entropy {token.entropy:.3g} nats"]
    text = token.text[:_LONGEST_TOKEN] + ("…" if len(token.text) > _LONGEST_TOKEN else "")
    return f'<span class="token" style="background:{colour}" title="{", ".join(tips)}">{text_of(text)}</span>'


def _figure(source: str, boxes: Sequence[tuple[int, Box]], title: str) -> str:
    """Return a picture with boxes, each with the number of its turn."""
    drawn = numbers = ""
    for turn, (x0, y0, x1, y1) in boxes[:_MOST_BOXES]:
        if x1 > x0 and y1 > y0:
            drawn += f'<rect x="{100 * x0:.2f}" y="{100 * y0:.2f}" '
            drawn += f'width="{100 * (x1 - x0):.2f}" height="{100 * (y1 - y0):.2f}"/>'
            place = f"left:{100 * x0:.2f}%;top:{100 * y0:.2f}%"
            numbers += f'<span class="of-turn" style="{place}" title="a box of turn {turn}">{turn}</span>'
    over = f'<svg viewBox="0 0 100 100" preserveAspectRatio="none">{drawn}</svg>{numbers}' if drawn else ""
    return f'<figure><img loading="lazy" src="{escape(source)}" alt="picture of the {title}">{over}</figure>'


def _calls(calls: Sequence[Mapping[str, Any]], more: str, heard: str = "") -> list[str]:
    told = [_call(call, heard) for call in calls[:MOST_CALLS]]
    return told + ([_note(f"{len(calls) - MOST_CALLS} more calls", more)] if len(calls) > MOST_CALLS else [])


def _call(call: Mapping[str, Any], heard: str = "") -> str:
    """Return a call, with its text where the observation that followed does not hold it."""
    ok = call.get("ok")
    kind = {True: "good", False: "bad"}.get(ok, "unclear") if isinstance(ok, bool) else "unclear"
    name, code = str(call.get("tool") or "no call"), call.get("error_code")
    arguments = json.dumps(call.get("arguments"), ensure_ascii=False, default=str)[:4_000]
    result = str(call.get("text") or "")
    result = "" if result.strip() in heard else result[:4_000]
    told = f'<span class="badge bad">{text_of(str(code)[:200])}</span>' if code else ""
    return (
        f'<div class="call {kind}"><b>{text_of(name[:200])}</b> <code>{text_of(arguments)}</code>{told}'
        f"<span>{text_of(result)}</span></div>"
    )


def _block(kind: str, markup: str) -> str:
    return f'<pre class="{kind}" dir="ltr">{markup}</pre>'


def _cut(text: str, more: str) -> str:
    if len(text) <= SHOWN:
        return text_of(text)
    return text_of(text[:SHOWN]) + _note(f"… {len(text) - SHOWN:,} more characters", more)


def _note(text: str, more: str = "") -> str:
    link = f' <a href="{escape(more)}" target="_blank" rel="noopener">show all as text</a>' if more else ""
    return f'<span class="note">{escape(text)}{link}</span>'


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)[:200]
