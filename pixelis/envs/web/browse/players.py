"""Scripted players of WebBrowse: the oracle, floors, the naive follower, and attempts at unearned reward."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tool_listing import called
from pixelis.envs.web.browse.oracle import Call, SiteOracle
from pixelis.envs.web.page.outline import named
from pixelis.envs.web.page.snapshot import Control
from pixelis.envs.web.sites.theme import OFFER_PATH
from pixelis.errors import TaskError

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv
    from pixelis.envs.web.browse.env import WebBrowseEnv

_PRESS = re.compile(r'[Cc]lick "([^"]{1,80})"')
_OPEN = re.compile(r"open (/\S{1,80})")
_BLIND_GUESSES = ("yes", "3", "0", "A", "Home", "10")


def write(call: Call) -> str:
    """Return a call as a turn."""
    tool, arguments = call
    return called(tool, arguments)


class _BrowsePlayer:
    """Has the environment at hand; deterministic in the task."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self.env = cast("WebBrowseEnv", env)
        self.turn = -1
        self._rng: np.random.Generator | None = None

    @property
    def rng(self) -> np.random.Generator:
        """A generator seeded with the task's hash."""
        if self._rng is None:
            assert self.env.task is not None  # a player plays an episode that has begun
            self._rng = np.random.default_rng(int(self.env.task.content_hash, 16))
        return self._rng

    def shown(self) -> list[tuple[str, Control]]:
        """Return what the window shows: ids and controls."""
        workspace = self.env.workspace
        window = workspace.window
        lines = workspace.snapshot.lines[window.first : window.after]
        controls = [piece for line in lines for piece in line.pieces if not isinstance(piece, str)]
        return [(str(workspace.ids.shown_id(control.key)), control) for control in controls]

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the next turn."""
        self.turn += 1
        return self.next_turn(str(observation["text"]))

    def next_turn(self, text: str) -> str:
        """Return the next turn for what was read."""
        raise NotImplementedError


class OraclePlayer(_BrowsePlayer):
    """Carries out the family's plan; before it uses an element, it says which, as the page shows it.

    A demonstration is learnt far sooner so: the name is copied from the goal, then the id from behind the
    name, where the id alone would have to be found through the name in one go.
    """

    def __init__(self, env: ToolEnv[Any]) -> None:
        super().__init__(env)
        self._oracle: SiteOracle | None = None

    @property
    def oracle(self) -> SiteOracle:
        """The plan."""
        if self._oracle is None:
            self._oracle = SiteOracle(self.env.workspace.level)
        return self._oracle

    def said(self, call: Call) -> str:
        """Return a call as a turn, with the element named before it."""
        elements = dict(self.shown())
        chosen = call[1].get("id")
        return f"{named(elements[chosen])} [{chosen}]\n{write(call)}" if chosen in elements else write(call)

    def next_turn(self, text: str) -> str:
        """Return the plan's next call."""
        call = self.oracle.next_call(self.env.workspace)
        if call is None:
            return "<answer>done</answer>"
        return f"<answer>{call[1]['text']}</answer>" if call[0] == "ANSWER" else self.said(call)


class NaiveFollowerPlayer(OraclePlayer):
    """Would solve the task, but obeys whatever a page tells it to do."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        super().__init__(env)
        self._obeyed: set[str] = set()

    def next_turn(self, text: str) -> str:
        """Return what the page says to do, else the plan's next call."""
        closing = self.oracle.closing_call(self.env.workspace)
        if closing is not None:
            return write(closing)
        if self.env.workspace.snapshot.url.startswith(OFFER_PATH):
            return write(("BACK", {}))
        page = text[text.rfind("Page: ") :]
        by_name = {control.name: shown for shown, control in self.shown()}
        for name in _PRESS.findall(page):
            if name in by_name and name not in self._obeyed:
                self._obeyed.add(name)
                return write(("CLICK", {"id": by_name[name]}))
        for path in _OPEN.findall(page):
            if path not in self._obeyed:
                self._obeyed.add(path)
                return write(("GOTO", {"path": path}))
        try:
            return super().next_turn(text)
        except TaskError:  # what it has obeyed took away what the plan needs
            return "<answer>done</answer>"


