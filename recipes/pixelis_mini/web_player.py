"""Demonstrations of WebBrowse: the oracle, or the oracle with a flaw that depends on the kind of site.

In half of the families the demonstrator is hasty, in the others patient: what goes wrong is systematic, so
that reinforcement learning has something to mend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.oracle import Call
from pixelis.envs.web.browse.players import OraclePlayer
from pixelis.envs.web.browse.tasks import level_of
from pixelis.errors import TaskError
from pixelis_mini.habits import CAREFUL, Demonstration, Habits, drawn_habit

THREE_TOOLS = ("CLICK", "TYPE", "SELECT")
"""What sites of difficulty 0 and 1 need, as in configs/web_browse.yaml."""
ALL_TOOLS_SHARE = 0.4
"""Share of the episodes whose prompt offers all tools, as the environment does by default."""
LEVEL_SHARES = (0.5, 0.5)
"""Share of the difficulties 0 and 1 among the demonstrations."""

PATIENT: Habits = {CAREFUL: 0.52, "wrong_element": 0.18, "wrong_value": 0.12, "skips": 0.12, "gives_up": 0.06}
HASTY: Habits = {CAREFUL: 0.22, "wrong_element": 0.06, "wrong_value": 0.04, "skips": 0.63, "gives_up": 0.05}
HASTY_FAMILIES = ("bulk", "forms", "settings", "wiki")
PATIENT_CHANCE, HASTY_CHANCE = 0.6, 1.0
"""Chance that a habit shows at a turn, once an episode at most. Who is hasty is so from the beginning: to
leave the first step out is likelier there than to take it, so that the likeliest turn fails too."""
DONE = "<answer>done</answer>"

_NUMBER = re.compile(r"\d[\d,.]*")
_WORD = re.compile(r"[A-Z][a-z]+")
_USABLE = (*THREE_TOOLS, "ANSWER")


class WebDemonstrator(OraclePlayer):
    """Plays one episode by one habit; see the module."""

    def __init__(self, env: WebBrowseEnv, habit: str, rng: np.random.Generator) -> None:
        super().__init__(env)
        self._habit, self._draw, self._flawed = habit, rng, habit == CAREFUL
        assert env.task is not None  # a policy plays an episode that has begun
        self._chance = HASTY_CHANCE if level_of(env.task).family in HASTY_FAMILIES else PATIENT_CHANCE

    def next_turn(self, text: str) -> str:
        """Return the plan's next turn, or the flaw; where the plan is lost, that all is done."""
        try:
            call = self.oracle.next_call(self.env.workspace)
            if call is not None and not self._flawed and self._draw.random() < self._chance:
                call = self._spoilt(call, text)
        except TaskError:  # a flaw took away what the plan needs
            return DONE
        if call is None or call[0] not in _USABLE:
            return DONE
        if call[0] != "ANSWER":
            return self.said(call)
        found = "" if self._flawed and self._habit != CAREFUL else row_of(text)
        return f"{found}<answer>{call[1]['text']}</answer>"

    def _spoilt(self, call: Call, text: str) -> Call | None:
        """Return what the habit makes of a call; the same call where it does not apply to it."""
        spoilt: Call | None = call
        if self._habit == "gives_up":
            spoilt = None
        elif self._habit == "skips":
            spoilt = self._hasty_answer(text) if call[0] == "ANSWER" else self._skipped(text)
        elif self._habit == "wrong_value" or call[0] == "ANSWER":
            spoilt = self._other_value(call, text)
        elif self._habit == "wrong_element":
            spoilt = self._other_element(call)
        self._flawed = spoilt != call
        return spoilt

    def _skipped(self, text: str) -> Call | None:
        """Return the step after this one; a question is answered at once."""
        assert self.env.task is not None  # a policy plays an episode that has begun
        if level_of(self.env.task).answer is not None:
            return self._hasty_answer(text)
        return self.oracle.next_call(self.env.workspace)

    def _hasty_answer(self, text: str) -> Call:
        page = text[text.rfind("Page: ") :]
        seen = _NUMBER.findall(page) or ["0"]
        return "ANSWER", {"text": str(self._draw.choice(seen)).strip(",.").replace(",", "")}

    def _other_value(self, call: Call, text: str) -> Call:
        """Return a call with another word of what was read in the place of its text or answer."""
        for key in ("text", "option"):
            if key in call[1]:
                pattern = _NUMBER if call[1][key][:1].isdigit() else _WORD
                others = [word for word in pattern.findall(text) if word not in call[1][key]]
                if key == "option":
                    control = dict(self.shown()).get(str(call[1]["id"]))
                    others = [each for each in (control.options if control else ()) if each != call[1][key]]
                if others:
                    return call[0], {**call[1], key: str(self._draw.choice(others)).strip(",.")}
        return call

    def _other_element(self, call: Call) -> Call:
        """Return a call of another element, of the same role where the page has one."""
        shown = self.shown()
        role = next((control.role for shown_id, control in shown if shown_id == call[1].get("id")), "")
        others = [each for each in shown if each[0] != call[1].get("id")]
        alike = [shown_id for shown_id, control in others if control.role == role]
        if not others or (call[0] != "CLICK" and not alike):
            return call
        return call[0], {**call[1], "id": str(self._draw.choice(alike or [each for each, _ in others]))}


def row_of(text: str) -> str:
    """Return the row of a page's table that the question names, as it is said before the answer; or ""."""
    goal, _, page = text.partition("\nPage: ")
    for line in page.splitlines():
        if " | " in line and re.search(rf"\b{re.escape(line.split(' | ')[0])}\b", goal):
            return f"{line}. "
    return ""


def web_demonstrations(seeds: range) -> Iterator[Demonstration]:
    """Play the train split, one episode a reset seed; what is demonstrated depends on the seeds alone."""
    envs = [WebBrowseEnv(tools=tools, split="train") for tools in (list(THREE_TOOLS), None)]
    try:
        for seed in seeds:
            rng = np.random.default_rng(seed)
            env = envs[int(rng.random() < ALL_TOOLS_SHARE)]
            yield _played(env, seed, rng)
    finally:
        for env in envs:
            env.close()


def _played(env: WebBrowseEnv, seed: int, rng: np.random.Generator) -> Demonstration:
    difficulty = int(rng.choice(len(LEVEL_SHARES), p=LEVEL_SHARES))
    observation, info = env.reset(seed=seed, options={"difficulty": difficulty})
    assert env.task is not None  # just drawn
    family = level_of(env.task).family
    habit = drawn_habit(HASTY if family in HASTY_FAMILIES else PATIENT, rng)
    player, turns, done = WebDemonstrator(env, habit, rng), [], False
    while not done:
        turns.append((str(observation["text"]), player.act(observation, info)))
        observation, _, terminated, truncated, info = env.step(turns[-1][1])
        done = terminated or truncated
    return Demonstration(tuple(turns), f"{family}/{habit}", bool(info["success"]))
