"""Questions about the user's own images: the contract, the examples, coordinates, failures."""

from __future__ import annotations

import importlib.util
import json
import string
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.scripted import play_scripted
from pixelis.envs.check.scores import score
from pixelis.envs.check.tests import EnvContractTests
from pixelis.envs.pixel.ask_image.env import EXAMPLES, AskImageEnv
from pixelis.envs.pixel.ask_image.question_rows import row_of
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.drawing.fonts import FONT_FOLDER
from pixelis.errors import DatasetError, DifficultyError, TaskError

ROOT = Path(__file__).parents[2]
ENV_ID = "Pixelis/AskImage-v0"
RED = (200, 30, 30)


class TestAskImage(EnvContractTests):
    def make_env(self, **keywords):
        return AskImageEnv(reader="truth", **keywords)


@pytest.fixture(scope="module")
def env():
    return AskImageEnv(reader="truth")


def data_file(folder, *rows):
    """Write rows about ``a.png``, which is 400 × 200 with a red block from (300, 50) to (360, 90)."""
    image = Image.new("RGB", (400, 200), (240, 240, 240))
    ImageDraw.Draw(image).rectangle((300, 50, 359, 89), fill=RED)
    image.save(folder / "a.png")
    usual = {"image": "a.png", "question": "What?", "answer": "red", "answer_type": "text", "split": "train"}
    path = folder / "my.jsonl"
    path.write_text("".join(json.dumps({**usual, **row}) + "\n" for row in rows))
    return path


def ask(path, **keywords):
    env = AskImageEnv(data=path, reader="truth", **keywords)
    observation, info = env.reset(seed=0)
    return env, observation, info


# ---------------------------------------------------------------------- questions


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({}, "Answer with the text alone."),
        ({"answer": 3, "answer_type": "number"}, "Answer with one number."),
        (
            {"answer": "red", "answer_type": "choice", "choices": ["blue", "red"]},
            "Choices:\nA. blue\nB. red\nAnswer with one of them.",
        ),
        ({"answer": "X", "answer_type": "choice", "choices": ["X", "Y"]}, "Choices:\nX\nY\nAnswer"),
        ({"answer": ["a", "b"], "answer_type": "set"}, "separated by commas"),
        ({"answer": [0, 0, 1, 1], "answer_type": "box"}, "[x0, y0, x1, y1] in 0-1 of the scene"),
        ({"answer": [0, 0], "answer_type": "point"}, "[x, y] in 0-1 of the scene"),
    ],
)
def test_the_agent_is_told_the_form_of_the_answer(tmp_path, row, words):
    _, observation, info = ask(data_file(tmp_path, row))
    assert observation["text"].startswith("What?\n")
    assert words in observation["text"]
    assert "Tools: ZOOM" in observation["text"]
    assert info["task"]["id"] == "ask_image-train-1"


@pytest.mark.parametrize(
    ("row", "right", "wrong"),
    [
        ({}, "Red.", "red or blue"),
        ({"answer": "$0.00", "answer_type": "number"}, "0", "0.01"),
        ({"answer": 100, "answer_type": "number", "tolerance": {"relative": 0.02}}, "102", "103"),
        ({"answer": "red", "answer_type": "choice", "choices": ["blue", "red"]}, "B", "A B"),
        ({"answer": ["a", "b"], "answer_type": "set"}, "b, a", "a, b, c"),
        # The block is 0.75-0.9 × 0.25-0.45 of the picture, 100 pixels down in a scene of 400 × 400.
        (
            {"answer": [0.75, 0.25, 0.9, 0.45], "answer_type": "box"},
            "[0.75, 0.375, 0.9, 0.475]",
            "[0.75, 0.25, 0.9, 0.45]",
        ),
        ({"answer": [0.825, 0.35], "answer_type": "point"}, "[0.825, 0.425]", "[0.825, 0.35]"),
    ],
)
def test_every_type_is_judged_in_scene_coordinates(tmp_path, row, right, wrong):
    path = data_file(tmp_path, row)
    for text, success in ((right, True), (wrong, False), (f"{right} {wrong}", False)):
        env, *_ = ask(path)
        _, reward, terminated, _, info = env.step(answer(text))
        assert (reward, terminated, info["success"]) == (float(success), True, success)


