from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.pixel.base.splits import seed_split
from pixelis.envs.pixel.chart_read.axis import VALUES, Axis, label_value
from pixelis.envs.pixel.chart_read.paint import chart_labels, paint_chart
from pixelis.envs.pixel.chart_read.sample import ASKED, CATEGORIES, LEVELS, NAMES, QUANTITIES, sample_chart
from pixelis.envs.pixel.chart_read.scene import THEMES, ChartScene, Series
from pixelis.envs.pixel.chart_read.text import (
    category_texts,
    chart_texts,
    legend_places,
    text_width,
    tick_texts,
)
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.errors import SplitError, TaskError

WHOLE = (0.0, 0.0, 1.0, 1.0)
BARS = ChartScene(
    size=400,
    kind="bars",
    title="Output in kWh",
    frame=(100, 120, 340, 320),
    axis=Axis(0.0, 50.0, False),
    ticks=("0.000", "20.00", "40.00"),
    grid=True,
    categories=("Mon", "Tue"),
    series=(
        Series("North", "red", "disc", (50, 100)),
        Series("Vega", "blue", "square", (150, 20)),
    ),
    theme="white",
    font="Roboto-Medium.ttf",
    text_height=16,
    seed=1,
    noise=0,
)
LINES = replace(BARS, kind="lines", grid=False)


def draw(seed, difficulty, split="train"):
    return sample_chart(np.random.default_rng(seed), difficulty, split)


# ---------------------------------------------------------------------- geometry and values by hand


def test_values_by_hand():
    assert [BARS.value(0, 0), BARS.value(0, 1), BARS.value(1, 0)] == [12.5, 25.0, 37.5]
    log = replace(BARS, axis=Axis(1.0, 10_000.0, True), ticks=("1.000", "100.0"))
    assert [log.value(0, 0), log.value(0, 1), log.value(1, 0)] == pytest.approx([10, 100, 1000])


def test_places_by_hand():
    assert BARS.tick_rows == (320, 240, 160)
    # A category has 120 pixels; a bar 0.43 of that, less a gap of two.
    assert BARS.bar(0, 0) == (109, 270, 158, 320)
    assert BARS.bar(1, 0) == (160, 170, 209, 320)
    assert BARS.point(1, 1) == (280, 300)


def test_bars_are_painted_where_they_should_be():
    image, _ = paint_chart(BARS)
    pixels = np.asarray(image)
    field = pixels[120:320, 100:340]
    red, blue = ((field == PALETTE[name]).all(-1) for name in ("red", "blue"))
    assert red.sum() == 49 * (50 + 100)
    assert blue.sum() == 49 * (150 + 20)
    assert np.flatnonzero(red.any(1))[0] == 100  # 200 pixels of field, the red bars' upper edge at half
    rule, paper = THEMES["white"].rule, THEMES["white"].paper
    assert tuple(pixels[239, 330]) == tuple(pixels[240 - 1, 105]) == rule
    assert tuple(pixels[237, 105]) == paper
    assert (pixels[239, 92:98] == THEMES["white"].ink).all()  # the tick's mark


def test_the_labels_of_bars_and_legend():
    labels = chart_labels(BARS, WHOLE, 400)
    assert labels[319, 110] == 1 and labels[319, 230] == 2 and labels[319, 161] == 3
    assert (labels == 2).sum() == 49 * 100
    left, top = legend_places(BARS)[1]
    assert labels[top + 1, left + 1] == 6 and (labels == 6).sum() == 400
    assert np.asarray(paint_chart(BARS)[0])[top + 1, left + 1].tolist() == list(PALETTE["blue"])


