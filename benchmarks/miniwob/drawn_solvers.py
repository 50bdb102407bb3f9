"""Scripted solvers of MiniWoB++ tasks with drawings and games; see ``basic_solvers.py``."""

from __future__ import annotations

import re
from functools import lru_cache

from miniwob_player import NotThere, Player, Seen


def centre(one: Seen) -> tuple[int, int]:
    """Return where a drawn shape is, as its name says."""
    x, y = re.findall(r"at (-?\d+),(-?\d+)", one.name)[-1]
    return int(x), int(y)


def press_coordinate(play: Player) -> None:
    """Press a point of a grid from -2 to 2."""
    x, y = map(int, play.find(r"\((-?\d),(-?\d)\)").groups())
    points = [one for one in play.all("clickable", r".* circle .*")]
    across, down = sorted({centre(one)[0] for one in points}), sorted({centre(one)[1] for one in points})
    goal = across[x + 2], down[2 - y]
    play.call("CLICK", id=next(one.id for one in points if centre(one) == goal))


_COLOURS = {"red", "green", "blue", "aqua", "cyan", "magenta", "yellow", "black"}


def _has_colour(one: Seen, colours: set[str]) -> bool:
    return any(f"{colour.replace('aqua', 'cyan')} " in one.name for colour in colours)


def _fits(one: Seen, asked: str) -> bool:
    size = max(map(int, re.findall(r"(\d+)x(\d+)", one.name)[-1]))
    drawn_text = " text " in one.name
    if letter := re.search(r"(?:^| )([A-Za-z0-9])s?$", asked):
        of_colour = not (colours := _COLOURS & set(asked.split())) or _has_colour(one, colours)
        return drawn_text and one.name.startswith(f"{letter.group(1)} ") and of_colour
    if ("large" in asked and size < 15) or ("small" in asked and size >= 15):
        return False
    colours = _COLOURS & set(asked.split())
    if colours and not _has_colour(one, colours):
        return False
    kind = re.search(r"(circle|triangle|rectangle|square|digit|letter|shape|item)s?", asked)
    match kind.group(1) if kind else "item":
        case "digit":
            return drawn_text and one.name[0].isdigit()
        case "letter":
            return drawn_text and one.name[0].isalpha()
        case "shape":
            return not drawn_text
        case "item":
            return True
        case word:
            return not drawn_text and (word in one.name or (word == "rectangle" and "square" in one.name))


def press_shape(play: Player) -> None:
    """Press a shape of a colour, kind and size."""
    asked = re.sub(r"^Click on an? ", "", play.asked).rstrip(".")
    play.call("CLICK", id=next(one.id for one in _drawn(play) if _fits(one, asked)))


def _drawn(play: Player) -> list[Seen]:
    found = play.all("clickable", r".* \d+x\d+ at -?\d+,-?\d+")
    return [one for one in found if "drawing " not in one.name]


def count_shapes(play: Player) -> None:
    """Press the number of shapes that fit."""
    asked = play.find(r"How many (.*) are there").group(1)
    count = sum(_fits(one, asked) for one in _drawn(play))
    play.click("button", str(count))


def name_shape(play: Player) -> None:
    """Press the button that names the shape."""
    shape = _drawn(play)[0]
    text = " text " in shape.name
    name = ("Number" if shape.name[0].isdigit() else "Letter") if text else shape.name.split()[1].capitalize()
    play.click("button", name.replace("Square", "Rectangle"))


def win_at_noughts(play: Player) -> None:
    """Choose the cell with the best prospects against an opponent who plays at random."""
    while not play.over:
        cells = play.all("clickable", r".*(ttt|mark).*")[-9:]
        board = "".join("x" if "mark x" in c.name else "o" if "mark o" in c.name else "." for c in cells)
        free = [place for place in range(9) if board[place] == "."]
        if not free:
            break
        best = max(free, key=lambda place: _prospects(_put(board, place, "x"), "o"))
        play.call("CLICK", id=cells[best].id)


_LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def _put(board: str, place: int, mark: str) -> str:
    return f"{board[:place]}{mark}{board[place + 1 :]}"


@lru_cache(None)
def _prospects(board: str, turn: str) -> float:
    """Return the chance that x wins, who plays as well as can be, against a random o."""
    for mark, chance in (("x", 1.0), ("o", 0.0)):
        if any(all(board[int(place)] == mark for place in line) for line in _LINES):
            return chance
    free = [place for place in range(9) if board[place] == "."]
    if not free:
        return 0.0
    after = [_prospects(_put(board, place, turn), "o" if turn == "x" else "x") for place in free]
    return max(after) if turn == "x" else sum(after) / len(after)


def press_ascending(play: Player) -> None:
    """Press numbers in order; after the first they are hidden, so their places are remembered."""
    places = [
        centre(one)
        for one in sorted(play.all("clickable", r"\d+ .*"), key=lambda one: int(one.name.split()[0]))
    ]
    for x, y in places:
        nearest = min(_drawn(play), key=lambda one: abs(centre(one)[0] - x) + abs(centre(one)[1] - y))
        play.call("CLICK", id=nearest.id)


def open_tree(play: Player) -> None:
    """Open folders until the name is there, press it."""
    name, opened = re.escape(play.quoted()[0]), set()
    while not play.over and not play.all("clickable", name):
        folder = next(
            (one for one in play.all("clickable", "hitarea expandable.*") if one.id not in opened), None
        )
        if folder is None:
            raise NotThere(name)
        opened.add(folder.id)
        play.call("CLICK", id=folder.id)
    play.click("clickable", name, n=-1)