def test_tools_and_truth_share_the_scenes_coordinates(tmp_path):
    """SEGMENT finds the block of a picture with bars where its row says it is."""
    path = data_file(tmp_path, {"answer": [0.75, 0.25, 0.9, 0.45], "answer_type": "box", "tolerance": 0.9})
    env, *_ = ask(path, view_size=400)
    info = env.step(call("SEGMENT", point=[0.82, 0.42]))[-1]
    found = info["tool_calls"][0]["data"]["regions"][0]
    assert found["colour"] == "red"
    assert found["box"] == pytest.approx([0.75, 0.375, 0.9, 0.475], abs=0.004)
    assert env.step(answer(str(found["box"])))[1] == 1.0


def test_text_is_read_where_it_is_in_a_tall_picture(tmp_path):
    """Real OCR: KT47 low in a picture of 300 × 900, whose scene has bars of 300 pixels."""
    image = Image.new("RGB", (300, 900), "white")
    font = ImageFont.truetype(str(FONT_FOLDER / "Roboto-Bold.ttf"), 40)
    ImageDraw.Draw(image).text((100, 700), "KT47", "black", font)
    path = data_file(tmp_path, {"answer": "KT47", "regions": [[0.2, 0.7, 0.8, 0.9]]})
    image.save(tmp_path / "a.png")
    env = AskImageEnv(data=path)
    env.reset(seed=0)
    info = env.step(call("ZOOM", box=[0.4, 0.7, 0.7, 0.9]) + call("READ_TEXT"))[-1]
    line = info["tool_calls"][1]["data"]["lines"][0]
    assert line["text"] == "KT47"
    assert line["box"] == pytest.approx([400 / 900, 706 / 900, 500 / 900, 745 / 900], abs=0.02)
    assert env.step(answer(line["text"]))[1] == 1.0


def test_the_truth_reader_reads_regions_that_are_large_enough(tmp_path):
    regions = [{"box": [0.5, 0.5, 0.75, 0.56], "text": "KT47"}, {"box": [0, 0, 0.2, 0.01], "text": "tiny"}]
    env, *_ = ask(data_file(tmp_path, {"regions": regions}), view_size=400)
    lines = env.step(call("READ_TEXT"))[-1]["tool_calls"][0]["data"]["lines"]
    assert [(line["text"], line["box"]) for line in lines] == [("KT47", [0.5, 0.5, 0.75, 0.53])]
    assert env.scene_regions() == [(0.5, 0.5, 0.75, 0.53), (0, 0.25, 0.2, 0.255)]


def test_texts_that_are_too_small_are_misread_in_every_way(tmp_path):
    """Forty times 7777, six pixels high in the view: nobody can learn what a misread 7 looks like."""
    boxes = [[x / 10, y / 8, x / 10 + 0.08, y / 8 + 0.03] for x in range(10) for y in range(4)]
    regions = [{"box": box, "text": "7777"} for box in boxes]
    env, *_ = ask(data_file(tmp_path, {"regions": regions}), view_size=400)
    lines = env.step(call("READ_TEXT"))[-1]["tool_calls"][0]["data"]["lines"]
    wrong = [line["text"] for line in lines if line["confidence"] < 0.9]
    assert len(wrong) > 10 and "7777" not in wrong
    assert len(set(wrong)) > len(wrong) // 2
    seen = set("".join(wrong)) - {"7"}
    assert seen <= set(string.ascii_uppercase) and len(seen) > 15


