from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.check.playing import play
from pixelis.envs.check.scores import score
from pixelis.envs.pixel.base.scripted_turns import answer, call
from pixelis.envs.pixel.receipt_sum.env import ReceiptSumEnv, verify_amount
from pixelis.envs.pixel.receipt_sum.players import ReadingPlayer, is_struck, read_cents
from pixelis.envs.pixel.receipt_sum.question import ReceiptQuestion, decimal_text
from pixelis.envs.pixel.receipt_sum.scene import ReceiptScene, amount_end
from pixelis.envs.tasks import Task
from pixelis.errors import TaskError

FLOORS = (
    *("nothing", "random", "tool_free", "overview_only", "exploit_printed_total", "exploit_extreme_of_all"),
    *("exploit_list_amounts", "exploit_range", "exploit_same_amount", "exploit_parrot_question"),
    *("exploit_tag_stuffing", "exploit_repeat_read"),
)


@pytest.fixture(scope="module")
def env():
    return ReceiptSumEnv(reader="truth")


@pytest.fixture(scope="module")
def seeing():
    return ReceiptSumEnv(reader="ocr")


def task_of(truth):
    return Task("t", "receipt_sum", 0, "train", "?", truth)


@pytest.mark.parametrize(
    ("text", "success", "error"),
    [
        ("12.40", True, 0.0),
        (" 12,40 ", True, 0.0),
        ("$12.40", True, 0.0),
        ("12.4 EUR", True, 0.0),
        ("12.4049", True, 0.0049 / 12.40),
        ("12.405", False, 0.005 / 12.40),
        ("12.41", False, 0.01 / 12.40),
        ("6.20", False, 0.5),
        ("1240", False, 1.0),
        ("-12.40", False, 1.0),
        ("12.40 12.41", False, 1.0),
        ("12.40 or 12.41", False, 1.0),
        ("12.40-12.50", False, 1.0),
        ("10.00 + 2.40", False, 1.0),
        ("about twelve", False, 1.0),
        ("1e999", False, 1.0),
        ("9" * 5000, False, 1.0),
        ("", False, 1.0),
        (None, False, 1.0),
    ],
)
def test_verdicts_by_hand(env, text, success, error):
    verdict = verify_amount(task_of("12.40"), text, env)
    assert (verdict.success, verdict.reward) == (success, float(success))
    assert verdict.terms["amount_error"] == pytest.approx(error)


@given(st.integers(1, 10**6), st.integers(-3, 3), st.decimals(0, "0.9999", places=4))
def test_an_answer_is_right_for_one_amount_at_most(cents, shift, more):
    """Whatever is said, no two amounts a cent apart both accept it."""
    said = str((cents + shift + more) / 100)
    right = [
        c for c in range(cents - 1, cents + 6) if verify_amount(task_of(decimal_text(c)), said, None).success
    ]
    assert len(right) <= 1


def test_an_episode_by_hand(env):
    env.reset(seed=3, options={"difficulty": 0})
    scene, ask = (
        ReceiptScene.from_json(env.task.data["scene"]),
        ReceiptQuestion.from_json(env.task.data["ask"]),
    )
    box = [scene.left / 1536, scene.top / 1536, (scene.left + 372) / 1536, (scene.top + 300) / 1536]
    *_, info = env.step(call("READ_TEXT"))
    assert info["tool_calls"][0]["data"]["lines"] == [] or "." not in info["tool_calls"][0]["data"]["text"]
    *_, info = env.step(call("ZOOM", box=box) + call("READ_TEXT"))
    record = info["tool_calls"][1]
    assert record["scores"]["cer"] < 0.1
    names, amounts = {}, {}
    for line in record["data"]["lines"]:
        cents = read_cents(line["text"])
        column = names if cents is None else amounts
        column[round(sum(line["box"][1::2]), 2)] = line["text"] if cents is None else cents
    paid = [amounts[y] for y, text in names.items() if text in ask.names or text.split()[-1] in ask.names]
    *_, reward, terminated, _, info = env.step(answer(decimal_text(ask.combine(paid, 0))))
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert info["reward_terms"] == {"task": 1.0, "amount_error": 0.0}


def test_amounts_are_read_with_either_mark_and_nothing_else_is_one():
    assert [read_cents(text) for text in ("12.40", "1 2,40", "0.05", "1234.56")] == [1240, 1240, 5, 123456]
    assert [read_cents(text) for text in ("1240", "12.4", "12.405", "$12.40", "x", "")] == [None] * 6


@pytest.mark.parametrize("factor", [4, 5, 6, 8])
def test_strokes_are_seen_in_the_picture_alone(env, factor):
    """Every line of two pages: struck or not, also where names are underlined."""
    for seed in (0, 2):
        env.reset(seed=seed, options={"difficulty": 4})
        env.max_turns = 100
        scene = ReceiptScene.from_json(env.task.data["scene"])
        for index, item in enumerate(scene.lines):
            end, y = amount_end(scene), scene.row(index)
            box = [v / 1536 for v in (end - 66, y - 15.5, end + 8, y + 15.5)]
            center = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
            observation, *_, info = env.step(call("ZOOM", center=center, factor=factor))
            view = info["tool_calls"][0]["data"]["view"]
            assert is_struck(observation["image"], view, box) == (item.mark == "struck")
    env.max_turns = ReceiptSumEnv.turns


