"""The picture of the page and its accessibility tree in the observation, and rgb_array."""

from __future__ import annotations

import os
import signal
import time

import gymnasium as gym
import numpy as np
import pytest
from pages_server import PagesServer
from parity_scripts import MAX_ACTIONS, parity_scripts, replay

import pixelis  # noqa: F401  # registers the environments
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.envs.check import contract
from pixelis.envs.check.playing import play
from pixelis.envs.spaces import TRUNCATION_MARK, Utf8Text
from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.chromium.browser import shared_browser
from pixelis.envs.web.chromium.views import NO_TREE, PageViews, ViewSettings
from pixelis.envs.web.dom.backend import DomBackend
from pixelis.envs.web.foreign.web_page import WebPageEnv
from pixelis.envs.web.miniwob.env import MiniWoBEnv
from pixelis.envs.web.page.backend import BackendFailure, PageActionError
from pixelis.errors import ConfigError

BOTH = ("screenshot", "accessibility")
PAGE = """<title>Acting</title><h1>Acting</h1><a href=/two>Second</a> <label>Name <input></label>
<button onclick="document.body.style.background = 'rgb(200, 0, 0)'">Paint</button>
<button onclick="setTimeout(() => { while (true); }, 600)">Hang</button>"""
STYLE = """<title>Style</title><link rel=stylesheet href=/never><h1>Late</h1><button>Go</button>"""
LATE = """<title>Late</title><div id=box style="position: absolute; top: 0; width: 80px; height: 80px"></div>
<div id=other style="position: absolute; top: 90px; width: 80px; height: 80px"></div><script>
  window.onload = () => {
    box.style.background = "url(/late.svg)";
    other.style.background = "url(/never)";
  };
</script>"""
GREEN = """<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80">
<rect width="80" height="80" fill="#008000"/></svg>"""


class Pictures(DomBackend):
    """Pages in process with pictures made up: what the environment does with them is under test."""

    def __init__(self, said):
        super().__init__()
        self.said = list(said)

    def screenshot(self):
        said = self.said.pop(0)
        if isinstance(said, Exception):
            raise said
        return np.full((720, 1024, 3), said, np.uint8)

    def accessibility(self):
        if self.said[0] == "hangs":
            self.said.pop(0)
            raise PageActionError("timeout")
        return "- button" * 2_000


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"observe": ["screenshot"]}, "backend='chromium'"),
        ({"observe": ("accessibility",)}, "backend='chromium'"),
        ({"render_mode": "rgb_array"}, "backend='chromium'"),
        ({"observe": "screenshot", "backend": "chromium"}, "list of names"),
        ({"observe": 3, "backend": "chromium"}, "list of names"),
        ({"observe": ["screenshots"], "backend": "chromium"}, "Did you mean 'screenshot'"),
        ({"observe": [[]], "backend": "chromium"}, "observe must be"),
        ({"observe": ["screenshot"] * 2, "backend": "chromium"}, "twice"),
        ({"obsreve": ["screenshot"]}, "Did you mean 'observe'"),
        ({"render_mode": "human", "backend": "chromium"}, "rgb_array"),
    ],
)
def test_wrong_keywords_are_one_clear_error(keywords, words):
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        WebBrowseEnv(**keywords)


def test_other_environments_check_the_keywords_too():
    with pytest.raises(ConfigError, match="Did you mean 'page_tokens'"):
        WebPageEnv(url="http://127.0.0.1/", page_token=3)
    with pytest.raises(ConfigError, match="observe must be"):
        WebPageEnv(url="http://127.0.0.1/", observe=["pixels"])


def test_by_default_the_observation_is_text_and_nobody_looks():
    env = WebBrowseEnv(family="shop")
    assert set(env.observation_space.spaces) == {"text"} and env.metadata["render_modes"] == ["ansi"]
    env._browser = Pictures([])  # it has none to give
    observation, info = env.reset(seed=0)
    assert set(observation) == {"text"} and "valid_for_training" not in info
    observation, *_, info = env.step("hello")
    assert set(observation) == {"text"} and info["view_changed"] is False
    assert env.render() is None


def seeing(said, observe=BOTH):
    env = WebBrowseEnv(family="shop", backend="chromium", observe=observe)
    env._browser = Pictures(said)
    return env


def test_a_picture_counts_as_new_when_its_pixels_change():
    env = seeing([7, 7, 9])
    first, info = env.reset(seed=0)
    assert info["view_changed"] and (first["image"] == 7).all()
    assert first["accessibility"].endswith(TRUNCATION_MARK)
    assert env.observation_space.contains(first)
    first["image"][:] = 0  # the caller's to keep
    second, *_, info = env.step("hello")
    assert not info["view_changed"] and (second["image"] == 7).all()
    third, *_, info = env.step("hello")
    assert info["view_changed"] and (third["image"] == 9).all()