def test_marks_stand_clear_of_their_lines_and_in_their_places():
    image, _ = paint_chart(LINES)
    pixels, labels = np.asarray(image), chart_labels(LINES, WHOLE, 400)
    for number, (series, category) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)], 3):  # after two pieces
        column, row = LINES.point(series, category)
        colour = PALETTE[LINES.series[series].colour]
        assert pixels[row, column].tolist() == list(colour)
        rows, columns = np.nonzero(labels == number)
        assert (rows.min() + rows.max() + 1) / 2 == pytest.approx(row, abs=0.5)
        assert (columns.min() + columns.max() + 1) / 2 == pytest.approx(column, abs=0.5)
        assert 16 <= np.ptp(rows) + 1 <= 22
        ring = labels[row - 14 : row + 14, column - 14 : column + 14]
        assert set(np.unique(ring)) <= {0, 1, 2, number}
        assert ring[14, 0:2].max() in (0, 1, 2)  # the clear rim, then at most its line
    assert (labels == 1).sum() > 300


def test_texts_stand_at_their_ticks_and_below_their_categories():
    rows = {text.text: text.row for text in tick_texts(BARS)}
    assert rows == {"0.000": 320, "20.00": 240, "40.00": 160}
    assert all(text.left + text.width == 84 for text in tick_texts(BARS))
    first, second = category_texts(BARS)
    assert (first.text, second.text) == ("Mon", "Tue")
    assert first.left + first.width / 2 == pytest.approx(160, abs=1)
    assert first.row == second.row > 320


def test_texts_of_a_view_by_hand():
    items = {item.text: item for item in chart_texts(BARS, (0.0, 0.25, 0.5, 0.75), 400)}
    assert {"0.000", "North", "Mon", "Output in kWh"} <= set(items) and "log scale" not in items
    item = items["20.00"]
    assert item.height == 32  # twice as large as painted
    assert item.corners[0][1] == (240 - 8 - 100) * 2 and item.corners[2][1] == (240 + 8 - 100) * 2
    log = replace(BARS, axis=Axis(1.0, 10_000.0, True), ticks=("1.000", "100.0"))
    assert "log scale" in {item.text for item in chart_texts(log, WHOLE, 400)}


def test_a_label_is_painted_around_its_tick():
    pixels = np.asarray(paint_chart(replace(BARS, ticks=("20.00", "40.00")))[0]).astype(int)
    dark = (pixels[:, :90] - THEMES["white"].paper).sum(-1) < -200
    rows = np.flatnonzero(dark[200:280].any(1)) + 200
    assert (rows[0] + rows[-1] + 1) / 2 == pytest.approx(240, abs=0.5)


@pytest.mark.parametrize("font", FONTS)
def test_labels_of_all_scales_are_equally_wide(font):
    """So a label that is too small to be read does not tell the scale by its width."""
    labels = ("0.042", "4.170", "41.70", "417.0", "4.17k", "41.7k", "1.111", "888.8")
    for height in (14, 15, 16):
        assert np.ptp([text_width(font, height, label) for label in labels]) <= 1


# ---------------------------------------------------------------------- what is drawn by lot


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_a_scene_is_as_its_level_says(seed, difficulty):
    level = LEVELS[difficulty]
    scene, series, category = draw(seed, difficulty)
    assert (len(scene.series), len(scene.categories)) == (level.series, level.categories)
    assert scene.kind in level.kinds and scene.grid == level.grid and scene.noise == level.noise
    assert (
        len({one.name for one in scene.series}) == len({one.colour for one in scene.series}) == level.series
    )
    assert len(scene.ticks) >= 3
    assert 0.999 * VALUES[0] <= scene.value(series, category) <= 1.001 * VALUES[1]
    share = scene.series[series].heights[category] / scene.height
    assert any(low <= share <= high for kind, (low, high) in ASKED.items() if kind in level.axes)
    if scene.kind == "lines" and level.series > 1:
        columns = np.array([one.heights for one in scene.series])
        assert np.diff(np.sort(columns, 0), axis=0).min() >= 32
    assert ChartScene.from_json(json.loads(json.dumps(scene.to_json()))) == scene


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_a_pixel_is_far_below_the_tolerance_and_no_label_within_it(seed, difficulty):
    scene, series, category = draw(seed, difficulty)
    value, height = scene.value(series, category), scene.series[series].heights[category]
    assert scene.axis.value((height + 1) / scene.height) / value - 1 < 0.004
    assert min(abs(label_value(label) - value) / value for label in scene.ticks) > 0.0299


