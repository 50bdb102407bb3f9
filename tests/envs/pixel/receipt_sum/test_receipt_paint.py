from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pixelis.envs.pixel.receipt_sum.paint import paint_receipt, receipt_labels, receipt_texts
from pixelis.envs.pixel.receipt_sum.sample import sample_receipt
from pixelis.envs.pixel.receipt_sum.scene import amount_end, name_start
from pixelis.envs.pixel.tools.palette import PALETTE


def draw(seed, difficulty):
    return sample_receipt(np.random.default_rng(seed), difficulty, "train")


WHOLE = (0.0, 0.0, 1.0, 1.0)


def painted(scene):
    return np.asarray(paint_receipt(scene)[0]).astype(int)


def pen(pixels):
    """Which pixels are coloured as by a pen: paper, ink and table are greyish."""
    return np.ptp(pixels, axis=-1) > 60


def test_the_page_lies_where_it_should(small_receipt):
    pixels, labels = painted(small_receipt), receipt_labels(small_receipt, WHOLE, 512)
    assert np.array_equal(pixels[100, 45], (250, 248, 242)) and labels[100, 45] == 1
    assert labels[100, 39] == labels[100, 412] == labels[19, 200] == labels[334, 200] == 0
    teeth = 2 * 372 * 6 / 2  # half of six rows at either torn edge
    assert (labels > 0).sum() == pytest.approx(372 * 314 - teeth, rel=0.005)


def test_pen_strokes_by_hand(small_receipt):
    """Line 1 is struck from its name to its amount; line 2 underlined, below its name alone."""
    pixels, labels = painted(small_receipt), receipt_labels(small_receipt, WHOLE, 512)
    coloured = pen(pixels)
    rows = np.flatnonzero(coloured.any(1))
    struck, under = small_receipt.row(1), small_receipt.row(2) + 9
    assert set(rows) <= {*range(struck - 3, struck + 4), *range(under - 2, under + 3)}
    through = coloured[struck - 3 : struck + 4].any(0)
    assert through[name_start(small_receipt) : amount_end(small_receipt)].all() and not through[:50].any()
    below = np.flatnonzero(coloured[under - 2 : under + 3].any(0))
    assert below[0] >= name_start(small_receipt) - 2 and below[-1] < name_start(small_receipt) + 100
    assert np.array_equal(np.unique(labels), [0, 1, 2, 3])
    assert (labels[struck - 1 : struck + 2, 70:380] == 2).mean() > 0.75
    assert tuple(pixels[struck, 200]) == PALETTE["red"]


def test_without_marks_nothing_is_coloured(small_receipt):
    plain = replace(small_receipt, lines=tuple(item._replace(mark="") for item in small_receipt.lines))
    assert not pen(painted(plain)).any()
    assert len(paint_receipt(plain)[1]) == 1


def test_texts_stand_where_the_ink_is(small_receipt):
    """In a view of the page twice as large: ink in the middle of every text's box, none between columns."""
    box = (40 / 512, 100 / 512, 296 / 512, 356 / 512)
    items = {item.text: item for item in receipt_texts(replace(small_receipt, tax=0), box, 512)}
    (x0, y0), (x1, y1) = items["4,90"].corners[0], items["4,90"].corners[2]
    assert (x1, y0, y1) == (2 * (388 - 40), 2 * (131 - 8 - 100), 2 * (131 + 8 - 100))
    assert items["4,90"].height == 32 and 45 < x1 - x0 < 60
    pixels = painted(replace(small_receipt, tax=0))
    dark = pixels.max(-1) < 120
    left, right = round(40 + x0 / 2), round(40 + x1 / 2)
    assert dark[123:139, left:right].any() and not dark[123:139, right + 1 : 410].any()


@pytest.mark.parametrize("difficulty", range(5))
def test_no_two_texts_touch_and_all_lie_on_the_page(difficulty):
    for seed in range(3):
        scene, _ = draw(seed, difficulty)
        corners = [(*item.corners[0], *item.corners[2]) for item in receipt_texts(scene, WHOLE, scene.side)]
        boxes = np.array(corners) + np.array((0, 2, 0, -2))  # line boxes hold some air above and below
        x0, y0, x1, y1 = boxes.T
        apart = (x0[:, None] >= x1) | (x1[:, None] <= x0) | (y0[:, None] >= y1) | (y1[:, None] <= y0)
        assert (apart | np.eye(len(boxes), dtype=bool)).all()
        width, height = scene.size
        assert x0.min() >= scene.left + 8 and x1.max() <= scene.left + width - 8
        assert y0.min() >= scene.top + 8 and y1.max() <= scene.top + height - 8


def test_the_same_scene_gives_the_same_bytes_and_others_do_not():
    scene, _ = draw(3, 4)
    again = paint_receipt.__wrapped__(scene)[0]
    assert again.tobytes() == paint_receipt(scene)[0].tobytes() != paint_receipt(draw(4, 4)[0])[0].tobytes()
    assert again.size == (1536, 1536)
