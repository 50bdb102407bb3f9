"""What every family of sites must be: solvable, repeatable, JSON, small at first, and robust."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pixelis.envs.check.playing import play
from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.oracle import solve
from pixelis.envs.web.browse.workspace import WebWorkspace
from pixelis.envs.web.dom.backend import DomBackend
from pixelis.envs.web.families.family import draw_level, families, outcome, site_handler
from pixelis.envs.web.sites.levels import DIALS, WebDifficulty, WebLevel
from pixelis.envs.web.sites.site import Request

FAMILIES = sorted(families())
EVERY_LEVEL = [(name, level) for name in FAMILIES for level in range(6)]


def level_of(name: str, seed: int, difficulty, split: str = "train") -> WebLevel:
    return draw_level(families()[name], seed, WebDifficulty.of(difficulty), split)


@pytest.mark.parametrize(("name", "level"), EVERY_LEVEL)
def test_the_oracle_solves_every_level(name: str, level: int):
    for seed in range(3):
        for split in ("train", "test"):
            assert solve(level_of(name, seed, level, split), 400) > 0


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("dial", DIALS)
def test_the_oracle_solves_every_dial_at_its_top(name: str, dial: str):
    for level in (0, 3):
        assert solve(level_of(name, 5, {"difficulty": level, dial: 3}), 400) > 0


@pytest.mark.parametrize(("name", "level"), EVERY_LEVEL)
def test_a_level_is_json_and_comes_back_from_it(name: str, level: int):
    one = level_of(name, 7, level)
    again = WebLevel.from_json(json.loads(json.dumps(one.to_json())), one.instruction)
    assert again.to_json() == one.to_json()
    assert level_of(name, 7, level).to_json() == one.to_json()
    assert solve(again, 400) == solve(one, 400)
    assert one.theme["brand"] in one.instruction


@pytest.mark.parametrize("name", FAMILIES)
def test_nothing_is_reached_at_first_and_nothing_has_changed(name: str):
    for level in range(6):
        one = level_of(name, 3, level)
        start = outcome(one, one.state)
        assert one.answer is not None or not all(start.goals)
        assert not start.collateral
        assert not start.unsafe


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("level", [0, 1])
def test_easy_episodes_are_short(name: str, level: int):
    env = WebBrowseEnv(family=name, difficulty=level)
    for seed in range(6):
        turns = play(env, env.players()["oracle"](env), seed)
        assert len(turns) - 1 <= 6
        assert sum(len(turn[0]["text"]) for turn in turns) / 4 < 1_200


@pytest.mark.parametrize("name", FAMILIES)
def test_an_obedient_reader_loses_wherever_pages_give_orders(name: str):
    env = WebBrowseEnv(family=name)
    for dial in (1, 2, 3):
        for seed in range(2):
            options = {"difficulty": {"difficulty": 2, "injection": dial}}
            turns = play(env, env.players()["naive_follower"](env), seed, options)
            info = turns[-1][4]
            assert not info["success"]
            assert info["reward_terms"]["safety"] == -0.5
            assert turns[-1][1] < 0


@pytest.mark.parametrize("name", FAMILIES)
def test_using_what_nobody_asked_for_is_a_failure(name: str):
    one = level_of(name, 1, 2)
    workspace = WebWorkspace(one, DomBackend(), 400)
    workspace.session.handle(Request.of("POST", "/_extra", "what=newsletter"))
    assert "newsletter" in outcome(one, workspace.session.state).collateral[0]


@pytest.mark.parametrize("name", FAMILIES)
def test_no_request_breaks_a_site(name: str):
    rng = np.random.default_rng(0)
    values = ["", "x", "-1", "99999999999999999999", "½", "a" * 3_000, "<b>&", "1e9", "../..", "²"]
    for level in range(6):
        one = level_of(name, 2, level)
        workspace = WebWorkspace(one, DomBackend(), 400)
        handle, state = site_handler(one), workspace.session.state
        paths, fields = _vocabulary(one)
        for _ in range(60):
            body = "&".join(f"{rng.choice(fields)}={rng.choice(values)}" for _ in range(3))
            path = str(rng.choice(paths))
            posted = handle(state, Request.of("POST", path, body))
            assert posted.location.startswith("/")
            page = handle(state, Request.of("GET", f"{path}?{body}"))
            assert page.location or page.html
        json.dumps(state)
        outcome(one, state)


def _vocabulary(level: WebLevel) -> tuple[list[str], list[str]]:
    """Return the paths and field names that the family's own pages use, and some that they do not."""
    paths, fields = {"/", "/nowhere", "/%00", "//"}, {"q", "page", "x"}
    workspace = WebWorkspace(level, DomBackend(), 400)
    handle = site_handler(level)
    seen: set[str] = set()
    for _ in range(3):
        for path in sorted(paths - seen)[:12]:
            seen.add(path)
            response = handle(workspace.session.state, Request.of("GET", path))
            if response.html:
                found_paths, found_fields = _names_in(response.html)
                paths |= found_paths
                fields |= found_fields
    return sorted(paths), sorted(fields)


def _names_in(html: str) -> tuple[set[str], set[str]]:
    from pixelis.envs.web.dom.tree import parse_html

    elements = list(parse_html(html).elements())
    targets = {e.get("href") or e.get("action") for e in elements if e.get("href") or e.get("action")}
    return {t for t in targets if t.startswith("/")}, {e.get("name") for e in elements if e.get("name")}


@pytest.mark.parametrize("name", FAMILIES)
def test_pages_keep_to_the_rules_that_parity_needs(name: str):
    from pixelis.envs.web.dom.tree import parse_html

    for level in range(6):
        one = level_of(name, 4, level)
        handle = site_handler(one)
        workspace = WebWorkspace(one, DomBackend(), 400)
        for path in _vocabulary(one)[0][:20]:
            response = handle(workspace.session.state, Request.of("GET", path))
            for element in parse_html(response.html).elements() if response.html else ():
                if element.tag == "form":
                    assert element.get("autocomplete") == "off", path
                assert "style" not in element.attrs, path
                assert not any(attr.startswith("on") for attr in element.attrs), path
                if element.tag == "button" and any(a.startswith("data-") for a in element.attrs):
                    assert element.get("type") == "button", path
