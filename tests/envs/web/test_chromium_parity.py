"""The same scripts in process and in a real Chromium: text, rewards, ends and errors are all equal."""

from __future__ import annotations

import pytest
from parity_scripts import MAX_ACTIONS, parity_scripts, replay

from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.page.backend import ERROR_CODES

PLACES = (
    "/static/widgets.js", "/favicon.ico", "/a|b", "/%2e%2e/..;/x", "/a\x00b\r\nX: y", "?q=a|b#c#d",
    "/" + "中" * 9_000, "//host", "\\\\host", "/\\host", "/\t/host", " javascript:1", "java\nscript:1",
    "data:text/html,x", "//u@127.0.0.1/", "file:/etc/passwd", "about:blank", "view-source:/",
)  # fmt: skip


@pytest.mark.slow
def test_both_backends_go_to_the_same_places_and_to_no_others():
    envs = [WebBrowseEnv(backend=name, family="shop") for name in ("dom", "chromium")]
    for env in envs:
        env.reset(seed=0)
    off_site = set()
    for place in PLACES:
        played = [env.step(write(("GOTO", {"path": place}))) for env in envs]
        assert played[0][0] == played[1][0], place
        if played[1][4]["tool_calls"][0]["error_code"] == "off_site":
            off_site.add(place)
    assert off_site == {*PLACES[6:]}
    envs[1].close()


@pytest.mark.slow
def test_both_backends_answer_alike():
    env = WebBrowseEnv(max_turns=MAX_ACTIONS, backend="chromium")
    codes = set()
    for script in parity_scripts(24, first=120):  # benchmarks/quality/web_parity.py plays 500
        played = replay(env, script.seed, script.options, script.turns)
        assert played == script.transcript, script.name
        codes.update(code for said in played[1:] for code in said["errors"])
    env.close()
    bad_pages = {"timeout", "missed", "crashed", "page_lost"}
    assert codes - {None} == set(ERROR_CODES) - bad_pages, "pages of our own always answer"
