"""A pixel environment made of tasks, a painter and a verifier alone."""

from __future__ import annotations

from functools import partial

import pytest
from PIL import Image

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.render import FRAME_SHAPE
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.tools.ocr_truth import TextItem
from pixelis.envs.pixel.tools.toolset import NO_TEXT, THINK, ZOOM
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import Verdict
from pixelis.errors import TaskError


class Words:
    """Asks for the word in the middle of an empty page."""

    family = "words"
    difficulties = range(2)

    def sample(self, rng, difficulty, split):
        word = f"{split}{rng.integers(1000)}"
        return Task(word, self.family, difficulty, split, "What is written?", word, {"word": word})


def verify(task, answer, workspace):
    return Verdict(answer == task.answer, {"task": float(answer == task.answer)})


def word_in(word, view_box, view_size):
    """The word is the whole page, 40 native pixels high, wherever one looks."""
    scale = view_size / (view_box[2] - view_box[0]) / 100
    left, top, right, bottom = (
        (value * 100 - origin * 100) * scale
        for value, origin in zip((0.0, 0.3, 1.0, 0.7), view_box[:2] * 2, strict=True)
    )
    return [TextItem(word, ((left, top), (right, top), (right, bottom), (left, bottom)), 40 * scale)]


class WordEnv(PixelEnv):
    def task_source(self):
        return Words()

    def judge(self, task, answer, workspace):
        return verify(task, answer, workspace)

    def open_picture(self, task):
        if "word" not in task.data:
            raise TaskError("data must hold a word")
        return Picture(Image.new("RGB", (100, 100), (200, 10, 10)), partial(word_in, task.data["word"]))


def test_three_parts_make_an_episode():
    env = WordEnv(reader="truth", view_size=64, render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    assert observation["image"].shape == (64, 64, 3)
    assert observation["image"][0, 0].tolist() == [200, 10, 10]
    observation, *_ = env.step(call("READ_TEXT"))
    word = env.task.answer
    assert observation["text"].startswith(word)
    assert env.render().shape == FRAME_SHAPE
    assert env.step(answer(word))[1] == 1.0
    env.close()


def test_a_picture_of_unknown_text_reads_as_blank_by_truth():
    class Bare(WordEnv):
        def open_picture(self, task):
            return Picture(Image.new("RGB", (100, 100)))

    env = Bare(reader="truth")
    env.reset(seed=0)
    observation, *_, info = env.step(call("READ_TEXT"))
    assert observation["text"] == NO_TEXT
    assert (info["tool_calls"][0]["ok"], info["tool_calls"][0]["error_code"]) == (False, "no_text")


def test_a_subclass_chooses_its_tools():
    class Still(WordEnv):
        tools = (ZOOM, THINK)

    env = Still(reader="truth")
    observation, _ = env.reset(seed=0)
    assert "Tools: ZOOM, THINK." in observation["text"]
    assert env.step(call("SEGMENT"))[4]["tool_calls"][0]["error_code"] == "unknown_tool"


def test_a_task_that_cannot_be_shown_leaves_the_episode_as_it_was():
    env = WordEnv(reader="truth")
    env.reset(seed=0)
    before = env.task
    with pytest.raises(TaskError, match="hold a word"):
        env.reset(options={"task": {"question": "?", "answer": "x"}})
    assert env.task is before
    assert env.step(call("READ_TEXT"))[0]["text"].startswith(before.answer)
