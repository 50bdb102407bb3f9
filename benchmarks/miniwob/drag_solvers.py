"""Scripted solvers of MiniWoB++ tasks with drags, lines and made-up widgets; see ``basic_solvers.py``."""

from __future__ import annotations

import math
import re

from basic_solvers import esc
from drawn_solvers import centre
from miniwob_player import NotThere, Player, Seen
from more_solvers import mark_point, point_of

_PLACES = {"top": 1, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5}


def search_menu(play: Player) -> None:
    """Open the menu, and one submenu after the other, until the item with the name or the icon is there."""
    quoted = re.search(r'labeled "(.*?)"', play.asked)
    icon = re.search(r'image "([^"]*)" icon', "\n".join(play.page))
    play.click("button", "Menu")

    def fitting() -> list[Seen]:
        if quoted is not None:
            return play.all("menuitem", esc(quoted.group(1)))
        lines = [n for n, line in enumerate(play.page) if n and icon and f'image "{icon.group(1)}"' in line]
        return [one for one in play.all("menuitem") if one.line in lines]

    for top in [one for one in play.all("menuitem") if one.name]:
        if fitting():
            break
        play.call("HOVER", id=top.id)
    if not fitting():
        raise NotThere(play.asked)
    play.call("CLICK", id=fitting()[0].id)


def choose_made_up(play: Player) -> None:
    """Choose from a list that is made of other elements, press a button."""
    option = play.find(r"Choose (.*?) from").group(1)
    play.click("clickable", "▾")
    play.click("clickable", esc(option))
    play.click("button", esc(play.quoted()[0]))


def make_event(play: Player) -> None:
    """Drag over the half hours of a calendar, name the event, create it."""
    words = play.find(r"Create an? ([\d.]+) (hour|min)\w* event named \"(\w+)\", between (\w+) and (\w+)")
    size, unit, name, start, end = words.groups()
    halves = int(float(size) * 2) if unit == "hour" else int(size) // 30
    for first in _half_hours(play, start, end, halves):
        cells = [play.one("clickable", f"hh-{n} .*").id for n in (first, first + halves - 1)]
        is_free = play.call("HOVER", id=cells[1])  # what lies over it is another event
        if is_free:
            play.call("DRAG", id=cells[0], to=cells[1], to_point=[0.5, 0.8])
        if play.all("textbox", "Event name"):
            break
    play.type(name, "Event name")
    play.click("button", "Create")


def _half_hours(play: Player, start: str, end: str, halves: int) -> range:
    first, last = _half_hour(start), _half_hour(end) or 48
    if last - first < halves:
        raise NotThere(f"{halves} half hours between {start} and {end}")
    return range(first, last - halves + 1)


def _half_hour(said: str) -> int:
    hour = int(re.findall(r"\d+", said)[0]) % 12 + 12 * said.upper().endswith("PM")
    return 2 * hour


def drag_item(play: Player) -> None:
    """Drag a name up, down or to a place in a list."""
    name, where = play.find(r"Drag (\w+) (.*)\.").groups()
    items = [one for one in play.all("clickable", r"[A-Z]\w*")]
    at = next(n for n, one in enumerate(items, 1) if one.name == name)
    place = re.search(r"top|\d\w\w", where)
    goal = _PLACES[place.group()] if place else len(items) if "bottom" in where else at
    goal += ("down by" in where) - ("up by" in where)
    play.call("DRAG", id=items[at - 1].id, to=items[goal - 1].id, to_point=[0.5, 0.1 if goal < at else 0.9])


_STEPS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_GRID = {"top": (None, 0), "bottom": (None, 2), "left": (0, None), "right": (2, None)}


