"""Plays an environment on a page the way a model would: it reads the text, and writes tool calls."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pixelis.envs.web.foreign.page_env import PageEnv

_ROLES = (
    "link|button|textbox|combobox|listbox|checkbox|radio|switch|slider"
    "|tab|option|menuitem|treeitem|file|clickable"
)
_ID = r"\[(e\d+@v\d+)\]"
_CONTROL = re.compile(
    rf'(?<!\S)({_ROLES})(?: "((?:(?!\[e\d+@v\d).)*)")? {_ID}(?: = "(.*?)"(?=\s|$))?', re.DOTALL
)


@dataclass(frozen=True)
class Seen:
    """A control as it is written in an observation."""

    id: str
    role: str
    name: str
    value: str
    line: int


class NotThere(Exception):
    """No control on the page fits, so a scripted solver cannot go on."""


class Player:
    """One episode, played by observation text and tool calls alone."""

    def __init__(self, env: PageEnv, seed: int) -> None:
        self.env = env
        observation, info = env.reset(seed=seed)
        self.text: str = observation["text"]
        self.asked: str = info["utterance"]
        self.over = False
        self.success = False
        self.errors: list[str] = []

    def call(self, name: str, **arguments: Any) -> bool:
        """Call a tool; return whether it could be carried out. After the end nothing happens."""
        if self.over:
            return False
        turn = json.dumps({"name": name, "arguments": arguments})
        observation, _, terminated, truncated, info = self.env.step(f"<tool_call>{turn}</tool_call>")
        self.text, self.over = observation["text"], terminated or truncated
        self.success = bool(info.get("success"))
        result = info["tool_calls"][0]
        if not result["ok"]:
            self.errors.append(f"{name} {arguments}: {result['error_code']}")
        return bool(result["ok"])

    @property
    def page(self) -> list[str]:
        """The lines of the page that are shown."""
        return self.text[self.text.index("\nPage: ") + 1 :].split("\n")[1:]

    def all(self, role: str = ".*", name: str = ".*") -> list[Seen]:
        """Return the controls whose role and name match these patterns wholly."""
        found = []
        for number, line in enumerate(self.page):
            for kind, called, id_, value in _CONTROL.findall(line):
                if re.fullmatch(role, kind) and re.fullmatch(name, called, re.DOTALL):
                    found.append(Seen(id_, kind, called, value, number))
        return found

    def one(self, role: str = ".*", name: str = ".*", n: int = 0) -> Seen:
        """Return the n-th control that fits.

        Raises:
            NotThere: there are not that many.
        """
        found = self.all(role, name)
        if not -len(found) <= n < len(found):
            raise NotThere(f"{self.asked!r}: no {role} {name!r} in {self.page}")
        return found[n]

    def click(self, role: str = ".*", name: str = ".*", n: int = 0) -> bool:
        """Press the n-th control that fits."""
        return self.call("CLICK", id=self.one(role, name, n).id)

    def type(self, text: str, name: str = ".*", n: int = 0, submit: bool = False) -> bool:
        """Type into the n-th textbox that fits."""
        return self.call("TYPE", id=self.one("textbox|combobox", name, n).id, text=text, submit=submit)

    def submit(self) -> bool:
        """Press the button that sends."""
        return self.click("button", "Submit|Search|Login|OK|Order!")

    def quoted(self) -> list[str]:
        """Return what stands in quotation marks in the task."""
        return re.findall(r'"([^"]*)"', self.asked)

    def find(self, pattern: str) -> re.Match[str]:
        """Return the match of a pattern in the task.

        Raises:
            NotThere: it does not match.
        """
        match = re.search(pattern, self.asked)
        if match is None:
            raise NotThere(f"{self.asked!r} does not match {pattern!r}")
        return match