def test_values_are_log_uniform_and_apart_from_their_heights():
    """1500 values: a tenth in each tenth of the decades; no correlation with height (2.6 sigma: 0.067)."""
    logs, shares = [], []
    for seed in range(1500):
        scene, series, category = draw(seed, 2)
        logs.append(math.log10(scene.value(series, category)) / 3)
        shares.append(scene.series[series].heights[category] / scene.height)
    counts, _ = np.histogram(logs, 10, (0, 1))
    assert counts.sum() >= 1498 and counts.min() > 110 and counts.max() < 190
    assert abs(np.corrcoef(logs, shares)[0, 1]) < 0.067


def test_levels_get_harder():
    assert [level.series for level in LEVELS] == [1, 2, 3, 4, 6]
    assert [level.categories for level in LEVELS] == [5, 6, 8, 10, 12]
    assert [level.labels for level in LEVELS] == [None, None, 5, 4, 3]


def test_words_do_not_tell_a_colour_and_no_word_comes_twice():
    words = [*NAMES, *(word for row in CATEGORIES for word in row), *(q for q, _ in QUANTITIES)]
    assert len(words) == len(set(words))
    assert not set(map(str.lower, words)) & set(PALETTE)
    assert max(len(row) for row in CATEGORIES) == max(level.categories for level in LEVELS)


def test_the_same_scene_paints_the_same_bytes():
    scene, *_ = draw(2, 4)
    assert (
        paint_chart.__wrapped__(scene)[0].tobytes()
        == paint_chart.__wrapped__(ChartScene.from_json(scene.to_json()))[0].tobytes()
    )


def test_seeds_belong_to_the_split():
    assert {seed_split(draw(seed, 0, "test")[0].seed) for seed in range(12)} == {"test"}
    assert {seed_split(draw(seed, 0, "train")[0].seed) for seed in range(12)} == {"train"}
    with pytest.raises(SplitError):
        draw(0, 0, "dev")


def test_a_scene_nobody_wrote_is_a_task_error():
    good = BARS.to_json()
    row = good["series"][0]
    broken = {
        "field 'axis' is missing": {key: value for key, value in good.items() if key != "axis"},
        "field 'kind' must be 'bars' or 'lines', got 'pie'": {**good, "kind": "pie"},
        "an axis from 50 to 20": {**good, "axis": {"low": 50, "high": 20, "log": False}},
        "an axis from 0 to 20": {**good, "axis": {"low": 0, "high": 20, "log": True}},
        "a tick '90.00' that is not on the axis": {**good, "ticks": ["0.000", "90.00"]},
        "could not convert": {**good, "ticks": ["0.000", "ten"]},
        "'ticks' must be a list of at least 2, got 1": {**good, "ticks": ["0.000"]},
        "1 heights of a series where 2 belong": {**good, "series": [{**row, "heights": [1]}]},
        "from 1 to 200": {**good, "series": [{**row, "heights": [1, 201]}]},
        "less than 64 pixels": {**good, "frame": [100, 120, 120, 320]},
        "'grid' must be True or False, got 1": {**good, "grid": 1},
        "'noise' must be an integer from 0 to 64, got 65": {**good, "noise": 65},
        "'mauve'": {**good, "series": [{**row, "colour": "mauve"}]},
        r"1\]' must be a printable text of 1 to 16": {**good, "categories": ["Mon", "T\nue"]},
        "expected a scene as ChartScene": None,
    }
    for words, data in broken.items():
        with pytest.raises(TaskError, match=words):
            ChartScene.from_json(data)
