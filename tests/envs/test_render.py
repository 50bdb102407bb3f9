from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pixelis.envs.pixel.ask_image.env import AskImageEnv
from pixelis.envs.pixel.base.render import FRAME_SHAPE, PANEL_WIDTH, SCENE_SIDE, Ending, render_episode
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.tasks import Task
from pixelis.envs.tools import ToolResult

TASK = Task("t", "zoom_read", 0, "train", "What code is on the green sign?", "KT47")
INK, GOOD, BAD = (32, 34, 38), (24, 128, 72), (190, 40, 40)
LOG = (slice(348, None), slice(664, None))  # below the view: question, calls, answer


@pytest.fixture
def workspace():
    picture = np.zeros((100, 100, 3), np.uint8)
    picture[:50, :50] = (10, 200, 90)
    return PixelWorkspace(Image.fromarray(picture), 50, lambda box: None)


def count(frame, colour):
    return int((frame[LOG] == colour).all(-1).sum())


def test_the_scene_is_on_the_left_and_the_view_on_the_right(workspace):
    workspace.look((0.0, 0.0, 0.5, 0.5))
    frame = render_episode(TASK, workspace, [], None)
    assert frame.shape == FRAME_SHAPE == (664, 996, 3)
    assert frame.dtype == np.uint8
    assert tuple(frame[12 + 160, 12 + 160]) == (10, 200, 90)  # a quarter of the scene in
    assert tuple(frame[12 + 480, 12 + 480]) == (0, 0, 0)
    column = SCENE_SIDE + 24
    assert (frame[20 : 12 + PANEL_WIDTH - 8, column + 8 : column + PANEL_WIDTH - 8] == (10, 200, 90)).all()


def test_calls_and_failures_are_written(workspace):
    empty = render_episode(TASK, workspace, [], None)
    good = render_episode(TASK, workspace, [ToolResult("ZOOM", True, "View.")], None)
    bad = render_episode(TASK, workspace, [ToolResult("ZOOM", False, "No.", error_code="x")], None)
    assert count(good, INK) > count(empty, INK) > 0
    assert count(empty, BAD) == count(good, BAD) == 0 < count(bad, BAD)


@pytest.mark.parametrize(("success", "colour"), [(True, GOOD), (False, BAD)])
def test_the_answer_has_the_verdicts_colour(workspace, success, colour):
    frame = render_episode(TASK, workspace, [], Ending("KT47", success))
    assert count(frame, colour) > 0
    assert count(frame, GOOD if colour == BAD else BAD) == 0


def test_an_environment_draws_its_own_verdict():
    """26.0 is the truth 26, which no comparison of letters would say."""
    data = {"image": "board_train_1.png", "answer_type": "number"}
    env = AskImageEnv(reader="truth", render_mode="rgb_array")
    for text, colour in (("26.0", GOOD), ("26.1", BAD)):
        env.reset(seed=0, options={"task": {"question": "Which platform?", "answer": "26", "data": data}})
        env.step(f"<answer>{text}</answer>")
        assert count(env.render(), colour) > 0
        assert count(env.render(), GOOD if colour == BAD else BAD) == 0


def test_any_text_and_any_number_of_calls_can_be_drawn(workspace):
    nasty = "\0\n\u202e🙂漢\ud800" * 3000
    result = ToolResult(nasty, False, nasty, {}, "x", {nasty: [[nasty]]})
    task = Task("t", "zoom_read", 0, "train", "Why? " * 2000 + nasty, "KT47")
    for one, results in ((TASK, [result] * 300), (task, [result])):
        assert render_episode(one, workspace, results, Ending(nasty, False)).shape == FRAME_SHAPE


def test_the_last_calls_are_kept_when_there_is_no_room_for_all(workspace):
    many = [ToolResult(f"CALL{i}", True, "x") for i in range(100)]
    shown = render_episode(TASK, workspace, many, None)
    assert np.array_equal(shown, render_episode(TASK, workspace, many[50:], None))
    assert not np.array_equal(shown, render_episode(TASK, workspace, many[:50], None))
