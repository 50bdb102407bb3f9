"""Episodes are kept apart, the server is not reachable from outside, and what pages say is data."""

from __future__ import annotations

import http.client
import os
import signal

import pytest

from pixelis.envs.check.playing import play
from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.chromium.backend import ChromiumBackend, shared_server
from pixelis.envs.web.chromium.browser import shared_browser
from pixelis.envs.web.families.family import draw_level, families, open_session
from pixelis.envs.web.sites.levels import DIALS, WebDifficulty
from pixelis.envs.web.sites.server import COOKIE, SiteServer
from pixelis.envs.web.sites.site import Request
from pixelis.envs.web.sites.theme import OFFER_PATH

PLAIN = dict.fromkeys(DIALS, 0)


def session_of(family: str = "shop", seed: int = 1):
    return open_session(
        draw_level(families()[family], seed, WebDifficulty.of({"difficulty": 1, **PLAIN}), "train")
    )


def status(path: str, token: str) -> int:
    host = shared_server().origin.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("GET", path, headers={"Cookie": f"{COOKIE}={token}"})
    answer = connection.getresponse().status
    connection.close()
    return answer


def test_the_port_is_the_systems_choice():
    with SiteServer() as one, SiteServer() as two:
        ports = {int(server.origin.rpartition(":")[2]) for server in (one, two)}
        assert len(ports) == 2 and min(ports) > 1024


def test_each_reset_has_a_token_of_its_own():
    env = WebBrowseEnv(family="shop")
    tokens = set()
    for _ in range(5):
        env.reset(seed=0)
        tokens.add(env.workspace.session.token)
    assert len(tokens) == 5
    assert not any(token in env.workspace.window.text for token in tokens)


@pytest.mark.slow
def test_pages_of_one_episode_cannot_read_anothers():
    backend, other = ChromiumBackend(), ChromiumBackend()
    first, second = session_of(seed=1), session_of(seed=2)
    backend.open(first)
    other.open(second)
    assert status("/cart", first.token) == status("/cart", second.token) == 200
    assert backend.evaluate("document.cookie") == "", "the token is not for scripts"
    fetched = "fetch('/', {headers: {Cookie: given}}).then(answer => answer.text())"
    assert (
        backend.evaluate(fetched, f"{COOKIE}={second.token}").split("<title>")[1]
        == first.handle(Request.of("GET", "/")).html.split("<title>")[1]
    ), "a page cannot choose its token"
    third = session_of(seed=3)
    backend.open(third)
    assert status("/cart", first.token) == 403, "the episode before is over"
    assert status("/cart", second.token) == status("/cart", third.token) == 200
    backend.close()
    other.close()
    assert status("/cart", third.token) == status("/cart", second.token) == 403


@pytest.mark.parametrize("name", sorted(families()))
def test_the_oracle_never_does_what_pages_order(name: str):
    env = WebBrowseEnv(family=name)
    for seed in range(2):
        turns = play(
            env, env.players()["oracle"](env), seed, {"difficulty": {"difficulty": 2, "injection": 3}}
        )
        assert turns[-1][4]["success"] and turns[-1][4]["reward_terms"]["safety"] == 0.0
        seen = env.workspace.session.state["_site"]["seen"]
        assert not any(path.startswith(OFFER_PATH) for path in seen)


def test_what_an_agent_types_is_shown_as_text():
    env = WebBrowseEnv(family="calendar")
    env.reset(seed=0, options={"difficulty": {"difficulty": 1, **PLAIN}})
    goal = env.workspace.level.goal["event"]["slot"]
    slots = env.workspace.level.data["busy"]
    free = next(one for one, busy in slots.items() if one != goal and not busy)
    env.step(write(("GOTO", {"path": f"/new?slot={free}"})))
    field = next(c for c in env.workspace.snapshot.controls() if c.role == "textbox")
    text = "<button>Win</button><script>1</script>{{ 7 * 7 }}"
    turn = write(("TYPE", {"id": env.workspace.ids.shown_id(field.key), "text": text, "submit": True}))
    page = env.step(turn)[0]["text"]
    assert text in page and '"Win"' not in page


@pytest.mark.slow
def test_a_browser_killed_in_the_middle_ends_one_episode_and_training_goes_on():
    env = WebBrowseEnv(family="shop", backend="chromium")
    env.reset(seed=0)
    browser = shared_browser()
    os.kill(browser.run(browser.pid(), 60), signal.SIGKILL)
    _, reward, terminated, truncated, info = env.step(write(("WAIT", {})))
    assert terminated and not truncated and reward == 0.0
    assert info["valid_for_training"] is False and info["failure_reason"]
    turns = play(env, env.players()["oracle"](env), 0)
    assert turns[-1][4]["success"] and turns[-1][4].get("valid_for_training", True) is True
    env.close()