def test_a_page_that_does_not_paint_is_black_and_the_episode_goes_on():
    env = seeing([7, PageActionError("timeout"), "hangs", 7])
    env.reset(seed=0)
    for begins in ("- button", NO_TREE):
        observation, _, terminated, _, info = env.step("hello")
        assert not terminated and not observation["image"].any()
        assert observation["accessibility"].startswith(begins)
        assert info["view_changed"] == (begins != NO_TREE) and "valid_for_training" not in info
    observation, *_ = env.step("hello")
    assert (observation["image"] == 7).all()


def test_a_browser_that_dies_at_the_picture_ends_the_episode():
    env = seeing([7, BackendFailure("it has died"), 9])
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step("hello")
    assert (terminated, reward, info["valid_for_training"]) == (True, 0.0, False)
    assert "died" in info["failure_reason"] and env.observation_space.contains(observation)
    observation, info = env.reset(seed=0)
    assert (observation["image"] == 9).all() and "valid_for_training" not in info


def test_a_browser_that_dies_at_the_first_picture_is_told_by_reset():
    env = seeing([BackendFailure("it has died")])
    observation, info = env.reset(seed=0)
    assert info["valid_for_training"] is False and env.observation_space.contains(observation)
    assert env.step("hello")[2:4] == (True, False)
    runner = EpisodeRunner(seeing([BackendFailure("it has died")]), EpisodeRequest(0))
    runner.reset()
    assert runner.done and not runner.episode.valid_for_training


def test_a_window_of_another_size_is_a_failure():
    views = PageViews(("screenshot",), 10, 10)
    with pytest.raises(BackendFailure, match="shape"):
        views.take(Pictures([1]))


def test_settings_are_equal_by_value():
    assert ViewSettings.of({"observe": BOTH}, 400) == ViewSettings(400, BOTH)


# ---------------------------------------------------------------------- in a real Chromium


def browse(**keywords):
    return WebBrowseEnv(**{"family": "forms", "backend": "chromium", "observe": BOTH, **keywords})


@pytest.mark.slow
def test_a_site_looks_the_same_each_time_and_names_its_controls():
    env, other = browse(), browse()
    assert env.observation_space["image"] == gym.spaces.Box(0, 255, (720, 1024, 3), np.uint8)
    assert env.observation_space["accessibility"] == Utf8Text(8192)
    plain = WebBrowseEnv(family="forms")
    texts = [plain.reset(seed=3)[0]["text"]]
    firsts = [env.reset(seed=3)[0], other.reset(seed=3)[0], env.reset(seed=3)[0]]
    for observation in firsts:
        assert env.observation_space.contains(observation) and observation["text"] == texts[0]
        assert np.array_equal(observation["image"], firsts[0]["image"])
        assert observation["accessibility"] == firsts[0]["accessibility"]
    assert len(np.unique(firsts[0]["image"].reshape(-1, 3), axis=0)) > 10
    controls = list(env.workspace.snapshot.controls())
    assert controls
    for control in controls:
        assert control.name in firsts[0]["accessibility"], control
    assert not np.array_equal(env.reset(seed=4)[0]["image"], firsts[0]["image"])
    for one in (env, other):
        one.close()


@pytest.mark.slow
def test_what_was_painted_before_leaves_no_trace():
    env = browse(observe=("screenshot",))
    seen = [set(), set()]
    for _ in range(12):  # the ring around a field with the focus differed in every second episode
        observation, info = env.reset(seed=0)
        oracle = env.players()["oracle"](env)
        for pictures in seen:
            observation, *_, info = env.step(oracle.act(observation, info))
            pictures.add(observation["image"].tobytes())
    assert [len(pictures) for pictures in seen] == [1, 1]
    env.close()


@pytest.mark.slow
def test_an_episode_is_played_with_pictures_and_a_policy_gets_them():
    env = browse()
    assert play(env, env.players()["oracle"](env), 0)[-1][4]["success"]
    runner = EpisodeRunner(env, EpisodeRequest(0))
    runner.reset()
    text, image = runner.seen()
    assert text == runner.observation["text"] and image is not None and image.shape == (720, 1024, 3)
    runner.step("hello")
    assert runner.seen()[1] is None  # the page is as it was
    env.close()


@pytest.mark.slow
def test_the_picture_scrolls_with_the_outline():
    env = WebBrowseEnv(
        family="shop", difficulty=3, backend="chromium", observe=("screenshot",), page_tokens=60
    )
    top = env.reset(seed=0)[0]["image"]
    pictures = [env.step(write(("SCROLL", {"direction": "down"})))[0]["image"] for _ in range(8)]
    assert any(not np.array_equal(top, picture) for picture in pictures)
    for _ in range(8):
        back = env.step(write(("SCROLL", {"direction": "up"})))[0]["image"]
    assert np.array_equal(top, back)
    env.close()


@pytest.mark.slow
def test_looking_changes_nothing_of_what_happens():
    env = WebBrowseEnv(max_turns=MAX_ACTIONS, backend="chromium", observe=BOTH)
    for script in parity_scripts(3, first=40):
        assert replay(env, script.seed, script.options, script.turns) == script.transcript, script.name
    env.close()


