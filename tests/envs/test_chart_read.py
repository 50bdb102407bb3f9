from __future__ import annotations

import importlib.util
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.check.scores import score
from pixelis.envs.pixel.base.scripted_turns import call
from pixelis.envs.pixel.chart_read.axis import label_value
from pixelis.envs.pixel.chart_read.env import ChartReadEnv, ask_for, asked_point, verify_value
from pixelis.envs.pixel.chart_read.players import LABEL, axis_line
from pixelis.envs.pixel.chart_read.sample import LEVELS, QUANTITIES, sample_chart
from pixelis.envs.pixel.tools.ocr import make_reader
from pixelis.envs.tasks import Task
from pixelis.errors import TaskError
from pixelis.rewards.answers import parse_quantity

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "quality" / "chart_error.py"
TASK = Task("t", "chart_read", 0, "train", "?", "250 kWh")


@pytest.fixture(scope="module")
def env():
    return ChartReadEnv(reader="truth")


# ---------------------------------------------------------------------- tasks


def test_questions():
    asked = "What is the value of Tuesday in the blue series? Answer with a number, in kWh."
    assert ask_for("Tuesday", "in the blue series", "kWh") == asked


@pytest.mark.parametrize("difficulty", range(5))
def test_the_question_names_what_the_answer_belongs_to(env, difficulty):
    env.reset(seed=3, options={"difficulty": difficulty})
    scene, series, category = asked_point(env.task)
    row = scene.series[series]
    assert f" {scene.categories[category]} " in env.task.question
    assert (f" {row.name}?" in env.task.question) == LEVELS[difficulty].by_name
    assert (f" {row.colour} series?" in env.task.question) == (not LEVELS[difficulty].by_name)
    true = parse_quantity(env.task.answer)
    assert true is not None
    assert float(true.value) == pytest.approx(scene.value(series, category), rel=1e-4)
    assert scene.title.endswith(env.task.answer.split()[1])


@pytest.mark.parametrize("unit", [unit for _, unit in QUANTITIES])
def test_every_unit_may_be_said_or_left_out(unit):
    task = Task("t", "chart_read", 0, "train", "?", f"250 {unit}")
    right = [verify_value(task, said, None).success for said in ("250", f"251 {unit}", "250 parsecs")]  # type: ignore[arg-type]
    assert right == [True, True, False]


# ---------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("text", "success", "error"),
    [
        ("250", True, 0.0),
        (" 245 kWh ", True, 0.02),
        ("255.0", True, 0.02),
        ("2.5e2", True, 0.0),
        ("244.9", False, 0.0204),
        ("255.1", False, 0.0204),
        ("250 mm", False, 0.0),
        ("0.25k", False, 0.999),
        ("-250", False, 1.0),
        ("1000", False, 1.0),
        ("240 250 260", False, 1.0),
        ("240-260", False, 1.0),
        ("1 to 1000", False, 1.0),
        ("250 or 300", False, 1.0),
        ("250 ± 200", False, 1.0),
        ("≈ 250", False, 1.0),
        ("nan", False, 1.0),
        ("inf", False, 1.0),
        ("about the second label", False, 1.0),
        ("9" * 5000, False, 1.0),
        ("", False, 1.0),
        (None, False, 1.0),
    ],
)
def test_verdicts_by_hand(env, text, success, error):
    env.reset(seed=0)
    verdict = verify_value(TASK, text, env.workspace)
    assert (verdict.success, verdict.reward) == (success, float(success))
    assert verdict.terms["value_error"] == pytest.approx(error, abs=1e-4)


@given(st.floats(0.5, 2000))
def test_two_per_cent_and_no_more(said):
    verdict = verify_value(TASK, f"{said:.6f}", None)  # type: ignore[arg-type]
    error = abs(float(f"{said:.6f}") - 250) / 250
    if abs(error - 0.02) > 1e-9:
        assert verdict.success == (error < 0.02)
    assert verdict.terms["value_error"] == pytest.approx(min(1.0, error))