def test_a_box_of_a_thin_thing_in_a_long_picture_is_judged(tmp_path):
    """A 4096th of the width of 3 × 8000 pixels, from 0.4: (0.4 · 3 + 3998) / 8000 = 0.4999, 9.155e-8 wide."""
    path = data_file(tmp_path, {"answer": [0.4, 0.5, 0.4 + 1 / 4096, 0.6], "answer_type": "box"})
    Image.new("RGB", (3, 8000)).save(tmp_path / "a.png")
    env = gym.make(ENV_ID, data=str(path), reader="truth", disable_env_checker=True)
    for text, reward in (("[0, 0, 1, 1]", 0.0), ("[0.4999, 0.5, 0.49990009155, 0.6]", 1.0)):
        env.reset(seed=0)
        assert env.step(answer(text))[1] == reward


def test_a_box_thinner_than_a_pixel_is_refused_by_its_line(tmp_path):
    row = {"answer": [0.5, 0.5, 0.5000003, 0.6], "answer_type": "box"}
    with pytest.raises(DatasetError, match=r"line 2: field 'answer': the box .* thinner than a pixel"):
        gym.make(ENV_ID, data=str(data_file(tmp_path, {}, row)))


@pytest.mark.parametrize(("length", "fits"), [(3_955, True), (3_956, False)])
def test_all_of_a_prompt_is_seen_or_its_row_refused(tmp_path, length, fits):
    """4,000 of the question, a line break, 44 around the choices and the choice: 8,000 characters."""
    row = {
        "question": "x" * 4_000,
        "answer": "yes",
        "answer_type": "choice",
        "choices": ["yes", "n" * length],
    }
    path = data_file(tmp_path, {}, row)
    if not fits:
        with pytest.raises(DatasetError, match=r"line 2: field 'question': .* at most 8,000 .*, got 8,001"):
            gym.make(ENV_ID, data=str(path))
        return
    env = gym.make(ENV_ID, data=str(data_file(tmp_path, row)), reader="truth", disable_env_checker=True)
    text = env.reset(seed=0)[0]["text"]
    assert text.count("n" * length) == 1 and "[… cut]" not in text
    assert text.endswith("\nAnswer with one of them.\n" + text.splitlines()[-1])
    assert text.endswith("Answer with <answer>…</answer>.")


def test_a_seed_draws_a_row_of_the_split(tmp_path):
    rows = [{"question": f"{n}?", "split": ("train", "test")[n >= 4]} for n in range(6)]
    env = AskImageEnv(data=data_file(tmp_path, *rows), reader="truth", view_size=64)
    for split, drawn in (("train", {0, 1, 2, 3}), ("test", {4, 5})):
        options = {"split": split}
        asked = [env.reset(seed=seed, options=options)[0]["text"] for seed in range(25)]
        assert {int(text.split("?")[0]) for text in asked} == drawn
        assert asked == [env.reset(seed=seed, options=options)[0]["text"] for seed in range(25)]


def test_made_by_its_id_with_a_file_and_without(tmp_path):
    made = gym.make(ENV_ID, data=str(data_file(tmp_path, {})), reader="truth")
    assert made.reset(seed=0)[0]["text"].startswith("What?")
    assert gym.make(ENV_ID, reader="truth").reset(seed=0)[1]["task"]["family"] == "ask_image"


# ---------------------------------------------------------------------- mistakes and failures


def test_a_wrong_file_is_an_error_at_construction(tmp_path):
    with pytest.raises(DatasetError, match="there is none; correct the path"):
        AskImageEnv(data=tmp_path / "none.jsonl")
    with pytest.raises(DatasetError, match="line 2: field 'answer'"):
        AskImageEnv(data=data_file(tmp_path, {}, {"answer": 5}))
    with pytest.raises(DifficultyError):
        AskImageEnv(difficulty=1)


def test_a_split_without_rows_is_a_clear_error(tmp_path):
    env = AskImageEnv(data=data_file(tmp_path, {}), reader="truth", split="test")
    with pytest.raises(TaskError, match=r"no rows of split 'test'; give some rows"):
        env.reset(seed=0)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"image": "a.png"},
        {"image": 5, "answer_type": "text"},
        {"image": "a.png", "answer_type": "box"},
        {3: 4},
    ],
)
def test_a_task_that_is_no_question_changes_nothing(env, data):
    env.reset(seed=0)
    before = env.task
    task = {"question": "What?", "answer": "x", "data": data}
    with pytest.raises(TaskError, match="no question about an image"):
        env.reset(options={"task": task})
    assert env.task is before