@pytest.mark.slow
def test_rgb_array_is_the_same_picture():
    env = browse(render_mode="rgb_array")
    assert env.render() is None
    image = env.reset(seed=0)[0]["image"]
    assert np.array_equal(env.render(), image)
    env.close()
    made = gym.make("Pixelis/WebBrowse-v0", family="forms", backend="chromium", render_mode="rgb_array")
    observation, _ = made.reset(seed=0)
    assert set(observation) == {"text"} and np.array_equal(made.render(), image)
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("clause", ["gymnasium_checker", "spaces_are_text", "same_seed_same_bytes", "frames"])
def test_the_contract_holds_with_pictures(clause):
    made = []

    def make(**keywords):
        made.append(browse(**keywords))
        return made[-1]

    subject = contract.Subject(make, seeds=range(2), processes=False)
    finding = contract.run_clause(getattr(contract, clause), subject)
    for env in made:
        env.close()
    assert finding.ok, finding


@pytest.mark.slow
def test_a_miniwob_page_has_views_in_its_own_size():
    env = MiniWoBEnv(task="click-dialog", observe=BOTH, render_mode="rgb_array")
    observations = [env.reset(seed=5)[0] for _ in range(2)]
    assert observations[0]["image"].shape == (420, 500, 3) and env.observation_space.contains(observations[0])
    assert np.array_equal(observations[0]["image"], observations[1]["image"])
    assert np.array_equal(env.render(), observations[0]["image"])
    assert "button" in observations[0]["accessibility"]
    env.close()


@pytest.fixture(scope="module")
def server():
    pages = PagesServer(
        {"/": PAGE, "/two": "<h1>Second</h1>", "/style": STYLE, "/late": LATE, "/late.svg": GREEN}
    )
    yield pages
    pages.close()


def press(env, name):
    key = next(line for line in env.workspace.text.splitlines() if f'"{name}"' in line)
    shown = key.partition(f'"{name}" [')[2].partition("]")[0]
    return env.step(write(("CLICK", {"id": shown})))


@pytest.mark.slow
def test_any_page_is_seen_as_it_is_after_the_turn(server):
    env = WebPageEnv(url=server.url, observe=BOTH)
    observation, _ = env.reset(seed=0)
    assert (observation["image"][600, 900] == 255).all()
    for name in ("Second", "Name", "Paint"):
        assert name in observation["accessibility"] and name in observation["text"]
    observation, *_, info = press(env, "Paint")
    assert observation["image"][600, 900].tolist() == [200, 0, 0] and info["view_changed"]
    observation, *_ = press(env, "Second")
    assert "Second" in observation["accessibility"] and "Paint" not in observation["accessibility"]
    env.close()


@pytest.mark.slow
def test_a_page_that_hangs_does_not_hang_the_picture(server):
    env = WebPageEnv(url=server.url, observe=BOTH)
    env.reset(seed=0)
    press(env, "Hang")
    time.sleep(1.5)  # its script runs without end from now on
    observation, _, terminated, _, info = env.step("hello")
    assert not terminated and "valid_for_training" not in info
    assert not observation["image"].any() and observation["accessibility"] == NO_TREE
    observation, *_, info = press(env, "Paint")
    assert info["tool_calls"][0]["error_code"] == "timeout"  # and the page is loaded anew
    assert (observation["image"][600, 900] == 255).all() and "Paint" in observation["accessibility"]
    env.close()


@pytest.mark.slow
def test_images_that_come_late_are_in_the_picture(server):
    env = WebPageEnv(url=f"{server.url}/late", observe=("screenshot",))
    image = env.reset(seed=0)[0]["image"]
    assert image[40, 40].tolist() == [0, 128, 0] and (image[130, 40] == 255).all()
    assert np.array_equal(env.step("hello")[0]["image"], image)
    env.close()


@pytest.mark.slow
def test_a_page_that_never_paints_is_black(server):
    env = WebPageEnv(url=f"{server.url}/style", observe=BOTH)
    observation, info = env.reset(seed=0)
    assert "valid_for_training" not in info and env.observation_space.contains(observation)
    assert 'button "Go"' in observation["accessibility"]
    observation, _, terminated, _, info = env.step("hello")
    assert not terminated and "valid_for_training" not in info
    assert not observation["image"].any()  # Chromium does not paint before the style sheet is there
    env.close()


@pytest.mark.slow
def test_a_browser_killed_before_the_picture_ends_the_episode(server):
    for env in (WebPageEnv(url=server.url, observe=("screenshot",)), browse(observe=("accessibility",))):
        env.reset(seed=0)
        browser = shared_browser()
        os.kill(browser.run(browser.pid(), 60), signal.SIGKILL)
        observation, reward, terminated, _, info = env.step("hello")  # no call: only the picture is taken
        assert (terminated, reward, info["valid_for_training"]) == (True, 0.0, False)
        assert info["failure_reason"] and env.observation_space.contains(observation)
        observation, info = env.reset(seed=0)
        assert "valid_for_training" not in info and not env.failure
        env.close()
