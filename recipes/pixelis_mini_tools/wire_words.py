"""Episodes of WireTrace of which nothing is rendered: what the tools would say, made from the scene.

A rendered one takes half a second, one of these a hundredth; boxes are about as the tools say them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from pixelis_mini.habits import Demonstration, drawn_habit

from pixelis.envs.pixel.base.scripted_turns import answer
from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.tools.view import Box, square_box
from pixelis.envs.pixel.tools.workspace import format_box
from pixelis.envs.pixel.wire_trace.env import ask_for
from pixelis.envs.pixel.wire_trace.grid import cables
from pixelis.envs.pixel.wire_trace.scene import (
    CABLE_COLOURS,
    LABEL_COLOUR,
    SCENE_SIZE,
    WireScene,
    sample_wire_scene,
)
from pixelis_mini_tools.drills import Turns
from pixelis_mini_tools.wire import START, Follower, WireTrace, matched, noted
from pixelis_mini_tools.words import TOOLS

_LOOK = re.compile(r'"center": \[([\d.]+), ([\d.]+)\], "factor": (\d)}}</tool_call>((?:(?!ZOOM).)*)')
_TEXT = (0.0125, 0.0045)
"""Half the width and height of a label's text."""
_STUB, _CABLE = 46 / SCENE_SIZE, 2.5 / SCENE_SIZE
"""From the board to the socket that a cable ends in, and half of a cable's width."""
_LABEL = 0.0105
"""Half the height of a label as SEGMENT sees it."""
_ROWS, _TEXT_ROWS = 24, 20
"""Of a view, in which SEGMENT orders what it lists, and of the scene for READ_TEXT."""


def unrendered(seeds: range) -> Iterator[Demonstration]:
    """Yield an episode of difficulty 0 and the train split for each seed."""
    for seed in seeds:
        rng = np.random.default_rng([seed, 8])
        scene, start, end = sample_wire_scene(rng, 0, "train")
        habit = drawn_habit(WireTrace.habits, rng)
        follower = Follower(scene.codes[start], habit, sample_codes(rng, 1, "train")[0])
        told, said, turns = Told(scene, rng), "", []
        text = f"{ask_for(scene.codes[start])}{TOOLS}"
        while "<answer>" not in said:
            said = follower.say(text)
            turns.append((text, said))
            text = told.to(said)
        yield Demonstration(tuple(turns), habit, said.endswith(answer(scene.codes[end])))


def from_the_port_on(turns: Turns) -> Turns:
    """Return an episode without the looks before the asked label was read; nothing where it never was."""
    found = next((at for at, (_, said) in enumerate(turns) if '"factor": 8' in said), None)
    if found is None:
        return ()
    return ((f"{turns[0][0]}\n{turns[found][0]}", turns[found][1]), *turns[found + 1 :])


def lookups(rng: np.random.Generator, count: int = 12) -> tuple[str, Turns]:
    """Return nothing but the step in which a colour is looked up among two ports that were just noted.

    An episode has one or two of them in five hundred tokens; in half of these one port has the colour, and is
    the answer: not to see that it was found was the most frequent slip.

    Returns:
        The code that is asked for, and pairs of what is given and what is to be said, all of them one turn.
    """
    asked, *codes = sample_codes(rng, 2 * count + 1, "train")
    colour, *others = (str(each) for each in rng.permutation(CABLE_COLOURS))
    steps = [(noted(asked, f"{rng.integers(1, 3)}: {colour}", START), matched(colour, START))]
    for number, pair in enumerate(zip(codes[::2], codes[1::2], strict=True), 1):
        seen = [str(each) for each in rng.choice(others, 2)]
        found = int(rng.integers(4))  # 2 and 3: neither
        seen[found : found + 1] = [colour] if found < 2 else []
        lines = (f"{4 * number + 2 * at}: {each}" for at, each in enumerate(seen))
        given = "".join(noted(code, line) for code, line in zip(pair, lines, strict=True))
        end = answer(pair[found]) if found < 2 else ""
        steps.append((given, matched(colour, pair[found] if found < 2 else START) + end))
    return asked, tuple(steps)


class Told:
    """What the tools say about a scene, turn by turn."""

    def __init__(self, scene: WireScene, rng: np.random.Generator) -> None:
        board = scene.labels()
        self._codes, self._rng, self._listed = scene.codes, rng, 0
        self._centers = np.array([sign.center for sign in board.signs]) / board.size
        boxes = [sign.box(board.size) for sign in board.signs]
        self._labels = [
            (box[0], y - _LABEL, box[2], y + _LABEL) for box, (_, y) in zip(boxes, self._centers, strict=True)
        ]
        self._ports = scene.port_places() / board.size
        ends = zip(cables(scene.tiles, scene.grid), scene.colours, strict=True)
        self._colours = {port: colour for (*ports, _), colour in ends for port in ports}

    def to(self, said: str) -> str:
        """Return it of the looks of a turn."""
        lines: list[str] = []
        for x, y, factor, more in _LOOK.findall(said):
            view = square_box([float(x), float(y)], float(factor))
            shown = [at for at, box in enumerate(self._labels) if _within(box, view)]
            lines.append(f"View {format_box(view)}.")
            if "READ_TEXT" in more:
                texts = [(self._text_box(at), self._codes[at]) for at in shown]
                texts.sort(key=lambda row: (round(row[0][1] * _TEXT_ROWS), row[0][0]))
                lines += [f"{code} {format_box(box)}" for box, code in texts]
            if "SEGMENT" in more:
                lines += self._list(shown, view)
        return "\n".join(lines)

    def _list(self, shown: list[int], view: Box) -> list[str]:
        pieces = [(self._labels[at], LABEL_COLOUR) for at in shown]
        pieces += [(self._cable_box(at, view), self._colours[at]) for at in shown]
        pieces.sort(key=lambda row: (int((row[0][1] + row[0][3]) / 2 * _ROWS / (view[2] - view[0])), row[0]))
        first = self._listed + 1
        self._listed += len(pieces)
        return [f"{number}: {colour} {format_box(box)}" for number, (box, colour) in enumerate(pieces, first)]

    def _text_box(self, port: int) -> Box:
        (x, y), shift = self._centers[port], self._rng.uniform(-0.002, 0.002, 2)
        wide, high = _TEXT[0] + shift[0], _TEXT[1]
        return x - wide, y - high + shift[1], x + wide, y + high + shift[1]

    def _cable_box(self, port: int, view: Box) -> Box:
        """Return the box of the cable from its socket to the end of the view."""
        x, y = self._ports[port]
        return (
            (x - _CABLE, y - _STUB, x + _CABLE, view[3]),
            (view[0], y - _CABLE, x + _STUB, y + _CABLE),
            (x - _CABLE, view[1], x + _CABLE, y + _STUB),
            (x - _STUB, y - _CABLE, view[2], y + _CABLE),
        )[port // (len(self._codes) // 4)]


def _within(box: Box, view: Box) -> bool:
    return view[0] <= box[0] and view[1] <= box[1] and box[2] <= view[2] and box[3] <= view[3]