@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds(env, difficulty):
    assert score(env, "oracle", range(8), difficulty=difficulty, split="test").success == 1.0


@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_reads_pixels(seeing, difficulty):
    assert score(seeing, "oracle", range(2), difficulty=difficulty).success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_reads_pixels_on_more_seeds(seeing, difficulty):
    assert score(seeing, "oracle", range(2, 7), difficulty=difficulty).success == 1.0


@pytest.mark.parametrize("difficulty", [0, 4])
def test_the_overview_shows_no_amount(seeing, difficulty):
    for seed in range(3):
        seeing.reset(seed=seed, options={"difficulty": difficulty})
        scene = ReceiptScene.from_json(seeing.task.data["scene"])
        *_, info = seeing.step(call("READ_TEXT"))
        read = {read_cents(word) for word in info["tool_calls"][0]["data"]["text"].split()}
        assert not read & {item.amount for item in scene.lines}


def test_what_does_not_come_out_is_read_again_in_another_view(env):
    """The reader is told that a view showed nothing: it looks again, closer, and never outside a view."""
    env.reset(seed=2, options={"difficulty": 4})
    rows = [1, 5, 40]
    policy = ReadingPlayer(env, lambda scene, ask: rows, lambda ask, amounts, tax: str(sorted(amounts)))
    observation, info = env.reset(seed=2, options={"difficulty": 4})
    asked = []
    for blank in (True, False, False, False, False):
        turn = policy.act(observation, info)
        asked.append(re.findall(r'"factor": ([0-9.]+)', turn))
        if turn.startswith("<answer>"):
            break
        observation, *_, info = env.step(turn)
        assert all(record["ok"] for record in info["tool_calls"])
        if blank:
            for record in info["tool_calls"][1:]:
                record["data"]["text"] = ""
    assert asked[0] == ["5.0"] and asked[1] == ["6.0"] and asked[-1] == []
    struck = {i for i, line in enumerate(env.task.data["scene"]["lines"]) if line[3] == "struck"}
    assert turn == answer(str([row for row in rows if row not in struck]))


def test_marks_matter(env):
    """Of 12 pages a reader that counts struck lines too fails some."""
    assert score(env, "no_marks", range(12), difficulty=2).success <= 0.8


def test_one_line_is_seldom_enough(env):
    """The first line asked for is the answer in a seventh of 300 tasks of level 0, in fewer of the others."""
    for difficulty in range(5):
        tasks = [env.source.sample(np.random.default_rng(seed), difficulty, "test") for seed in range(300)]
        pages = [
            (ReceiptScene.from_json(t.data["scene"]), ReceiptQuestion.from_json(t.data["ask"]), t.answer)
            for t in tasks
        ]
        right = sum(decimal_text(page.lines[ask.rows(page)[0]].amount) == true for page, ask, true in pages)
        assert right / 300 < 0.2


@pytest.mark.parametrize("policy", FLOORS)
def test_floors(env, policy):
    for difficulty in (1, 4):
        assert score(env, policy, range(3), difficulty=difficulty).success == 0


def test_every_policy_that_must_fail_is_tested(env):
    shipped = set(env.players()) - {"oracle", "no_marks", "first_line"}
    assert shipped == set(FLOORS)


def test_a_guess_is_worth_nothing(env):
    """600 tasks of level 0: at most the bound's two and four standard deviations are guessed."""
    tasks = [env.source.sample(np.random.default_rng(seed), 0, "test") for seed in range(600)]
    right = 0
    for task in tasks:
        env.task = task
        info = {"task": {"hash": task.content_hash, "difficulty": 0}}
        said = env.players()["tool_free"](env).act({"text": task.question}, info)
        right += said == answer(task.answer)
    assert right <= 600 * env.chance(0) + 4 * (600 * env.chance(0)) ** 0.5


def test_segments_are_scored_against_strokes_and_the_page(env):
    env.reset(seed=0, options={"difficulty": 2})
    scene = ReceiptScene.from_json(env.task.data["scene"])
    index = [item.mark for item in scene.lines].index("struck")
    point = [(amount_end(scene) - 60) / 1536, scene.row(index) / 1536]
    *_, info = env.step(call("ZOOM", center=point, factor=8) + call("SEGMENT", point=point))
    assert info["tool_calls"][1]["scores"]["iou"] > 0


def test_readings_in_an_episode_are_scored(seeing):
    episode = play(seeing, seeing.players()["oracle"](seeing), 1, {"difficulty": 1})
    found = [
        r["scores"]["cer"] for turn in episode for r in turn[4]["tool_calls"] if r["tool"] == "READ_TEXT"
    ]
    assert found and max(found) <= 0.25


def test_a_task_without_a_page_or_a_question_is_a_task_error(env):
    with pytest.raises(TaskError, match="expected a scene as ReceiptScene"):
        env.reset(options={"task": {"question": "?", "answer": "3.00"}})
    env.reset(seed=0)
    task = {**env.task.to_json(), "data": {"scene": env.task.data["scene"]}}
    with pytest.raises(TaskError, match="expected a scene as ReceiptQuestion"):
        env.reset(options={"task": task})
