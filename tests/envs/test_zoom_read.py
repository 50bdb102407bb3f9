from __future__ import annotations

import copy
import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pixelis.envs.check.playing import play_turns, same
from pixelis.envs.check.scores import score
from pixelis.envs.pixel.base.render import FRAME_SHAPE
from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET, code_split
from pixelis.envs.pixel.tools.ocr_truth import TruthReader
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv, target_sign
from pixelis.envs.pixel.zoom_read.players import answer, call
from pixelis.envs.pixel.zoom_read.scene import LEVELS
from pixelis.errors import ConfigError, DifficultyError, ImageSizeError, SplitError, TaskError

ROOT = Path(__file__).parents[2]
ENV_ID = "pixelis:Pixelis/ZoomRead-v0"
READERS = ("ocr", "truth")

# difficulty, seed (and split: train for seed 0, test for 1), first 16 digits of the image's SHA-256, task.
GOLDEN = [
    (0, 0, "65a68361ae94e759", "What code is on the brown sign?", "ATRM"),
    (0, 1, "3d6d1b8cbadbec50", "What code is on the brown sign?", "EHYP"),
    (1, 0, "64719194c058c91a", "What code is on the brown sign?", "KPXR"),
    (1, 1, "39fb72b0c53ce648", "What code is on the green sign?", "NXA7"),
    (2, 0, "a95ae81d1aaead1b", "What code is on the brown sign?", "KR4T"),
    (2, 1, "67955219b8a9dc8f", "What code is on the sky blue sign?", "NRHM"),
    (3, 0, "61c2a275960e19d0", "What code is on the brown screen?", "P34K"),
    (3, 1, "1ff97b04b54c9cc0", "What code is on the maroon label?", "HAC3"),
    (4, 0, "1eeda45b9b99fc15", "What code is on the sky blue sign?", "ATRM"),
    (4, 1, "5324fb63aa425515", "What code is on the lime sign?", "CMXE"),
]


@pytest.fixture(scope="module", params=READERS)
def env(request):
    return ZoomReadEnv(reader=request.param)


@pytest.fixture(scope="module")
def quick():
    return ZoomReadEnv(reader="truth")


# ---------------------------------------------------------------------- the same for both readers


def test_gymnasiums_checker_passes_without_a_warning(env):
    check_env(env, skip_render_check=True)


def test_first_observation(env):
    observation, info = env.reset(seed=0)
    assert observation["text"] == (
        "What code is on the brown sign?\n"
        "Tools: ZOOM, READ_TEXT, SEGMENT, GET_PROPERTIES, THINK. Answer with <answer>…</answer>."
    )
    assert observation["image"].shape == (384, 384, 3)
    assert info["view_changed"] is True
    assert info["task"]["family"] == "zoom_read"


def test_zoom_then_read_then_answer(env):
    env.reset(seed=0)  # a sign with the code KPXR at (553, 1051) of 1536
    center = [553 / 1536, 1051 / 1536]
    observation, reward, *_, info = env.step(call("ZOOM", center=center, factor=6) + call("READ_TEXT"))
    zoomed, read = info["tool_calls"]
    assert zoomed["data"]["factor"] == 6
    assert "KPXR" in [line["text"] for line in read["data"]["lines"]]
    assert "\nKPXR [0." in observation["text"]
    assert (reward, info["view_changed"]) == (0.0, True)
    _, reward, terminated, truncated, info = env.step(answer("kpxr "))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["success"], info["reward_terms"]) == (True, {"task": 1.0})


def test_the_overview_is_not_legible(env):
    env.reset(seed=0)
    observation, *_ = env.step(call("READ_TEXT"))
    assert "KPXR" not in observation["text"]


def test_the_box_of_a_reading_lies_on_the_sign(env):
    env.reset(seed=0)
    *_, info = env.step(call("ZOOM", center=[553 / 1536, 1051 / 1536]) + call("READ_TEXT"))
    line = next(one for one in info["tool_calls"][1]["data"]["lines"] if one["text"] == "KPXR")
    x0, y0, x1, y1 = line["box"]
    assert 486 / 1536 < x0 < 553 / 1536 < x1 < 620 / 1536
    assert 1029 / 1536 < y0 < 1051 / 1536 < y1 < 1073 / 1536
    assert [word["text"] for word in line["words"]] == ["KPXR"]


