"""Following a cable without seeing it: its colour at the port, and the port of that colour, by words alone.

SEGMENT lists the straight bit of a cable between its port and the board, with its colour, in a view of factor
8 that touches the picture's edge. Without crossings a cable ends an odd number of ports further, so eight
ports are looked at, two a turn. Where two cables have the colour the first port that has it is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from pixelis_mini.habits import CAREFUL, Demonstration
from pixelis_mini_vl.routine import Habits, Routine, lines_of

import pixelis  # noqa: F401 (it registers the environments)
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.wire_trace.scene import LABEL_COLOUR
from pixelis_mini_tools.routines import played_out

_LEFT, _MIDDLE, _RIGHT = 0.17, 0.5, 0.83
AROUND = (
    *((_LEFT, _LEFT), (_MIDDLE, _LEFT), (_RIGHT, _LEFT), (_RIGHT, _MIDDLE)),
    *((_RIGHT, _RIGHT), (_MIDDLE, _RIGHT), (_LEFT, _RIGHT), (_LEFT, _MIDDLE)),
)
"""Middles of views of factor 3, each of which shows two labels, clockwise."""
_ROWS, _NEAR, _FAR = (0.22, 0.41, 0.59, 0.78), 0.05, 0.95
PORTS = (
    *((place, _NEAR) for place in _ROWS),
    *((_FAR, place) for place in _ROWS),
    *((place, _FAR) for place in reversed(_ROWS)),
    *((_NEAR, place) for place in reversed(_ROWS)),
)
"""Middles of views of factor 8, each of which shows a port and its label, clockwise: difficulty 0 has 16."""
LABELS, PORT = 3, 8
"""Factors of the views."""
PAIR = 2
"""Looks a turn."""
START = "start"
"""Is said for the port that is asked for where others have their codes. So what is said of a pair of which
neither has the colour ends in this word, and what to do next follows from that word alone."""
_PIECE = re.compile(r"^(\d+: (\w+)) \[", re.M)
_CODE = re.compile(r"^(\w+) \[[\d.]+, ", re.M)


class Follower:
    """Says the next turn after what the tools said; knows the question and nothing of the scene.

    Args:
        asked: the code of the port in the question.
        habit: a key of `WireTrace.habits`.
        guess: a code that was not read anywhere.
    """

    def __init__(self, asked: str, habit: str, guess: str) -> None:
        self.asked, self.habit, self.last = asked, habit, guess
        self.found, self.colour = False, ""
        self.open = list(AROUND)

    def say(self, text: str) -> str:
        """Return the next looks, or the answer.

        Args:
            text: what the tools said to the looks of the last turn; at first anything else.
        """
        if self.habit == "answer_at_once":
            return answer(self.last)
        if self.colour:
            return self._compare(text)
        if self.found:
            pieces = _pieces(text)
            if not pieces:
                return answer(self.last)
            line, self.colour = pieces[0]
            return f"{noted(self.asked, line, START)}{matched(self.colour, START)}{self._look(PORT)}"
        places = dict(lines_of(text))
        self.last = [self.last, *places][-1]
        if self.asked in places:
            return self._go_to(*(round(value, 2) for value in places[self.asked][:2]))
        return f"{self.asked}? {self._look(LABELS)}" if self.open else answer(self.last)

    def _go_to(self, x: float, y: float) -> str:
        """Return the look at the port that is asked for, whose label begins there."""
        port = min(range(len(PORTS)), key=lambda at: abs(PORTS[at][0] - x) + abs(PORTS[at][1] - y))
        first = port + (2 if self.habit == "same_half" else 1)
        self.open = [PORTS[at % len(PORTS)] for at in range(first, first + len(PORTS), 2)]
        self.found = True
        look = call("ZOOM", center=[x, y], factor=PORT) + call("SEGMENT")
        return f"{self.asked} [{x:.2f}, {y:.2f}. {look}"

    def _compare(self, text: str) -> str:
        """Note the colours of the last ports, say again which is asked for and who has it, and go on."""
        said, same = "", START
        for view in text.split("View ")[1:]:
            codes, pieces = _CODE.findall(view), _pieces(view)
            if codes and pieces:
                self.last, (line, colour) = codes[0], pieces[0]
                said += noted(self.last, line)
                same = self.last if colour == self.colour else same
        said += matched(self.colour, same)
        if same != START:
            return said + answer(same)
        over = self.habit == "impatient" or not self.open
        return said + (answer(self.last) if over else self._look(PORT))

    def _look(self, factor: int) -> str:
        """Return the looks at the next two places."""
        places, self.open = self.open[:PAIR], self.open[PAIR:]
        more = call("READ_TEXT") + (call("SEGMENT") if factor == PORT else "")
        return "".join(call("ZOOM", center=list(place), factor=factor) + more for place in places)


def noted(code: str, line: str, name: str = "") -> str:
    """Return a port, the beginning of its cable's line, and its name (its code), to be copied from there."""
    return f"{code} {line} [{name or code}. "


def matched(colour: str, name: str) -> str:
    """Return the colour that is asked for and the last port that has it, by the name `noted` before."""
    return f"Asked: {colour} [{name}. "


def _pieces(text: str) -> list[tuple[str, str]]:
    """Return the regions that SEGMENT lists, but for labels: how their lines begin, and their colours."""
    return [(line, colour) for line, colour in _PIECE.findall(text) if colour != LABEL_COLOUR]


class WireTrace(Routine):
    """READ_TEXT finds the port, SEGMENT the colour of its cable, then the first other port of that colour."""

    habits: ClassVar[Habits] = {
        CAREFUL: 0.36,
        "impatient": 0.5,  # names the last port that it read where the first two do not have the colour
        "same_half": 0.06,  # looks where no cable from there can end
        "answer_at_once": 0.08,
    }

    def begin(self) -> None:
        """Read the question."""
        self.follower = Follower(asked_code(self.task.question), self.habit, self.random_code())

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return the next looks, or the answer."""
        return self.follower.say(text)


def rendered(seeds: range, habit: str, reader: str, split: str = "train") -> Iterator[Demonstration]:
    """Yield an episode of difficulty 0 for each seed, played in the environment.

    Args:
        seeds: of ``reset``.
        habit: a key of `WireTrace.habits`.
        reader: of READ_TEXT, ``ocr`` or ``truth``.
        split: ``train`` or ``test``.
    """
    env: Any = gym.make(
        "Pixelis/WireTrace-v0", difficulty=0, reader=reader, split=split, disable_env_checker=True
    ).unwrapped
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        player = WireTrace(env, habit, np.random.default_rng([seed, 7]))
        yield played_out(env, player, observation, info, habit)


def asked_code(question: str) -> str:
    """Return the code of the port that a question names."""
    return question.partition("starts at port ")[2].partition("?")[0]
