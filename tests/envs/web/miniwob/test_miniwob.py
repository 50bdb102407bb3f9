"""MiniWoB++ through ids: scripted solvers that read the observation alone, seeds, bad input."""

from __future__ import annotations

import pytest
from miniwob_player import Player
from miniwob_table import SOLVERS

from pixelis.envs.web.miniwob.env import MiniWoBEnv, miniwob_tasks
from pixelis.errors import ConfigError, TaskError

DIVERSE = (
    "click-test-2", "click-checkboxes", "click-dialog", "click-tab-2", "click-collapsible",
    "click-menu", "click-option", "click-color", "click-shades", "click-shape", "choose-list",
    "choose-date", "enter-text", "enter-date", "enter-time", "login-user", "search-engine",
    "email-inbox", "social-media", "book-flight-nodelay", "use-autocomplete", "use-slider",
    "use-spinner", "navigate-tree", "grid-coordinate", "simple-arithmetic", "find-word",
    "copy-paste", "text-editor", "drag-box", "highlight-text", "click-scroll-list",
)  # fmt: skip


def play(task, seed, **settings):
    env = MiniWoBEnv(task=task, max_turns=60, page_tokens=1600, **settings)
    player = Player(env, seed)
    SOLVERS[task](player)
    env.close()
    return player


@pytest.mark.slow
@pytest.mark.parametrize("task", DIVERSE)
def test_a_solver_that_reads_the_observation_solves_it(task):
    player = play(task, 0)
    assert player.success, (player.asked, player.errors, player.text)


@pytest.mark.slow
def test_equal_seeds_give_equal_pages_and_wrong_answers_no_success():
    env = MiniWoBEnv(task=["click-test-2", "choose-date"], max_turns=5)
    texts = [env.reset(seed=seed)[0]["text"] for seed in (3, 4, 3)]
    assert texts[0] == texts[2] != texts[1]
    env.close()
    env = MiniWoBEnv(task="click-test-2")
    player = Player(env, 0)
    player.click("button", "TWO")
    assert player.over and not player.success
    assert (
        env.verdict is not None
        and env.verdict.terms == {"task": 0.0, "raw": -1.0}
        and env.verdict.reward == 0.0
    )
    env.close()


@pytest.mark.slow
def test_time_stands_still_between_actions():
    env = MiniWoBEnv(task="click-test")
    env.reset(seed=0)
    before = env.backend.evaluate("Date.now()")
    env.backend.evaluate("new Promise(done => __pixelis.later(done, 300))")
    assert env.backend.evaluate("Date.now()") == before
    env.step('<tool_call>{"name": "WAIT", "arguments": {"milliseconds": 9000}}</tool_call>')
    assert env.backend.evaluate("Date.now()") == before + 9000
    player = Player(env, 1)
    for _ in range(12):  # two minutes of the page's time: MiniWoB++ ends its episodes after ten seconds
        player.call("WAIT", milliseconds=10_000)
    player.click("button")
    assert player.success
    env.close()


def test_there_is_a_solver_for_most_tasks():
    assert set(SOLVERS) <= set(miniwob_tasks())
    assert len(SOLVERS) > 100 and set(DIVERSE) <= set(SOLVERS)


def test_bad_settings_are_refused():
    with pytest.raises(ConfigError, match="Did you mean 'click-test'"):
        MiniWoBEnv(task="click-tests")
    with pytest.raises(ConfigError, match="a name or a list of names"):
        MiniWoBEnv(task=[])
    env = MiniWoBEnv()
    with pytest.raises(TaskError, match="integer seed"):
        env.reset(options={"task": {"question": "", "answer": "", "data": {"task": "click-test"}}})
