"""MiniWoB++ pays for the instance that was drawn and for nothing else: every way out of it is a failure."""

from __future__ import annotations

import contextlib
import json

import pytest
from miniwob_player import NotThere, Player
from miniwob_table import SOLVERS

from pixelis.envs.web.miniwob.env import MiniWoBEnv, miniwob_tasks, task_path

TASKS = ("click-test-2", "enter-text", "click-checkboxes", "choose-list")
OUT = (
    "OWN", "OWN?", "OWN?mode=test", "OWN?record=1", "./", "/", "/missing.html", "/core/core.js", "",
    "click-test.html", "../miniwob/click-test.html", "%63lick-test.html", "..%2fminiwob/click-test.html",
    "\\miniwob\\click-test.html", "/flight/AA/wrapper.html", "?",
)  # fmt: skip
REFUSED = (
    "javascript:core.endEpisode(1)", "JAVA\tscript:core.endEpisode(1)", "data:text/html,<script>1</script>",
    "about:blank", "chrome://crash", "view-source:OWN", "file:///etc/passwd", "http://[", "http://127.0.0.2/",
    "blob:x",
)  # fmt: skip


@pytest.fixture(scope="module")
def env():
    env = MiniWoBEnv(task=list(TASKS), max_turns=40, page_tokens=1600)
    yield env
    env.close()


def begin(env, task, seed=0):
    given = {"question": "", "answer": "", "data": {"task": task, "seed": seed}}
    player = Player.__new__(Player)
    player.env, player.over, player.success, player.errors = env, False, False, []
    observation, info = env.reset(options={"task": given})
    player.text, player.asked = observation["text"], info["utterance"]
    return player


def leave(player, url):
    turn = f"<tool_call>{json.dumps({'name': 'GOTO', 'arguments': {'url': url}})}</tool_call>"
    observation, reward, terminated, _, info = player.env.step(turn)
    return observation["text"], reward, terminated, info


def check_failed(text, reward, terminated, info):
    assert terminated and reward == 0.0 and info["success"] is False, text
    assert "valid_for_training" not in info and "failure_reason" not in info
    assert info["tool_calls"][-1]["error_code"] == "left_task" and "left" in text


@pytest.mark.slow
@pytest.mark.parametrize("place", OUT)
def test_leaving_the_page_is_a_failure_of_the_agent(env, place):
    for task in TASKS[:2]:
        player = begin(env, task)
        check_failed(*leave(player, place.replace("OWN", task_path(task))))


@pytest.mark.slow
def test_what_is_refused_leaves_the_task_as_it_is(env):
    for task in TASKS[:2]:
        player = begin(env, task)
        for place in REFUSED:
            _, _, terminated, info = leave(player, place.replace("OWN", task_path(task)))
            assert not terminated and info["tool_calls"][0]["error_code"] == "off_site", place
        text, _, terminated, info = leave(player, "#x")
        assert not terminated and "valid_for_training" not in info
        player.text = text
        SOLVERS[task](player)
        assert player.success


@pytest.mark.slow
def test_back_does_not_lead_into_an_earlier_episode(env):
    for task in (*TASKS, TASKS[0]):
        player = begin(env, task)
        for _ in range(2):
            assert player.call("BACK") and not player.over, player.text
        SOLVERS[task](player)
        assert player.success, (task, player.text)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4))
def test_work_on_another_instance_is_not_paid(first):
    env = MiniWoBEnv(task=list(SOLVERS), max_turns=40, page_tokens=1600)
    for number, task in enumerate(list(SOLVERS)[first::8]):
        for place in (task_path(task), "/miniwob/click-test.html")[number % 2 :]:
            player = begin(env, task, seed=2)
            player.call("GOTO", url=place)
            assert player.over and not player.success, (task, place)
            with contextlib.suppress(NotThere):
                player.click("clickable|button", "START|Click Me!")
            assert not player.success
    env.close()


@pytest.mark.slow
def test_a_turn_that_leaves_and_goes_on_is_not_paid(env):
    player = begin(env, "click-test-2")
    calls = [("GOTO", {"url": "/miniwob/click-test.html"}), ("CLICK", {"id": "e1@v1"}), ("BACK", {})]
    turn = "".join(f"<tool_call>{json.dumps({'name': n, 'arguments': a})}</tool_call>" for n, a in calls)
    observation, reward, terminated, _, info = player.env.step(turn)
    assert terminated and reward == 0.0 and not info["success"]
    assert [call["error_code"] for call in info["tool_calls"]] == ["left_task", "stale", "episode_over"], (
        observation
    )


@pytest.mark.slow
def test_the_first_judgement_of_the_instance_counts_even_if_it_is_started_again(env):
    player = begin(env, "click-test-2")
    env.backend.evaluate("core.cover_div.click()")  # no agent reaches it: it is not shown
    env.backend.evaluate("core.endEpisode(1)")
    player.call("WAIT")
    assert player.over and not player.success and env.verdict.terms["raw"] == -1.0


@pytest.mark.slow
def test_an_instance_that_is_not_the_drawn_one_is_never_judged(env):
    begin(env, "click-test-2")
    path = task_path("click-test-2")
    env.backend.evaluate("void (location.href = given)", path)
    observation, reward, terminated, _, info = env.step(
        '<tool_call>{"name": "WAIT", "arguments": {}}</tool_call>'
    )
    check_failed(observation["text"], reward, terminated, info)


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", ["terminal", "enter-text", "text-editor", "email-inbox-reply", "search-engine"]
)
def test_a_script_that_is_typed_into_a_page_is_not_run(task):
    env = MiniWoBEnv(task=task, max_turns=40, page_tokens=1600)
    player = Player(env, 1)
    for script in ("<img src=x onerror=core.endEpisode(1)>", "<script>core.endEpisode(1)</script>"):
        for place in range(len(player.all("textbox"))):
            player.type(script, n=place, submit=True)
            player.call("WAIT")
    player.call("WAIT", milliseconds=2000)
    assert not player.success and env._state["reward"] < 1, player.text
    env.close()


def test_every_task_has_a_path_of_its_own():
    assert len({task_path(task) for task in miniwob_tasks()}) == len(miniwob_tasks())
