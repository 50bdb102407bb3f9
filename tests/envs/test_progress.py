"""How near its goal an episode is: in every environment that says so, and what those without it say."""

from __future__ import annotations

from functools import partial

import gymnasium as gym
import pytest

from pixelis.envs.check.check import make_env
from pixelis.envs.check.contract import Subject, run_clause
from pixelis.envs.check.scores import progress_holds
from pixelis.envs.pixel.base.progress import closeness, looked_at, was_read, way
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.zoom_read.env import target_sign
from pixelis.envs.tools import ToolResult
from pixelis.envs.web.browse.progress import steps_done
from pixelis.envs.web.families.family import OracleStep
from pixelis.envs.web.page.backend import Back, Goto
from pixelis.envs.web.page.snapshot import Snapshot
from pixelis.errors import ConfigError, RewardError
from pixelis.wrappers import wrap

PIXEL = (
    "ZoomRead",
    "SizeCompare",
    "CountTiny",
    "ChartRead",
    "ReceiptSum",
    "WireTrace",
    "TrackRead",
    "AskImage",
)
KNOWN = [
    *((name, {"reader": "truth"}) for name in PIXEL),
    ("WebBrowse", {}),
    ("CodeProblem", {"mode": "multi"}),
    ("TweetReply", {"mode": "thread"}),
]
UNKNOWN = ("WebPage", "MiniWoB")


@pytest.mark.parametrize(("name", "keywords"), KNOWN, ids=lambda value: value if value in PIXEL else None)
def test_it_grows_along_the_oracle_and_pays_no_failure(name, keywords):
    make = partial(make_env, f"Pixelis/{name}-v0", **keywords)
    assert make().unwrapped.reward_traits.has_progress
    finding = run_clause(progress_holds, Subject(make, range(1), processes=False))
    assert finding.ok, finding.measured


def test_every_environment_is_in_one_of_the_two_lists():
    shipped = {env_id for env_id in gym.registry if env_id.startswith("Pixelis/")}
    others = ("Rows", "Gymnasium", "ReasoningGym", "TextArena", "Gem")
    named = {f"Pixelis/{name}-v0" for name in (*(name for name, _ in KNOWN), *UNKNOWN, *others)}
    assert shipped == named


@pytest.mark.parametrize("orchestrate", [True, False])
def test_environments_without_it_say_what_to_do(orchestrate):
    rows = {"rows": [{"prompt": "?", "answer": "1"}] * 8, "reward": lambda row, text: 0.0}
    for name, keywords in (*((name, {}) for name in UNKNOWN), ("Rows", rows)):
        env = gym.make(f"Pixelis/{name}-v0", disable_env_checker=True, **keywords)
        assert not env.unwrapped.reward_traits.has_progress
        with pytest.raises(
            ConfigError, match=r"progress: the environment does not say .* leave the term out"
        ):
            wrap(env, {"progress": {"weight": 0.1}, "orchestrate": orchestrate, **_gap(orchestrate)})
        env.close()


def _gap(orchestrate):
    return {"task_gap": 1.0} if orchestrate else {}


def test_zoom_read_by_hand():
    env = gym.make("Pixelis/ZoomRead-v0", difficulty=1, reader="truth", disable_env_checker=True).unwrapped
    with pytest.raises(gym.error.ResetNeeded, match="no episode"):
        env.progress()
    env.reset(seed=0)
    scene, sign = target_sign(env.task)
    center = [value / scene.size for value in sign.center]
    said = []
    for turn in (
        call("ZOOM", center=center, factor=2),  # half of the way to a factor of 4
        call("ZOOM", center=center, factor=1),  # what was seen was seen
        call("ZOOM", center=center, factor=6),
        call("READ_TEXT"),
        answer("?"),
    ):
        env.step(turn)
        said.append(env.progress())
    assert said == pytest.approx([1 / 6, 1 / 6, 1 / 3, 2 / 3, 0])


def test_a_nearness_out_of_range_is_an_error():
    class Boasts(type(gym.make("Pixelis/TweetReply-v0", disable_env_checker=True).unwrapped)):
        def nearness(self):
            return 1.5

    env = Boasts()
    env.reset(seed=0)
    with pytest.raises(RewardError, match=r"Boasts.nearness\(\) must be in 0-1, got 1.5"):
        env.progress()


def test_closeness():
    box, view = (0.4, 0.4, 0.5, 0.5), (0.25, 0.25, 0.75, 0.75)
    assert closeness(box, view, 1 / 4) == pytest.approx(0.5)
    assert closeness(box, (0.4, 0.4, 0.5, 0.5), 1 / 4) == 1.0
    assert closeness(box, (0.0, 0.0, 1.0, 1.0), 1 / 4) == 0.0
    assert closeness(box, (0.45, 0.25, 0.95, 0.75), 1 / 4) == 0.0  # part of it is outside
    assert closeness(box, (0.0, 0.0, 1.0, 1.0), 1.2) == 1.0
    assert way([1.0, 0.5]) == pytest.approx(0.5)


def test_what_calls_have_seen_and_read():
    look = ToolResult("ZOOM", True, "", {"view": [0.25, 0.25, 0.75, 0.75]})
    refused = ToolResult("ZOOM", False, "", {}, "bad_arguments")
    line = {"text": "AB 12 x", "box": [0, 0, 1, 1]}
    read = ToolResult("READ_TEXT", True, "", {"lines": [line]})
    assert looked_at([look, refused], (0.4, 0.4, 0.5, 0.5), 1 / 2) == 1.0
    assert looked_at([refused], (0.4, 0.4, 0.5, 0.5), 1 / 2) == 0.0
    assert was_read([look, read], "ab12") == 1.0
    assert was_read([look], "ab12") == 0.0


def test_steps_of_the_oracle_are_done_in_its_order():
    steps = [OracleStep("goto", text="/a"), OracleStep("back"), OracleStep("goto", text="/b")]
    page = Snapshot("", "", (), 0)  # going somewhere needs no control of the page
    acted = [(page, action) for action in (Goto("/b"), Goto("/a"), Goto("/c"), Back())]
    assert steps_done(steps, acted) == 2
    assert steps_done(steps, []) == 0
    assert steps_done(steps[:1], acted[1:2] * 2) == 1
