"""Every keyword and reset option of every environment against what nobody should pass."""

from __future__ import annotations

import inspect
import tracemalloc
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator

from pixelis.envs.coding.sandbox import Limits, SandboxSettings
from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS, OF_OTHERS, OWN_ROWS, EnvEntry
from pixelis.envs.web.browse.reward import WebRewardConfig
from pixelis.envs.web.chromium.views import ViewKeywords
from pixelis.envs.web.sites.levels import WebDifficulty
from pixelis.errors import BrowserUnavailableError, PixelisError

LONGEST = 600
"""Characters of an error about a keyword."""


class Hostile:
    """An object that can hardly be looked at."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __str__(self):
        raise RuntimeError("no str")

    def __eq__(self, other):
        raise RuntimeError("no equality")

    def __hash__(self):
        raise RuntimeError("no hash")

    def __bool__(self):
        raise RuntimeError("no truth")

    def __len__(self):
        raise RuntimeError("no length")

    def __iter__(self):
        raise RuntimeError("no iteration")

    def __getattr__(self, name):
        raise RuntimeError(f"no attribute {name}")


class Talkative:
    """An object whose repr is long."""

    def __repr__(self):
        return "x" * 1_000_000


def _hostile_values() -> dict[str, Any]:
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 0
    for _ in range(5_000):
        deep = [deep]
    round_trip: dict[Any, Any] = {}
    round_trip["me"] = round_trip
    return {
        "none": None,
        "true": True,
        "false": False,
        "nan": float("nan"),
        "infinity": float("inf"),
        "minus one": -1,
        "minus zero": -0.0,
        "half": 0.5,
        "1e30": 1e30,
        "3e6": 3e6,
        "forty digits": 10**40,
        "six thousand digits": 10**6_000,
        "empty text": "",
        "blank": " \t\n",
        "long text": "a" * 100_000,
        "long words": "no such thing " * 8_000,
        "nul": "a\0b",
        "ansi": "\x1b[31mred\x1b[0m",
        "surrogate": "\ud800",
        "right to left": "\u202egnp.exe",
        "bytes": b"train",
        "bytearray": bytearray(b"x" * 100_000),
        "empty list": [],
        "list of lists": [[]],
        "list of none": [None],
        "long list": list(range(100_000)),
        "list of long texts": ["b" * 10_000] * 50,
        "endless list": endless,
        "deep list": deep,
        "tuple of hostile": (Hostile(),),
        "empty dict": {},
        "odd keys": {None: 1, (1, 2): 2, 3.5: [], b"x": {}},
        "hostile value": {"level": Hostile(), "cpu_seconds": Hostile()},
        "long key": {"k" * 100_000: 1},
        "endless dict": round_trip,
        "set": {"a", 1},
        "hostile": Hostile(),
        "hostile class": Hostile,
        "talkative": Talkative(),
        "array": np.arange(3),
        "large array": np.zeros((1_000, 1_000)),
        "scalar array": np.array(1),
        "np.int64": np.int64(1),
        "np.float64": np.float64("nan"),
        "np.bool": np.bool_(True),
        "lambda": lambda *_: None,
        "generator": (n for n in range(3)),
        "complex": 1j,
        "path": Path("/no/such/file"),
        "folder": Path("/"),
        "module": np,
        "module and name": "http:" + "a" * 100_000,
        "no module": "b" * 100_000 + ":name",
    }


HOSTILE = _hostile_values()
BROWSERS = {entry.id for entry in BROWSER_ENVIRONMENTS}
REASONING = next(entry for entry in OF_OTHERS if entry.id == "Pixelis/ReasoningGym-v0")
OURS = (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS, OWN_ROWS, REASONING)
"""Those with options of ours for ``reset``."""
ALL = (*OURS, *(entry for entry in OF_OTHERS if entry != REASONING))
BASE: dict[str, dict[str, Any]] = {
    "Pixelis/WebPage-v0": {"url": "http://127.0.0.1:9/"},
    "Pixelis/Gymnasium-v0": {"env": "FrozenLake-v1"},
    "Pixelis/ReasoningGym-v0": {"task": "chain_sum"},
    "Pixelis/TextArena-v0": {"game": "GuessTheNumber-v0"},
    "Pixelis/Gem-v0": {"game": "game:GuessTheNumber-v0-easy"},
    "Pixelis/Rows-v0": {"rows": [{"prompt": "a", "answer": "b"}], "reward": lambda row, text: text == "b"},
}
CHEAP = {"reader": "truth"}
"""For constructors that take it: the reader of pixels takes a second to load."""


def _signature(entry: EnvEntry) -> tuple[str, ...]:
    parameters = inspect.signature(load_env_creator(entry.entry_point)).parameters
    names = [name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY]
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        names += list(get_type_hints(ViewKeywords))
    return tuple(names)


def _pairs() -> Iterator[tuple[EnvEntry, str]]:
    for entry in ALL:
        for name in _signature(entry):
            yield entry, name


def _make(entry: EnvEntry, **keywords: Any) -> Any:
    cheap = CHEAP if "reader" in _signature(entry) else {}
    return load_env_creator(entry.entry_point)(**{**cheap, **BASE.get(entry.id, {}), **keywords})


def _problem(name: str, action: Any) -> str | None:
    """Return what is wrong with how an action fails; None where it does not, or as it should."""
    try:
        action()
    except BrowserUnavailableError:
        return None  # it got as far as the browser
    except PixelisError as error:
        said = str(error)
        if len(said) > LONGEST:
            return f"{len(said)} characters: {said[:80]}"
        if name not in said:
            return f"does not name it: {said}"
        printable = said.replace("\n", " ").isprintable()
        if "pydantic" in said or "validation error" in said.lower() or not printable:
            return f"says: {said!r}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return None


@pytest.mark.parametrize(("entry", "name"), list(_pairs()), ids=lambda one: getattr(one, "id", one))
def test_a_hostile_keyword_is_taken_or_a_clear_error(entry: EnvEntry, name: str):
    """What is taken plays; in a browser only the construction is tried."""

    def play(value: Any) -> None:
        env = _make(entry, **{name: value})
        try:
            if entry.id not in BROWSERS:
                env.reset(seed=0)
                env.step("<answer>7</answer>")
        finally:
            env.close()

    problems = {label: _problem(name, lambda v=value: play(v)) for label, value in HOSTILE.items()}
    assert not {label: problem for label, problem in problems.items() if problem}


def _options(entry: EnvEntry) -> tuple[str, ...]:
    return tuple(getattr(load_env_creator(entry.entry_point), "option_names", ()))


@pytest.mark.parametrize(
    ("entry", "name"),
    [(entry, name) for entry in ALL for name in _options(entry)],
    ids=lambda one: getattr(one, "id", one),
)
def test_a_hostile_option_is_taken_or_a_clear_error(entry: EnvEntry, name: str):
    env = _make(entry)
    problems: dict[str, str | None] = {}
    for label, value in HOSTILE.items():
        if entry.id in BROWSERS and name in ("url", "instruction") and label in ("none",):
            continue  # it is taken, and a browser would open
        problems[label] = _problem(name, lambda v=value: env.reset(seed=0, options={name: v}))
    env.close()
    assert not {label: problem for label, problem in problems.items() if problem}


INSIDE = [
    ("Pixelis/WebBrowse-v0", "rewards", [one.name for one in fields(WebRewardConfig)]),
    ("Pixelis/WebBrowse-v0", "difficulty", [one.name for one in fields(WebDifficulty)]),
    ("Pixelis/CodeProblem-v0", "sandbox", [one.name for one in (*fields(SandboxSettings), *fields(Limits))]),
]


@pytest.mark.parametrize(("env_id", "keyword", "names"), INSIDE, ids=[one[1] for one in INSIDE])
def test_a_hostile_value_inside_a_keyword_is_taken_or_a_clear_error(
    env_id: str, keyword: str, names: list[str]
):
    (entry,) = [one for one in ENVIRONMENTS if one.id == env_id]
    problems: dict[str, str | None] = {}
    for name in names:
        for label, value in HOSTILE.items():

            def play(given: Any) -> None:
                env = _make(entry, **{keyword: given})
                env.reset(seed=0)
                env.step("<answer>7</answer>")
                env.close()

            problems[f"{name}, {label}"] = _problem(name, lambda given={name: value}: play(given))
    assert not {label: problem for label, problem in problems.items() if problem}


@pytest.mark.parametrize("entry", (*ENVIRONMENTS, OWN_ROWS), ids=lambda entry: entry.id)
def test_a_hostile_field_of_a_given_task_is_taken_or_a_clear_error(entry: EnvEntry):
    """Each field of a task in turn, and each of its data; what is taken can be looked at."""
    env = _make(entry)
    env.reset(seed=0)
    good = env.task.to_json()
    problems: dict[str, str | None] = {}
    for field in (*good, *(f"data.{name}" for name in good["data"])):
        for label, value in HOSTILE.items():
            task = {**good, field: value}
            if field.startswith("data."):
                task = {**good, "data": {**good["data"], field.removeprefix("data."): value}}
            problem = _problem("", lambda t=task: env.reset(seed=0, options={"task": t}))
            problems[f"{field}, {label}"] = problem
    env.close()
    assert not {label: problem for label, problem in problems.items() if problem}


@pytest.mark.parametrize("entry", OURS, ids=lambda entry: entry.id)
def test_unknown_names_are_told_with_the_nearest(entry: EnvEntry):
    with pytest.raises(PixelisError, match=r"no keyword 'splitt'.*Did you mean 'split'|no keyword 'splitt'"):
        _make(entry, splitt="train")
    env = _make(entry)
    for options in ({"splitt": "train"}, {3: 1}, {Hostile: 1}, {"k" * 100_000: 1}, [], "split", Hostile()):
        with pytest.raises(PixelisError, match="option") as caught:
            env.reset(seed=0, options=options)
        assert len(str(caught.value)) <= LONGEST
    env.close()


def test_an_error_costs_little_whatever_the_value():
    """Telling of a value takes no copy of it."""
    text = "a" * 50_000_000
    tracemalloc.start()
    with pytest.raises(PixelisError):
        _make(ENVIRONMENTS[0], split=text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