@given(st.lists(st.floats(1, 1000), min_size=2, max_size=12), st.sampled_from([" ", ", ", "; ", "/", " to "]))
def test_a_list_of_numbers_is_never_right(numbers, between):
    said = between.join(["250", *(f"{number:.1f}" for number in numbers)])
    assert not verify_value(TASK, said, None).success  # type: ignore[arg-type]


# ---------------------------------------------------------------------- reading an axis


def test_a_line_through_labels_by_hand():
    slope, offset, agree = axis_line([(0.0, 0.8), (10.0, 0.6), (30.0, 0.2)], False)
    assert (slope, offset, agree) == (pytest.approx(-50), pytest.approx(40), 3)
    assert slope * 0.5 + offset == pytest.approx(15)


def test_a_misread_label_is_left_out():
    readings = [(0.0, 0.8), (10.0, 0.6), (2000.0, 0.4), (30.0, 0.2)]
    slope, offset, agree = axis_line(readings, False)
    assert (slope * 0.5 + offset, agree) == (pytest.approx(15), 3)
    slope, offset, agree = axis_line([(1.0, 0.9), (10.0, 0.6), (7.0, 0.4), (100.0, 0.3)], True)
    assert (math.exp(slope * 0.45 + offset), agree) == (pytest.approx(10**1.5), 3)


@given(
    wrong=st.floats(0.001, 9_999),
    height=st.floats(0.05, 0.95),
    slope=st.floats(-2_000, -20),
    at=st.integers(0, 4),
)
def test_one_misread_label_among_five_changes_nothing(wrong, height, slope, at):
    readings = [(3_000 + slope * y, y) for y in (0.15, 0.32, 0.5, 0.66, 0.83)]
    readings.insert(at, (wrong, height))
    found, offset, _ = axis_line(readings, log=False)
    most = 0.006 * abs(slope)  # what three native pixels of 1,536 each way can make of the fit
    assert all(abs(found * y + offset - value) <= most for value, y in readings if value != wrong)


def test_a_label_read_twice_counts_once():
    assert axis_line([(10.0, 0.6), (10.0, 0.6001), (30.0, 0.2)], False)[2] == 2
    assert axis_line([(10.0, 0.6)], False)[2] == axis_line([], False)[2] == 0
    assert axis_line([(0.0, 0.6), (0.0, 0.2)], True)[2] == 0  # no logarithm of zero


def test_every_label_looks_like_one():
    for seed in range(40):
        scene, *_ = sample_chart(np.random.default_rng(seed), seed % 5, "train")
        assert all(LABEL.fullmatch(label) for label in scene.ticks)
    assert not any(LABEL.fullmatch(text) for text in ("4170", "4.17", "4,170", "417", "4.1700", "Jan"))


# ---------------------------------------------------------------------- what the tools give