def test_a_pixel_reader_and_the_truth_see_the_same_images():
    ocr, truth = (ZoomReadEnv(reader=reader).reset(seed=4) for reader in READERS)
    assert same(ocr, truth)


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_episode_goes_on_by_itself(env, copy_of):
    env.reset(seed=0)
    env.step(call("ZOOM", center=[553 / 1536, 1051 / 1536]))
    twin = copy_of(env)
    env.step(call("ZOOM", center=[0.1, 0.1]))
    observation, *_ = twin.step(call("READ_TEXT"))
    assert "KPXR" in observation["text"]


# ---------------------------------------------------------------------- seeds


@pytest.mark.parametrize(("difficulty", "seed", "digest", "question", "code"), GOLDEN)
def test_seeds_give_the_same_bytes_on_every_machine(quick, difficulty, seed, digest, question, code):
    options = {"difficulty": difficulty, "split": ("train", "test")[seed]}
    observation, _ = quick.reset(seed=seed, options=options)
    assert hashlib.sha256(observation["image"].tobytes()).hexdigest()[:16] == digest
    assert (quick.task.question, quick.task.answer) == (question, code)


def test_an_observation_is_the_callers_to_keep(quick):
    observation, _ = quick.reset(seed=0)
    kept = observation["image"].copy()
    quick.step(call("ZOOM", center=[0.1, 0.1]))
    assert (observation["image"] == kept).all()
    observation["image"][:] = 0
    assert quick.reset(seed=0)[0]["image"].any()


def test_levels_get_harder(quick):
    counts = []
    for difficulty in range(5):
        quick.reset(seed=2, options={"difficulty": difficulty})
        counts.append(len(target_sign(quick.task)[0].signs))
    assert counts == [level.signs for level in LEVELS] == [3, 6, 12, 24, 40]


@pytest.mark.parametrize("split", ["train", "test"])
def test_codes_belong_to_the_split(quick, split):
    for seed in range(20):
        task = quick.source.sample(np.random.default_rng(seed), seed % 5, split)
        scene, sign = target_sign(task)
        assert task.answer == sign.code
        assert {code_split(one.code) for one in scene.signs} == {split}
        assert set(task.answer) <= set(CODE_ALPHABET)


def test_a_given_task_is_played_again(quick):
    first, _ = quick.reset(seed=7, options={"difficulty": 2})
    task = quick.task.to_json()
    again, info = quick.reset(seed=8, options={"task": task})
    assert same(first, again)
    assert info["task"]["id"] == task["id"]


def _tasks_without(quick):
    quick.reset(seed=0)
    task = quick.task.to_json()
    scene = task["data"]["scene"]
    yield "scene", {**task, "data": {"target": 0}}
    yield "signs, got 6", {**task, "data": {"scene": scene, "target": 6}}
    yield "got 'one'", {**task, "data": {"scene": scene, "target": "one"}}
    yield "expected a scene", {**task, "data": {"scene": "street", "target": 0}}
    yield "expected a scene", {**task, "data": {"scene": {**scene, "signs": None}, "target": 0}}


def test_a_task_that_cannot_be_played_is_a_task_error(quick):
    for words, task in list(_tasks_without(quick)):
        with pytest.raises(TaskError, match=words):
            quick.reset(options={"task": task})


@pytest.mark.parametrize("size", [0, 10**9])
def test_an_image_of_no_or_a_billion_pixels_is_an_image_size_error(quick, size):
    quick.reset(seed=0)
    task = quick.task.to_json()
    task["data"] = {"scene": {**task["data"]["scene"], "size": size, "signs": []}, "target": 0}
    with pytest.raises((ImageSizeError, TaskError)):
        quick.reset(options={"task": task})


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"difficulty": 5}, DifficultyError, "from 0 to 4, got 5"),
        ({"split": "dev"}, SplitError, "got 'dev'"),
        ({"reader": "orc"}, ConfigError, "Did you mean 'ocr'"),
        ({"view_size": 63}, ConfigError, "from 64 to 1024, got 63"),
        ({"view_size": 10**9}, ConfigError, "from 64 to 1024"),
        ({"view_size": 384.0}, ConfigError, "integer"),
        ({"max_turns": 0}, ConfigError, "at least 1"),
        ({"render_mode": "ansi"}, ConfigError, "rgb_array"),
    ],
)
def test_bad_arguments_are_clear_errors(keywords, error, words):
    with pytest.raises(error, match=words):
        ZoomReadEnv(**keywords)