def spoil(path, how):
    if how == "deleted":
        path.unlink()
    elif how == "cut off":
        path.write_bytes(path.read_bytes()[:100])
    elif how == "CMYK":
        Image.new("CMYK", (8, 8)).save(path, "JPEG")
    elif how == "16 bits":
        Image.new("I;16", (8, 8)).save(path)
    else:
        still = [Image.new("RGB", (8, 8), (n, n, n)) for n in (10, 200)]
        still[0].save(path, "GIF", save_all=True, append_images=still[1:])


@pytest.mark.parametrize("how", ["deleted", "cut off", "CMYK", "16 bits", "animated"])
def test_an_image_that_is_lost_in_training_is_no_fault_of_the_agent(tmp_path, how):
    path = data_file(tmp_path, {})
    env, *_ = ask(path)
    spoil(tmp_path / "a.png", how)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    infos = [info, env.step(call("SEGMENT"))[-1]]
    _, reward, terminated, _, info = env.step(answer("red"))
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    for one in (*infos, info):
        assert one["valid_for_training"] is False
        assert "ask_image-train-1" in one["failure_reason"] and "a.png" in one["failure_reason"]
        json.dumps(one)
    played = play_scripted(env, "oracle", EpisodeRequest(seed=0)).episode
    assert not played.valid_for_training and "a.png" in played.failure_reason
    data_file(tmp_path, {})  # the drive is back
    env.questions._state = AskImageEnv(data=path, reader="truth").questions._state
    assert "valid_for_training" not in env.reset(seed=0)[1]
    assert env.step(answer("red"))[1] == 1.0


# ---------------------------------------------------------------------- the examples


@pytest.fixture(scope="module")
def drawing():
    path = ROOT / "scripts" / "draw_ask_image_examples.py"
    spec = importlib.util.spec_from_file_location("draw_ask_image_examples", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_examples_are_what_the_script_draws(drawing, tmp_path):
    rows = list(drawing.draw_all(tmp_path))
    shipped = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    assert shipped == json.loads(json.dumps(rows))
    for name in {row["image"] for row in rows}:
        drawn, kept = (np.asarray(Image.open(f / name).convert("RGB")) for f in (tmp_path, EXAMPLES.parent))
        assert np.array_equal(drawn, kept)
    assert sum(path.stat().st_size for path in EXAMPLES.parent.iterdir()) < 1_400_000


def test_no_example_image_is_in_both_splits_and_every_type_is_there():
    rows = [row_of(json.loads(line)) for line in EXAMPLES.read_bytes().splitlines()]
    images = {split: {row.image for row in rows if row.split == split} for split in ("train", "test")}
    assert not images["train"] & images["test"]
    for split in images:
        kinds = {row.truth.kind for row in rows if row.split == split}
        assert kinds == {"text", "number", "choice", "set", "box", "point"}


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_examples_can_be_answered_from_what_the_tools_read(split):
    """Real OCR on the regions: the text that the row holds is what READ_TEXT says there."""
    env = AskImageEnv(max_turns=5, split=split)
    for index in range(env.questions.count(split)):
        _, row = env.questions.read(split, index)
        data, read = row.to_data(), []
        env.reset(options={"task": {"question": "?", "answer": row.truth.truth, "data": data}})
        oracle = env.players()["oracle"](env)
        for _ in env.scene_regions():
            info = env.step(oracle.act({}, {}))[-1]
            read += [line["text"] for line in info["tool_calls"][1]["data"]["lines"]]
        expected = [one["text"] for one in data["regions"] if one.get("look", True)]
        squeezed = "".join(read).replace(" ", "")
        assert all(text.replace(" ", "") in squeezed for text in expected), (row.question, read)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_first_view_is_not_enough_for_real_ocr(split):
    assert score(AskImageEnv(split=split), "overview_only", range(40)).success <= 0.05