@pytest.mark.slow
def test_the_tolerance_is_well_above_the_tools_own_errors():
    """At every level: twice the largest errors of label and bar together are below the 2 %."""
    spec = importlib.util.spec_from_file_location("chart_error_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    reader = make_reader("ocr")
    for difficulty in range(5):
        rng = np.random.default_rng(difficulty)
        drawn = [sample_chart(np.random.default_rng(seed), difficulty, "train") for seed in range(2)]
        data = [abs(e) for scene, *_ in drawn for e in benchmark.height_errors(scene, 4, rng)]
        labels = [abs(e) for scene, *_ in drawn for e in benchmark.label_errors(scene, reader, rng)]
        assert len(labels) >= 5
        pixels = 0.02 / max(benchmark.pixel_worth(*one) for one in drawn)
        assert 2 * (max(data) + max(labels)) < pixels


@pytest.mark.slow
def test_the_overview_shows_no_label():
    """The real reader on the first view, at the labels and as a whole: at most a zero here and there."""
    env = ChartReadEnv(reader="ocr")
    for difficulty in range(5):
        env.reset(seed=5, options={"difficulty": difficulty})
        *_, info = env.step(call("READ_TEXT"))
        words = set(info["tool_calls"][0]["data"]["text"].split())
        assert not {label for label in env.task.data["scene"]["ticks"] if label_value(label)} & words


def test_a_closer_view_is_read_and_scored(env):
    env.reset(seed=2, options={"difficulty": 2})
    scene, *_ = asked_point(env.task)
    center = [(scene.frame[0] - 30) / 1536, scene.tick_rows[1] / 1536]
    *_, info = env.step(call("ZOOM", center=center, factor=8) + call("READ_TEXT"))
    record = info["tool_calls"][1]
    assert scene.ticks[1] in record["data"]["text"]
    assert record["scores"] == {"cer": 0.0}


@pytest.mark.parametrize("difficulty", range(5))
def test_what_an_agent_is_told_suffices(env, difficulty):
    """The oracle's calls, but only the words of the observation: labels, boxes, and a ruler by hand."""
    env.reset(seed=7, options={"difficulty": difficulty})
    oracle, (scene, *_) = env.players()["oracle"](env), asked_point(env.task)
    said = env.step(oracle.act({}, {"tool_calls": [], "task": {}}))[0]["text"]
    labels = re.findall(r"(\S{5}) \[\S+ (\S+), \S+ (\S+)\]", said)
    readings = [
        (label_value(text), (float(y0) + float(y1)) / 2) for text, y0, y1 in labels if LABEL.fullmatch(text)
    ]
    top, bottom = map(float, re.findall(r"\d+: [a-z ]+ \[\S+ (\S+), \S+ (\S+)\]", said)[-1])
    row = top if scene.kind == "bars" else (top + bottom) / 2
    slope, offset, _ = axis_line(readings, scene.axis.log)
    value = math.exp(slope * row + offset) if scene.axis.log else slope * row + offset
    assert verify_value(env.task, f"{value:.4g}", env.workspace).success


# ---------------------------------------------------------------------- policies


@pytest.mark.parametrize("difficulty", range(5))
def test_the_oracle_always_succeeds(env, difficulty):
    assert score(env, "oracle", range(3), difficulty=difficulty, split="test").success == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", [0, 4])
def test_the_oracle_always_succeeds_with_the_real_reader(difficulty):
    assert score(ChartReadEnv(reader="ocr"), "oracle", range(3, 11), difficulty=difficulty).success == 1.0


def test_a_guess_is_worth_its_chance(env):
    """The best number for 2000 answers is right little more often than chance says (four deviations)."""
    answers = []
    for seed in range(2000):
        scene, series, category = sample_chart(np.random.default_rng(seed), 0, "train")
        answers.append(scene.value(series, category))
    values = np.sort(answers)
    said = np.concatenate([values / 1.02, values / 0.98])
    hits = np.searchsorted(values, said / 0.98, "right") - np.searchsorted(values, said / 1.02)
    chance = env.chance(0)
    assert chance == pytest.approx(0.00579, abs=1e-5)
    assert np.mean(hits) / 2000 == pytest.approx(chance, rel=0.15)
    assert hits.max() / 2000 < chance + 4 * math.sqrt(chance / 2000)


@pytest.mark.parametrize(
    "policy",
    [
        *("nothing", "exploit_nearest_label", "exploit_answer_everything", "exploit_range"),
        *("exploit_plus_minus", "exploit_parrot_question", "exploit_tag_stuffing"),
    ],
)
def test_floors(env, policy):
    assert score(env, policy, range(4), difficulty=4).success == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "expected a scene"),
        ({"series": 9}, "series must be the index of one of the scene's 2 series, got 9"),
        ({"category": True}, "category must be the index of one of the scene's 6 categories, got True"),
        ({"category": None}, "got None"),
    ],
)
def test_a_task_that_nobody_can_open_is_a_task_error(env, data, words):
    env.reset(seed=0, options={"difficulty": 1})
    whole = {**env.task.data, **data} if data else {}
    with pytest.raises(TaskError, match=words):
        env.reset(options={"task": {"question": "?", "answer": "3 kg", "data": whole}})