def test_view_size_changes_the_observation_space():
    env = ZoomReadEnv(reader="truth", view_size=64)
    assert env.observation_space["image"].shape == (64, 64, 3)
    assert env.reset(seed=0)[0] in env.observation_space


# ---------------------------------------------------------------------- scores


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", range(5))
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_oracle_always_succeeds(env, difficulty, split):
    """16 seeds at every difficulty with each reader, half of them of each split."""
    seeds = range(8) if split == "train" else range(25, 33)
    assert score(env, "oracle", seeds, difficulty=difficulty, split=split).success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy", ["nothing", "random", "overview_only", *(n for n in ZoomReadEnv().players() if "exploit" in n)]
)
def test_floors(env, policy):
    nine_whole_views = policy == "exploit_answer_everything" and not isinstance(env._reader, TruthReader)
    success = score(env, policy, range(5 if nine_whole_views else 20), difficulty=0).success
    assert success <= (0.0 if policy == "nothing" else 0.05)


@pytest.mark.slow
def test_a_random_sign_is_worth_one_of_n(quick):
    """Level 1 has 6 signs; 60 seeds, four standard deviations around 1/6."""
    measured = score(quick, "random_sign", range(60), difficulty=1)
    assert measured.success == pytest.approx(1 / 6, abs=4 * (1 / 6 * 5 / 6 / 60) ** 0.5)
    assert measured.success > 0
    assert measured.turns < 4


# ---------------------------------------------------------------------- vector environments, rendering


def make_quick():
    return gym.make(ENV_ID, reader="truth")


@pytest.mark.slow
@pytest.mark.parametrize("shared_memory", [True, False])
def test_spawned_environments_equal_sync(shared_memory):
    rounds = [
        (call("ZOOM", center=[0.2, 0.8]), call("SEGMENT")),
        (call("READ_TEXT") + "é🙂", ""),
        (call("ZOOM", region=1), answer("é")),
        (call("THINK", thought="漢"), "x"),
    ]
    played = []
    makers = [make_quick, make_quick]
    for envs in (
        gym.vector.SyncVectorEnv(makers),
        gym.vector.AsyncVectorEnv(makers, context="spawn", shared_memory=shared_memory),
    ):
        played.append([envs.reset(seed=[3, 4]), *(envs.step(actions) for actions in rounds)])
        envs.close()
    assert same(*played)
    assert played[1][0][0]["text"][0].startswith("What code")


def test_rgb_array_frames_show_the_view_the_calls_and_the_answer():
    env = ZoomReadEnv(reader="truth", render_mode="rgb_array")
    assert env.render() is None
    env.reset(seed=0)
    first = env.render()
    env.step(call("ZOOM", center=[0.25, 0.75], factor=4))
    second = env.render()
    assert first.shape == second.shape == FRAME_SHAPE
    assert first.dtype == np.uint8
    # The view's box is drawn at 12 + 640 × [0.125, 0.625, 0.375, 0.875], 3 pixels wide, in the mark's colour.
    mark = (226, 36, 84)
    for x, y in ((92, 500), (251, 500), (150, 412), (150, 571)):
        assert tuple(second[y, x]) == mark
        assert tuple(first[y, x]) != mark
    assert not np.array_equal(first[350:, 670:], second[350:, 670:])
    env.close()


def test_human_mode_opens_and_closes_a_window():
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        "import gymnasium as gym\n"
        f"env = gym.make('{ENV_ID}', reader='truth', render_mode='human')\n"
        "env.reset(seed=0); env.step(''); env.close(); env.close()\n"
        "env.reset(seed=1); env.close(); print('done')\n"
    )
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr


def test_without_a_render_mode_nothing_is_rendered(quick):
    quick.reset(seed=0)
    assert quick.render() is None


def test_an_episode_is_the_same_from_a_fresh_environment():
    turns = [call("SEGMENT"), call("ZOOM", region=2), call("GET_PROPERTIES", region=2), call("READ_TEXT")]
    episodes = [play_turns(ZoomReadEnv(reader="truth"), turns, 5) for _ in range(2)]
    assert same(*episodes)
