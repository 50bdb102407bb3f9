"""What an agent can bring about is told to it or is its failure: no action voids an episode."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time

import pytest
from hostile_pages import BUTTONS, FORMS, LINKS, SLOW, hostile_page
from pages_server import PagesServer

from pixelis.envs.check.nasty_actions import NASTY_ACTIONS
from pixelis.envs.web.chromium.browser import shared_browser
from pixelis.envs.web.foreign.web_page import WebPageEnv
from pixelis.envs.web.miniwob.env import MiniWoBEnv, miniwob_tasks

PLACES = (
    "/", "/two", "/missing", "/gone", "", "#x", "?", "..", "http://[", "about:blank", "javascript:1",
    "data:,x", "chrome://crash", "/file", "\x00", "//", "http://127.0.0.2/", "%00", "/" + "x" * 1900, "file:///etc/passwd",
)  # fmt: skip
TEXTS = ("x", "<script>1</script>", "", "é" * 50)
KEYS = (
    "Enter",
    "Tab",
    "Escape",
    "F5",
    "Control+r",
    "Alt+ArrowLeft",
    "Control+w",
    "Control+a",
    "Delete",
    "x",
    "Space",
)


class Server(PagesServer):
    """Also closes the connection (``/gone``)."""

    def answer(self, handler):
        if handler.path == "/gone":
            handler.close_connection = True
            return
        super().answer(handler)


@pytest.fixture(scope="module")
def pages():
    server = Server(
        {
            "/": hostile_page(),
            "/spoilt": hostile_page(spoilt=True),
            "/two": "<h1>Second</h1><a href=/>Home</a>",
        }
    )
    yield server
    server.close()


@pytest.fixture(scope="module")
def env(pages):
    env = WebPageEnv(
        url=pages.url,
        load_seconds=5,
        max_turns=400,
        page_tokens=1600,
        observe=("screenshot", "accessibility"),
    )
    yield env
    env.close()


def call(env, tool, **arguments):
    turn = f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"
    observation, _, terminated, truncated, info = env.step(turn)
    assert "valid_for_training" not in info, (tool, arguments, info["failure_reason"])
    return observation["text"], info["tool_calls"][0]["error_code"], terminated or truncated


def named(text, name):
    found = re.search(rf'"{re.escape(name)}" \[(e\d+@v\d+)\]', text)
    assert found, (name, text)
    return found.group(1)


NAMES = (*BUTTONS, *(f"Link {n}" for n in range(len(LINKS))), *(f"Form {n}" for n in range(len(FORMS))))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_page_does_the_episode_goes_on(env, name):
    text = env.reset()[0]["text"]
    start = time.monotonic()
    text, _, over = call(env, "CLICK", id=named(text, name))
    assert time.monotonic() - start < 5, "it cost a whole time-out"
    for tool, arguments in (("WAIT", {"milliseconds": 20}), ("BACK", {}), ("GOTO", {"url": "/two"})):
        assert not over
        text, code, over = call(env, tool, **arguments)
    assert code is None and "# Second" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"), [("Hang", "timeout"), ("Deep", "crashed"), ("Poison", "page_lost")]
)
def test_a_page_that_hangs_or_crashes_is_loaded_anew_or_the_agent_has_failed(env, name, code):
    assert name in SLOW
    text = env.reset()[0]["text"]
    text, got, over = call(env, "CLICK", id=named(text, name))
    assert got == code and over is (code == "page_lost"), text
    if over:
        assert env.verdict is not None and not env.verdict.success and env.verdict.reward == 0.0
    else:
        assert "# Start" in text and call(env, "CLICK", id=named(text, "Throw"))[1] is None
    env.reset()
    assert env.failure == ""


@pytest.mark.slow
def test_a_page_without_its_built_ins_is_read_and_used(env, pages):
    text = env.reset(options={"url": f"{pages.url}/spoilt"})[0]["text"]
    assert env.failure == "" and "# Start" in text
    for name in ("heard", "set"):
        text, code, _ = call(env, "CLICK", id=named(text, name))
        assert code is None and f"Page: {name}" in text
    text, code, _ = call(env, "TYPE", id=named(text, "Field"), text="abc")
    assert code is None and '= "abc"' in text
    assert call(env, "PRESS", keys="Backspace")[1] is None
    text, code, _ = call(env, "CLICK", id=named(text, "Alerts"))
    assert "(20 times)" in text
    select = re.search(r"combobox \[(e\d+@v\d+)\]|combobox .*?\[(e\d+@v\d+)\]", text)
    text, code, _ = call(env, "SELECT", id=select.group(1) or select.group(2), option="B")
    assert code is None and '= "B"' in text


@pytest.mark.slow
def test_links_that_load_nothing_say_so(env):
    for number, where in enumerate(LINKS[:7]):
        if where.split(":")[0] in ("data", "mailto", "tel", "odd"):
            text = env.reset()[0]["text"]
            text, code, _ = call(env, "CLICK", id=named(text, f"Link {number}"))
            assert code is None and f"loads no page ({where.split(':')[0]}:)" in text


@pytest.mark.slow
def test_a_file_that_is_missing_and_back(tmp_path):
    (tmp_path / "a.html").write_text("<h1>First</h1><a href=b.html>Next</a>")
    (tmp_path / "b.html").write_text("<h1>Second</h1><a href=missing.html>Broken</a>")
    env = WebPageEnv(url=(tmp_path / "a.html").as_uri(), max_turns=40)
    text = env.reset()[0]["text"]
    assert call(env, "GOTO", url="missing.html")[1] == "timeout"
    text = call(env, "BACK")[0]
    assert "# First" in text and "There is no previous page" in text
    text = call(env, "CLICK", id=named(text, "Next"))[0]
    for _ in range(2):
        text, code, _ = call(env, "CLICK", id=named(text, "Broken"))
        assert code == "timeout" and "# Second" in text
    text, code, _ = call(env, "BACK")
    assert code is None and "# First" in text  # and not the page that is not there
    assert "There is no previous page" in call(env, "BACK")[0]
    env.close()


def random_action(chance, text):
    ids = re.findall(r"e\d+@v\d+", text) or ["e1@v1"]
    one, point = chance.choice(ids), [round(chance.random(), 2), round(chance.random(), 2)]
    tool, arguments = chance.choice([
        ("CLICK", {"id": one}), ("CLICK", {"id": one}), ("CLICK", {"id": one, "at": point}),
        ("TYPE", {"id": one, "text": chance.choice(TEXTS), "submit": chance.random() < .5}),
        ("SELECT", {"id": one, "option": "B"}),
        ("SCROLL", {"direction": "down", "id": one, "times": 3}),
        ("GOTO", {"url": chance.choice(PLACES)}), ("BACK", {}),
        ("WAIT", {"milliseconds": chance.choice([1, 300])}),
        ("PRESS", {"keys": chance.choice(KEYS), "times": chance.choice([1, 5])}),
        ("PRESS", {"keys": chance.choice(KEYS), "id": one}),
        ("HOVER", {"id": one, "at": point}),
        ("DRAG", {"id": one, "to": chance.choice(ids), "from_point": point}),
        ("DRAG", {"id": one, "by": [900, -900]}),
        ("MARK", {"id": one}), ("MARK", {"text": "Start"}),
    ])  # fmt: skip
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def fuzz(env, chance, actions, slow=()):
    played = 0
    while played < actions:
        observation, info = env.reset(seed=chance.randrange(10**6))
        assert "valid_for_training" not in info, info.get("failure_reason")
        for _ in range(chance.randint(3, 25)):
            dangerous = {
                named(observation["text"], name) for name in slow if f'"{name}" [' in observation["text"]
            }
            action = (
                chance.choice([*NASTY_ACTIONS.values()])
                if chance.random() < 0.05
                else random_action(chance, observation["text"])
            )
            if any(f'"{one}"' in action for one in dangerous):
                continue  # they are right, and cost ten seconds each
            observation, reward, terminated, truncated, info = env.step(action)
            played += 1
            assert "valid_for_training" not in info, (action, info["failure_reason"])
            if terminated or truncated:
                assert reward == 0.0 or info["success"]
                break


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_random_actions_void_an_episode_of_a_hostile_page(env, seed):
    fuzz(env, random.Random(seed), 100, slow=SLOW)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_random_actions_void_an_episode_of_miniwob(seed):
    env = MiniWoBEnv(task=miniwob_tasks(), max_turns=25, all_elements=bool(seed % 2))
    fuzz(env, random.Random(seed), 150)
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda url: WebPageEnv(url=url), lambda url: MiniWoBEnv()])
def test_a_browser_that_dies_by_itself_is_no_failure_of_the_agent(pages, make):
    env = make(pages.url)
    env.reset(seed=0)
    os.kill(shared_browser().run(shared_browser().pid(), 60), signal.SIGKILL)
    info = env.step('<tool_call>{"name": "WAIT", "arguments": {}}</tool_call>')[4]
    assert info["valid_for_training"] is False and info["failure_reason"]
    env.reset(seed=0)
    assert env.failure == ""
    env.close()
