"""Pages of real episodes: played again for their pictures, in a real browser, and bounded."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import toy_env  # noqa: F401  # registers the toys
from PIL import Image

from pixelis.agents.episode_files.reading import find_files, read_file
from pixelis.agents.episode_files.stored import StoredEpisode, StoredTurn
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.transcripts import episode_row
from pixelis.agents.viewing.film import write_film
from pixelis.agents.viewing.page import diff_page, episodes_page
from pixelis.agents.viewing.pictures import Pictures, Stage
from pixelis.agents.viewing.sheet import EPISODE_BYTES, sheet_of
from pixelis.errors import ConfigError, RecordingError
from pixelis.wrappers import RecordTrajectory

NASTY = (
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'mine'\">\x1b[2J\u202ecba"
)


class Tags(HTMLParser):
    """Collects what a browser would take for tags."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))


def stored(folder, seed=3, actions=("ab", "AB"), env="Toy/Album-v0"):
    """Play an episode as a trainer does and read it back from the file."""
    runner = EpisodeRunner(gym.make(env), EpisodeRequest(seed))
    runner.reset()
    for action in actions:
        runner.step(action)
    run = RunFolder(folder)
    run.trajectories.mkdir(parents=True)
    run.write_trajectories(1, [episode_row(runner.episode)])
    (episode,) = read_file(find_files(run.trajectories / "step-00000001.jsonl")[0]).episodes
    return episode


@pytest.fixture
def episode(tmp_path):
    return stored(tmp_path / "run", seed=2, actions=("ab", "AB", "c"))


def test_played_again_it_shows_what_was_seen(episode):
    env = gym.make("Toy/Album-v0")
    seen = [env.reset(seed=2)[0]["image"], *(env.step(turn.action)[0]["image"] for turn in episode.turns)]
    with Stage("toy_env:Toy/Album-v0") as stage:
        pictures = stage.pictures(episode)
    assert pictures.problem is None and len(pictures.frames) == 4
    assert all(np.array_equal(*pair) for pair in zip(pictures.frames, seen, strict=True))


def test_missing_pictures_are_told(episode):
    turns = episode.turns
    changed = replace(episode, turns=(turns[0], replace(turns[1], heard="other"), turns[2]))
    with Stage("toy_env:Toy/Album-v0") as stage:
        pictures = stage.pictures(changed)
        assert len(pictures.frames) == 2 and "turn 2: played again" in pictures.problem
        assert "another than was stored" in stage.pictures(replace(episode, asked="?")).problem
        assert "another task" in stage.pictures(replace(episode, task={"hash": "?"})).problem
        assert "no seed" in stage.pictures(replace(episode, seed=None)).problem
        assert "the turns were not kept" in stage.pictures(replace(episode, turns=None)).problem
    assert "cannot be made here" in Stage("Toy/Gone-v0").pictures(episode).problem
    assert "cannot be made here" in Stage("Toy/Album-v0", {"size": 3}).pictures(episode).problem
    assert "cannot be made here" in Stage("no_such_module:Toy/Album-v0").pictures(episode).problem


def test_recorded_pictures_are_shown_and_missed(tmp_path):
    env = RecordTrajectory(gym.make("Toy/Picture-v0"), tmp_path, images=True)
    seen = [env.reset(seed=3)[0]["image"], *(env.step("ab")[0]["image"] for _ in range(2))]
    env.close()
    (episode,) = read_file(find_files(tmp_path)[0]).episodes
    pictures = Stage().pictures(episode)
    assert pictures.problem is None
    assert all(np.array_equal(*pair) for pair in zip(pictures.frames, seen, strict=True))
    next((tmp_path / "images").iterdir()).unlink()
    pictures = Stage().pictures(episode)
    assert "there is no picture" in pictures.problem and sum(each is None for each in pictures.frames) == 1


