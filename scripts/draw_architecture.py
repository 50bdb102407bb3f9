"""Draw the rooms of the package from its imports: docs/images/architecture.svg.

Usage: python scripts/draw_architecture.py [--check] [--output FILE]

A room is a folder of modules; deeper folders are named in the room that holds them. A room stands above all
that it imports, and an arrow says what it imports directly: those that follow from others are left out. With
--check nothing is written; the exit status is 1 when the picture is not what would be drawn now.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).parents[1]
PACKAGE = "pixelis"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
DOORS = ("__init__", "__main__")  # they lead into a room and belong to none

Graph = dict[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Return every module's path by its dotted name, doors left out."""
    paths = sorted((ROOT / PACKAGE).rglob("*.py"))
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    return {name: path for name, path in named.items() if name.rpartition(".")[2] not in DOORS}


def executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed in a tree: all but the body of ``if TYPE_CHECKING``."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        test = node.test if isinstance(node, ast.If) else None
        if not (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"):
            yield node
            waiting += ast.iter_child_nodes(node)


def imported(path: Path, name: str) -> Iterator[str]:
    """Yield every name that a module imports, ``from a import b`` as ``a`` and as ``a.b``."""
    for node in executed(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: -node.level] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield from (start, *(f"{start}.{alias.name}" for alias in node.names))


@cache
def rooms() -> Graph:
    """Return which other rooms the modules of each room import, functions included."""
    known = modules()
    found: Graph = {}
    for name, path in known.items():
        here = name.rpartition(".")[0]
        others = {target.rpartition(".")[0] for target in imported(path, name) if target in known}
        found.setdefault(here, set()).update(others - {here})
    return found


def shortened(graph: Mapping[str, set[str]], depth: int) -> Graph:
    """Return a graph whose names are cut to their first parts, with no edge from a name to itself."""
    short: Graph = {}
    for name, targets in graph.items():
        here, there = cut(name, depth), {cut(target, depth) for target in targets}
        short.setdefault(here, set()).update(there - {here})
        for target in there:
            short.setdefault(target, set())
    return short


def cut(name: str, depth: int) -> str:
    """Return the first parts of a dotted name."""
    return ".".join(name.split(".")[:depth])


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return all that can be reached from a name by one edge or more."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """Return a graph without the edges that follow from others (its transitive reduction)."""
    below = {name: reachable(graph, name) for name in graph}
    return {
        name: {one for one in targets if not any(one in below[other] for other in targets - {one})}
        for name, targets in graph.items()
    }


def floors(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return names by floor, the ground first: each stands one above the highest of what it imports.

    Within a floor names are in the order of what they stand on, then of the alphabet.
    """
    height: dict[str, int] = {}

    def climb(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((climb(other) for other in graph[name]), default=-1)
        return height[name]

    found: list[list[str]] = [[] for _ in range(1 + max(climb(name) for name in graph))]
    for name in sorted(graph):
        found[height[name]].append(name)
    place: dict[str, float] = {}
    for names in found:
        over = {name: [place[other] for other in graph[name] if other in place] for name in names}
        names.sort(key=lambda name: (sum(over[name]) / len(over[name]) if over[name] else 0.5, name))
        place.update({name: (index + 0.5) / len(names) for index, name in enumerate(names)})
    return found


def sentence(room: str) -> str:
    """Return the first line of a folder's docstring."""
    door = ROOT / Path(*room.split(".")) / "__init__.py"
    return (
        (ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or "")
        .partition("\n")[0]
        .rstrip(".")
        .replace("`", "")
    )


# Lengths in units of the picture, which is as wide as a page.
WIDTH, MARGIN, GAP, LANE = 960, 12, 13, 12
NAME, TEXT, LINE = 13, 11.5, 15
PADDING = 7
BESIDE, COLUMN = 600, 100  # from this width on a room's text stands beside its name, at this distance
LETTER = 0.535  # mean width of a letter of the sans-serif face, in its size
MONO = 0.6
COLOURS = {
    "cli": "#f3e8ff",
    "monitor": "#e0e7ff",
    "pretrain": "#f3e8ff",
    "agents": "#dbeafe",
    "wrappers": "#cffafe",
    "envs": "#dcfce7",
    "rewards": "#fef3c7",
    "pixelis": "#e5e7eb",
}


@dataclass(frozen=True)
class Box:
    """A room's rectangle and what is written in it."""

    name: str
    x: float
    y: float
    width: float
    height: float
    lines: tuple[tuple[str, str], ...]

    @property
    def bottom(self) -> float:
        """Where the box ends below."""
        return self.y + self.height

    @property
    def right(self) -> float:
        """Where the box ends at the right."""
        return self.x + self.width


def words_of(room: str, width: float, whole: Graph) -> tuple[tuple[str, str], ...]:
    """Return the lines about a room that fit into a width: what it is, then the rooms in it."""
    loose = room == PACKAGE or room.count(".") == 1
    inner = [] if loose else sorted(name[len(room) + 1 :] for name in whole if name.startswith(f"{room}."))
    if loose:
        inner = [name.rpartition(".")[2] for name in modules() if name.rpartition(".")[0] == room]
    inside = width - 2 * PADDING - (COLUMN if width >= BESIDE else 0)
    lines = [] if loose else wrap(sentence(room), int(inside / (TEXT * LETTER)), break_on_hyphens=False)
    names = wrap(" · ".join(inner), int(inside / ((TEXT - 1) * MONO)), break_on_hyphens=False)
    return (*(("text", line) for line in lines), *(("inner", line) for line in names))


def wall(band: Graph, whole: Graph, top: float) -> tuple[list[Box], float]:
    """Return the boxes of a band's rooms, floor by floor, and where they end."""
    left, right = aside(band)
    x, width = 2 * MARGIN + LANE * len(left), WIDTH - 4 * MARGIN - LANE * (len(left) + len(right))
    boxes: list[Box] = []
    for names in reversed(floors(band)):
        each = (width - GAP * (len(names) - 1)) / len(names)
        words = [words_of(name, each, whole) for name in names]
        height = 2 * PADDING + LINE * (max(len(lines) for lines in words) + (each < BESIDE)) - 2
        for index, (name, lines) in enumerate(zip(names, words, strict=True)):
            boxes.append(Box(name, x + index * (each + GAP), top, each, height, lines))
        top += height + GAP
    return boxes, top - GAP


def aside(band: Graph) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the edges that pass a floor, which go round by the left side, and by the right.

    Left is for what leads to the first of several on a floor. The longest goes outermost.
    """
    stand = floors(band)
    height = {name: level for level, names in enumerate(stand) for name in names}
    edges = [(one, two) for one, targets in reduced(band).items() for two in targets]
    far = sorted((height[two] - height[one], one, two) for one, two in edges if height[one] - height[two] > 1)
    first = {names[0] for names in stand if len(names) > 1}
    return [(one, two) for _, one, two in far if two in first], [
        (one, two) for _, one, two in far if two not in first
    ]


def arrow(points: list[tuple[float, float]]) -> str:
    """Return a line with a head at its end."""
    path = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def arrows(band: Graph, boxes: list[Box]) -> Iterator[str]:
    """Yield the arrows of a band: down to the floor below, or round by a side."""
    by_name = {box.name: box for box in boxes}
    left, right = aside(band)
    for one, two in sorted((one, two) for one, targets in reduced(band).items() for two in targets):
        upper, lower = by_name[one], by_name[two]
        if (one, two) in left + right:
            start, end = upper.y + upper.height / 2, lower.y + lower.height / 2
            if (one, two) in left:
                x = 2 * MARGIN + LANE * (left.index((one, two)) + 0.3)
                yield arrow([(upper.x, start), (x, start), (x, end), (lower.x - 1, end)])
            else:
                x = WIDTH - 2 * MARGIN - LANE * (right.index((one, two)) + 0.3)
                yield arrow([(upper.right, start), (x, start), (x, end), (lower.right + 1, end)])
            continue
        low, high = max(upper.x, lower.x), min(upper.right, lower.right)
        if high - low > GAP:
            yield arrow([((low + high) / 2, upper.bottom), ((low + high) / 2, lower.y - 1)])
            continue
        away = 3 * GAP if lower.x < upper.x else -3 * GAP
        start, end = (
            (upper.x + away, lower.right - away) if away > 0 else (upper.right + away, lower.x - away)
        )
        middle = lower.y - GAP / 2 - 2
        yield arrow([(start, upper.bottom), (start, middle), (end, middle), (end, lower.y - 1)])


def text(x: float, y: float, kind: str, words: str) -> str:
    """Return one line of text."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def drawn_box(box: Box) -> Iterator[str]:
    """Yield a room's rectangle and its lines."""
    size = f'width="{box.width:.1f}" height="{box.height:.1f}"'
    yield f'<rect class="room" x="{box.x:.1f}" y="{box.y:.1f}" {size} rx="5"/>'
    x, y = box.x + PADDING, box.y + PADDING + NAME - 3
    loose = box.name == PACKAGE or box.name.count(".") == 1
    yield text(x, y, "name", "*.py" if loose else box.name.rpartition(".")[2])
    x, y = (x + COLUMN, y - LINE) if box.width >= BESIDE else (x, y)
    for kind, line in box.lines:
        y += LINE
        yield text(x, y, kind, line)


def rooms_of(name: str, whole: Graph) -> Graph:
    """Return the rooms of a top-level package, and which of each other they import."""
    inside = {
        room: {other for other in others if cut(other, 2) == name}
        for room, others in whole.items()
        if cut(room, 2) == name
    }
    return shortened(inside, 3)


def drawn_bands(names: list[str], whole: Graph, top: float) -> tuple[list[str], float]:
    """Return packages that have no rooms, side by side, and where they end."""
    parts: list[str] = []
    width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
    words = {name: wrap(sentence(name), int((width - 2 * MARGIN) / (TEXT * LETTER))) for name in names}
    height = 2 * PADDING + LINE * (1 + max(len(lines) for lines in words.values()))
    for index, name in enumerate(names):
        x = MARGIN + index * (width + GAP)
        parts.append(ground(x, top, width, height, name))
        parts.append(text(x + MARGIN, top + PADDING + NAME - 1, "band", f"{name.replace('.', '/')}/"))
        for number, line in enumerate(words[name], 2):
            parts.append(text(x + MARGIN, top + PADDING + LINE * number - 3, "text", line))
        parts.append(arrow([(x + width / 2, top + height), (x + width / 2, top + height + GAP - 1)]))
    return parts, top + height


def drawn_band(name: str, whole: Graph, top: float) -> tuple[list[str], float]:
    """Return a top-level package with its rooms, and where it ends."""
    head = f"{name.replace('.', '/')}/"
    y = top + PADDING + NAME - 1
    band = rooms_of(name, whole)
    boxes, end = wall(band, whole, y + PADDING + 2)
    end += MARGIN - 2
    words = "the ground floor, which every other part may import" if name == PACKAGE else sentence(name)
    return [
        ground(MARGIN, top, WIDTH - 2 * MARGIN, end - top, name),
        text(2 * MARGIN, y, "band", head),
        text(2 * MARGIN + len(head) * 15 * MONO + 12, y, "text", words),
        *arrows(band, boxes),
        *(line for box in boxes for line in drawn_box(box)),
    ], end


def ground(x: float, y: float, width: float, height: float, name: str) -> str:
    """Return the coloured ground of a top-level package."""
    colour = COLOURS.get(name.rpartition(".")[2], "#f3f4f6")
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="8" fill="{colour}"/>'


STYLE = """\
.room { fill: #ffffff; stroke: #94a3b8; }
.arrow { fill: none; stroke: #475569; stroke-width: 1.3; }
text { font-family: "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif; fill: #334155; }
.band, .name, .inner { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.band { font-size: 15px; font-weight: bold; fill: #0f172a; }
.name { font-size: 13px; font-weight: bold; fill: #0f172a; }
.text { font-size: 11.5px; }
.inner { font-size: 10.5px; fill: #64748b; }"""
HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0.5 L8 4 L0 7.5 Z" fill="#475569"/></marker>'
)


def picture() -> str:
    """Return the whole picture as SVG."""
    whole = rooms()
    parts: list[str] = []
    top = float(MARGIN)
    for names in reversed(floors(shortened(whole, 2))):
        small = [name for name in names if name != PACKAGE and len(rooms_of(name, whole)) == 1]
        for each in ([small] if small else []) + [[name] for name in names if name not in small]:
            if each == small:
                drawn, end = drawn_bands(small, whole, top)
            else:
                drawn, end = drawn_band(each[0], whole, top)
                if each[0] != PACKAGE:
                    drawn.append(arrow([(WIDTH / 2, end), (WIDTH / 2, end + GAP - 1)]))
            parts += drawn
            top = end + GAP
    height = top - GAP + MARGIN
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}">',
            "<title>The rooms of Pixelis; what stands above imports what stands below</title>",
            f"<defs><style>{STYLE}</style>{HEAD}</defs>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def main(words: list[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Draw the rooms of the package from its imports.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, only say whether it is out of date"
    )
    parser.add_argument("--output", type=Path, default=PICTURE)
    options = parser.parse_args(words)
    drawn = picture()
    stale = not options.output.exists() or options.output.read_text(encoding="utf-8") != drawn
    if stale and not options.check:
        options.output.write_text(drawn, encoding="utf-8")
    print(
        f"{options.output.name}: {('out of date' if options.check else 'written') if stale else 'up to date'}"
    )
    return int(options.check and stale)


if __name__ == "__main__":
    sys.exit(main())
