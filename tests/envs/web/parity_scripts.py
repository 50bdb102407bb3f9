"""Action scripts that both backends must answer alike: recorded in process, replayed anywhere.

A script goes after the task half of the time and otherwise tries everything: wrong ids, old ids, texts that
no field takes, options that are not there, paths that lead off the site, closed menus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.oracle import Call, SiteOracle
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.families.family import families
from pixelis.envs.web.page.snapshot import Control
from pixelis.envs.web.sites.levels import DIALS, DIFFICULTIES
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.errors import TaskError

TEXTS = (
    "",
    "blue",
    "a b",
    " 12 ",
    "3",
    "-1",
    "1e2",
    "x@example.com",
    "2024-02-29",
    "12:30",
    "é漢🙂",
    "<b>&amp;",
    "'\"",
    "zz top",
)
PATHS = (
    "/",
    "/cart",
    "/nowhere",
    "/search",
    "/search",
    "/search?q=a b&x='",
    "?page=2",
    "../x",
    "//evil.example/",
    "https://example.com",
    "#top",
    "/%41ü",
)
RARE_CODES = ("disabled", "hidden", "no_such_option")
"""Errors that few pages have to offer: they are tried wherever they can be had."""
MAX_ACTIONS = 14


@dataclass(frozen=True)
class ParityScript:
    """An episode as it was played in process.

    Attributes:
        name: readable; says family, difficulty and seed.
        seed: for ``reset``.
        options: for ``reset``.
        turns: what was said.
        transcript: what came back: see ``replay``.
    """

    name: str
    seed: int
    options: Mapping[str, Any]
    turns: tuple[str, ...]
    transcript: tuple[Mapping[str, Any], ...]


def parity_scripts(count: int, *, first: int = 0) -> Iterator[ParityScript]:
    """Yield scripts ``first``, ``first`` + 1, …: every family and difficulty in turn, dials at random."""
    names = sorted(families())
    env = WebBrowseEnv(max_turns=MAX_ACTIONS)
    for number in range(first, first + count):
        draw = SeededRandom(number)
        difficulty = number // len(names) % len(DIFFICULTIES)
        dials = {dial: draw.below(4) for dial in DIALS if draw.chance(0.3)}
        options = {"family": names[number % len(names)], "difficulty": {"difficulty": difficulty, **dials}}
        turns = _record(env, draw, number, options)
        name = f"{options['family']}-{difficulty}-{number}"
        yield ParityScript(name, number, options, turns, replay(env, number, options, turns))


def replay(
    env: WebBrowseEnv, seed: int, options: Mapping[str, Any], turns: tuple[str, ...]
) -> tuple[Mapping[str, Any], ...]:
    """Play turns; return text, reward, both flags, error codes and reward terms of each."""
    observation, _ = env.reset(seed=seed, options=dict(options))
    said: list[Mapping[str, Any]] = [{"text": observation["text"]}]
    for turn in turns:
        observation, reward, terminated, truncated, info = env.step(turn)
        said.append(
            {
                "text": observation["text"],
                "reward": reward,
                "terminated": terminated,
                "truncated": truncated,
                "errors": [result["error_code"] for result in info["tool_calls"]],
                "reward_terms": info["reward_terms"],
            }
        )
        if terminated or truncated:
            break
    return tuple(said)


def _record(env: WebBrowseEnv, draw: SeededRandom, seed: int, options: Mapping[str, Any]) -> tuple[str, ...]:
    env.reset(seed=seed, options=dict(options))
    oracle: SiteOracle | None = SiteOracle(env.workspace.level)
    share = draw.one((0.3, 0.5, 0.7, 0.9, 1.0))
    covered = False
    turns: list[str] = []
    known: list[str] = []
    for _ in range(MAX_ACTIONS):
        call: Call | None = None
        if oracle is not None and draw.chance(0.9 if covered else share):  # it closes what lies over the page
            try:
                call = oracle.next_call(env.workspace)
            except TaskError:  # a detour has led the oracle astray
                oracle = None
        turns.append(write(call if call is not None else _any_call(env, draw, known)))
        _, _, terminated, truncated, info = env.step(turns[-1])
        covered = info["tool_calls"][0]["error_code"] == "covered"
        if terminated or truncated:
            break
    return tuple(turns)


def _any_call(env: WebBrowseEnv, draw: SeededRandom, known: list[str]) -> Call:
    """Return a call that makes sense or none; ``known`` collects ids, so that old ones come too."""
    workspace = env.workspace
    _ = workspace.window
    shown = [
        (i, c) for c in workspace.snapshot.controls() if (i := workspace.ids.shown_id(c.key)) is not None
    ]
    known += [element_id for element_id, _ in shown if element_id not in known]
    wrong = _wrong_calls(env, shown, known)
    rare = next((code for code in RARE_CODES if code in wrong), None)
    if wrong and draw.chance(0.5 if rare else 0.2):
        return draw.one(wrong[rare or draw.one(sorted(wrong))])
    kind = draw.below(20)
    if kind == 0:
        return draw.one((("BACK", {}), ("WAIT", {})))
    if kind in (1, 2, 5):
        return "GOTO", {"path": draw.one(PATHS)}
    if kind == 6:
        return "SCROLL", {"direction": draw.one(("down", "up"))}
    if kind == 3 or not shown:
        return "CLICK", {"id": draw.one(known or ["e1@v1"])}
    if kind == 4:
        return "CLICK", {"id": f"e{draw.between(1, 99)}@v{draw.between(0, workspace.ids.version + 1)}"}
    lists = [one for one in shown if one[1].options]  # there are few of them
    return _fitting_call(draw, *draw.one((kind < 10 and lists) or _without_links(draw, shown)))


def _wrong_calls(
    env: WebBrowseEnv, shown: list[tuple[str, Control]], known: list[str]
) -> dict[str, list[Call]]:
    """Return calls that cannot be carried out on this page, by the code that each is after."""
    here, version = {element_id for element_id, _ in shown}, f"@v{env.workspace.ids.version}"
    lists = [element_id for element_id, control in shown if control.options]
    fields = [element_id for element_id, control in shown if control.role == "textbox"]
    rest = [element_id for element_id, control in shown if not control.options and control.role == "button"]
    calls: dict[str, list[Call]] = {
        "disabled": [("CLICK", {"id": one}) for one, control in shown if "disabled" in control.states],
        "hidden": [("CLICK", {"id": one}) for one in known if one.endswith(version) and one not in here],
        "no_such_option": [("SELECT", {"id": one, "option": "no such option"}) for one in lists],
        "not_editable": [("TYPE", {"id": one, "text": "x"}) for one in lists + rest]
        + [("SELECT", {"id": one, "option": "x"}) for one in fields],
        "stale": [("CLICK", {"id": one}) for one in known if not one.endswith(version)],
    }
    return {code: found for code, found in calls.items() if found}


def _without_links(draw: SeededRandom, shown: list[tuple[str, Control]]) -> list[tuple[str, Control]]:
    """Return what is shown, mostly without links, or a script would do nothing but load pages."""
    rest = [(element_id, control) for element_id, control in shown if control.role != "link"]
    return rest if rest and draw.chance(0.7) else shown


def _fitting_call(draw: SeededRandom, element_id: str, control: Control) -> Call:
    if control.role in ("textbox", "slider"):
        return "TYPE", {"id": element_id, "text": draw.one(TEXTS), "submit": draw.chance(0.2)}
    if control.options:
        return "SELECT", {"id": element_id, "option": draw.one(control.options)}
    return "CLICK", {"id": element_id}