def drag_in_grid(play: Player) -> None:
    """Drag a name of a grid of three by three one further, or to a corner or the middle."""
    name, where = play.find(r"Drag (\w+) (.*)\.").groups()
    items = play.all("clickable", r"[A-Z]\w*")
    column, row = next((n % 3, n // 3) for n, one in enumerate(items) if one.name == name)
    start = items[3 * row + column]
    if "by one" in where:
        way = _STEPS[re.findall("up|down|left|right", where)[0]]
        column, row = column + way[0], row + way[1]
    else:
        column, row = 1, 1
        for word in re.findall("top|bottom|left|right", where):
            column, row = (
                column if _GRID[word][0] is None else _GRID[word][0],
                row if _GRID[word][1] is None else _GRID[word][1],
            )
    goal = items[3 * row + column]
    back = items.index(goal) < items.index(start)
    play.call("DRAG", id=start.id, to=goal.id, to_point=[0.1, 0.1] if back else [0.9, 0.9])


_KINDS = ("circle", "triangle", "square", "rectangle")


def _is_kind(shape: Seen, word: str) -> bool:
    kind = shape.name.split()[1]
    return kind == word or {kind, word} == {"square", "rectangle"}


def drag_into_boxes(play: Player) -> None:
    """Drag shapes of a kind into a box, and where two boxes are named, the rest into the other."""
    shapes = [one for one in play.all("clickable", r"\w+ \w+ \d+x\d+ at .*")]
    size = {one.id: int(re.findall(r"(\d+)x", one.name)[0]) for one in shapes}
    boxes = sorted((one for one in shapes if size[one.id] >= 40), key=lambda one: centre(one)[0])
    asked = play.asked.lower()
    colour = re.search(r"all (\w+) shapes", asked)
    word = next((kind for kind in _KINDS if kind in asked), "")
    first = re.search(r"(left|right) box", asked)
    into = boxes[-1] if first and first.group(1) == "right" else boxes[0]
    other = next((box for box in boxes if box is not into), None)
    filled = {box.id: 0 for box in boxes}
    for shape in shapes:
        fits = shape.name.startswith(f"{colour.group(1)} ") if colour else _is_kind(shape, word)
        box = into if fits else other
        if box is not None and size[shape.id] < 40:
            place = filled[box.id]
            filled[box.id] += 1
            point = [0.2 + 0.3 * (place % 3), 0.25 + 0.25 * (place // 3)]
            play.call("DRAG", id=shape.id, to=box.id, to_point=point)
    play.submit()


def draw_line(play: Player) -> None:
    """Draw a level or an upright line through the dot."""
    x, y = centre(play.one("clickable", ".* circle .*"))
    dx, dy = (0, 25) if "vertical" in play.asked else (25, 0)
    surface = play.one("clickable", ".*drawing .*").id
    ends = point_of(play, x - dx, y - dy), point_of(play, x + dx, y + dy)
    play.call("DRAG", id=surface, from_point=ends[0], to_point=ends[1])
    play.submit()


def right_angle(play: Player) -> None:
    """Press the point that stands square on the line at its blue end, as far away as fits."""
    (bx, by) = centre(play.one("clickable", "blue circle .*"))
    (ax, ay) = centre(play.one("clickable", "black circle .*"))
    dx, dy = ay - by, bx - ax
    shorter = math.gcd(dx, dy) or 1
    for count in range(shorter, 0, -1):
        for sign in (1, -1):
            x, y = bx + sign * count * dx // shorter, by + sign * count * dy // shorter
            if all(0.02 < share < 0.98 for share in point_of(play, x, y)):
                mark_point(play, x, y)
                play.submit()
                return
    raise NotThere("room for a right angle")


def halve_angle(play: Player) -> None:
    """Press a point on the line that halves the angle at the blue point."""
    bx, by = centre(play.one("clickable", "blue circle .*"))
    ways = [math.atan2(y - by, x - bx) for x, y in map(centre, play.all("clickable", "black circle .*"))]
    across = sum(map(math.cos, ways)), sum(map(math.sin, ways))
    angle, best = math.atan2(across[1], across[0]), (9.0, 0, 0)
    for x in range(4, 152):
        for y in range(54, 180):
            if math.hypot(x - bx, y - by) > 30 and all(0.02 < s < 0.98 for s in point_of(play, x, y)):
                off = abs(math.remainder(math.atan2(y - by, x - bx) - angle, 2 * math.pi))
                best = min(best, (off, x, y))
    mark_point(play, best[1], best[2])
    play.submit()


_HEATS = ("ICE COLD", "COLD", "WARM", "HOT")
_AREA = (160, 125)  # how large the area is, in pixels


def find_hot(play: Player) -> None:
    """Move over an area until it says HOT, press there: first far apart, then closer to what is warm."""
    area, felt = play.one("clickable", "touch-area.*").id, dict[tuple[int, int], int]()

    def feel(x: int, y: int) -> None:
        if (x, y) not in felt and 0 < x < _AREA[0] and 0 < y < _AREA[1] and max(felt.values(), default=0) < 3:
            play.call("HOVER", id=area, at=[x / _AREA[0], y / _AREA[1]])
            said = re.findall("ICE COLD|COLD|WARM|HOT", "\n".join(play.page[1:]))
            felt[x, y] = _HEATS.index(said[0]) if said else 0

    for x in range(20, _AREA[0], 40):
        for y in range(20, _AREA[1], 40):
            feel(x, y)
    for step in (20, 10, 6, 3):
        best = max(felt.values())
        for x, y in [place for place, rank in felt.items() if rank == best]:
            for across in (-step, 0, step):
                for down in (-step, 0, step):
                    feel(x + across, y + down)
    x, y = max(felt, key=lambda place: felt[place])
    play.call("CLICK", id=area, at=[x / _AREA[0], y / _AREA[1]])