def test_a_page_loads_nothing_and_runs_nothing(episode):
    nasty = replace(episode, turns=(replace(episode.turns[0], action=NASTY, heard=NASTY), *episode.turns[1:]))
    nasty = replace(nasty, task={"family": NASTY}, reward_terms={NASTY: 1.0}, failure=NASTY)
    with Stage("toy_env:Toy/Album-v0") as stage:
        sheets = [sheet_of(each, stage.pictures(each), NASTY) for each in (nasty, episode)]
    for page in (episodes_page(sheets, NASTY, [NASTY]), diff_page(*sheets, NASTY, [NASTY])):
        tags = Tags()
        tags.feed(page)
        names = {name for name, _ in tags.found}
        assert "img" in names and not names & {"script", "iframe", "link", "object", "base", "form"}
        attributes = [(name, value) for _, each in tags.found for name, value in each]
        assert not [name for name, _ in attributes if name.startswith("on")]
        loaded = [value for name, value in attributes if name in ("src", "href") and value[0] != "#"]
        assert loaded and all(value.startswith("data:image/png;base64,") for value in loaded)
        assert "\x1b" not in page and "\u202e" not in page and "U+202E" in page


def test_an_episode_stays_below_5_megabytes():
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, (900, 1200, 3), dtype=np.uint8) for _ in range(4)]
    turns = tuple(StoredTurn("<" * 1_000_000 if n == 0 else "a", "\u202e\x00" * 60_000) for n in range(3))
    episode = StoredEpisode(Path("somewhere.jsonl"), 1, turns=turns, asked="?", seed=1)
    sheet = sheet_of(episode, Pictures(tuple(noise)), "big")
    page = episodes_page([sheet], "big")
    assert 1_000_000 < len(page.encode()) < 5_000_000 and EPISODE_BYTES < 5_000_000
    assert any("shortened" in note for note in sheet.notes)
    alone = replace(episode, turns=(StoredTurn("x" * 1_000_000, "y"),))
    assert "x" * 1_000_000 in episodes_page([sheet_of(alone, Pictures(), "whole")], "one")


def test_in_a_real_browser(episode, tmp_path):
    from playwright import sync_api

    from pixelis.envs.web.chromium.browser_files import find_chromium

    chromium = find_chromium()
    nasty = replace(episode, turns=(replace(episode.turns[0], action=NASTY), *episode.turns[1:]))
    with Stage("toy_env:Toy/Album-v0") as stage:
        sheets = [
            sheet_of(each, stage.pictures(each), f"episode {n}") for n, each in enumerate((nasty, episode))
        ]
    (tmp_path / "diff.html").write_text(diff_page(*sheets, "two episodes"))
    asked = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        page = browser.new_context(
            offline=True, color_scheme="dark", viewport={"width": 390, "height": 800}
        ).new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / "diff.html").as_uri())
        assert page.title() == "two episodes"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("[...document.images].map(image => image.naturalWidth)") == [32] * 8
        said = page.locator(".said").first.inner_text()
        assert said == NASTY.replace("\x1b", "U+001B").replace("\u202e", "U+202E")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        browser.close()
    assert all(url.startswith(("file:", "data:")) for url in asked) and asked


def test_films(episode, tmp_path):
    with Stage("toy_env:Toy/Album-v0") as stage:
        frames = stage.pictures(episode).frames
    write_film([*frames, np.zeros((41, 31, 3), np.uint8)], tmp_path / "a.gif", 2.0)
    with Image.open(tmp_path / "a.gif") as film:
        assert film.size == (32, 42) and film.info["duration"] == 500 and film.n_frames >= 3
    with pytest.raises(RecordingError, match="no pictures"):
        write_film([None], tmp_path / "b.gif", 2.0)
    with pytest.raises(ConfigError, match="must be named"):
        write_film(frames, tmp_path / "b.avi", 2.0)


def test_a_film_of_gymnasium(episode, tmp_path):
    with Stage("toy_env:Toy/Album-v0") as stage:
        write_film(stage.pictures(episode).frames, tmp_path / "a.mp4", 2.0)
    assert (tmp_path / "a.mp4").stat().st_size > 500
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.mp4"]