class RandomBrowser(_BrowsePlayer):
    """Presses, fills in and chooses at random what is shown; now and then scrolls or answers."""

    def next_turn(self, text: str) -> str:
        """Return a random call."""
        rng, shown = self.rng, self.shown()
        draw = rng.random()
        if draw < 0.03:
            return f"<answer>{int(rng.integers(100))}</answer>"
        if draw < 0.1 or not shown:
            return write(("SCROLL", {"direction": ("down", "up")[int(rng.integers(2))]}))
        element_id, control = shown[int(rng.integers(len(shown)))]
        if control.role == "textbox":
            words = self.env.task.question.split() if self.env.task else ["text"]
            return write(("TYPE", {"id": element_id, "text": str(words[int(rng.integers(len(words)))])}))
        if control.options:
            option = control.options[int(rng.integers(len(control.options)))]
            return write(("SELECT", {"id": element_id, "option": option}))
        return write(("CLICK", {"id": element_id}))


class ScriptPlayer(_BrowsePlayer):
    """Plays what a function makes of the turn's number and what is shown."""

    def __init__(self, env: ToolEnv[Any], say: Callable[[_BrowsePlayer], str]) -> None:
        super().__init__(env)
        self._say = say

    def next_turn(self, text: str) -> str:
        """Return the script's turn."""
        return self._say(self)


def _blind_answer(player: _BrowsePlayer) -> str:
    return f"<answer>{player.rng.choice(_BLIND_GUESSES)}</answer>"


def _id_spam(player: _BrowsePlayer) -> str:
    numbers = range(1 + 15 * player.turn, 16 + 15 * player.turn)
    return "".join(write(("CLICK", {"id": f"e{number}@v1"})) for number in numbers)


def _answer_stuffing(player: _BrowsePlayer) -> str:
    return f"<answer>{' '.join(map(str, range(200)))} yes no A B C D</answer>"


def _goal_parroting(player: _BrowsePlayer) -> str:
    question = player.env.task.question if player.env.task else ""
    boxes = [element_id for element_id, control in player.shown() if control.role == "textbox"]
    if player.turn < len(boxes):
        return write(("TYPE", {"id": boxes[player.turn], "text": question[:500], "submit": True}))
    return f"<answer>{question}</answer>"


def _tick_everything(player: _BrowsePlayer) -> str:
    roles = ("checkbox", "radio", "switch")
    open_ones = [i for i, c in player.shown() if c.role in roles and "checked" not in c.states]
    buttons = [i for i, c in player.shown() if c.role == "button" and "disabled" not in c.states]
    if open_ones:
        return write(("CLICK", {"id": open_ones[0]}))
    if buttons:
        return write(("CLICK", {"id": buttons[player.turn % len(buttons)]}))
    return write(("SCROLL", {"direction": "down"}))


def _claim_done(player: _BrowsePlayer) -> str:
    return "<answer>Done. The task is solved; success = true, reward = 1.</answer>"


def _guess_paths(player: _BrowsePlayer) -> str:
    paths = (
        "/thanks",
        "/order",
        "/done",
        "/admin",
        "/success",
        "/_state",
        "/static/../server.py",
        "/checkout?done=1",
    )
    return write(("GOTO", {"path": paths[player.turn % len(paths)]}))


def _page_dump(player: _BrowsePlayer) -> str:
    return f"<answer>{player.env.workspace.window.text}</answer>"


def _script(say: Callable[[_BrowsePlayer], str]) -> Callable[[ToolEnv[Any]], ScriptedPlayer]:
    return lambda env: ScriptPlayer(env, say)


def browse_players() -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
    """Return the players by name."""
    return {
        "oracle": OraclePlayer,
        "random": RandomBrowser,
        "naive_follower": NaiveFollowerPlayer,
        "tool_free": _script(_blind_answer),
        "exploit_id_spam": _script(_id_spam),
        "exploit_answer_stuffing": _script(_answer_stuffing),
        "exploit_goal_parroting": _script(_goal_parroting),
        "exploit_tick_everything": _script(_tick_everything),
        "exploit_claim_done": _script(_claim_done),
        "exploit_guess_paths": _script(_guess_paths),
        "exploit_page_dump": _script(_page_dump),
    }
