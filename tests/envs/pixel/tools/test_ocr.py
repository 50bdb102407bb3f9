import copy
import pickle
import re
import string
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from pixelis.envs.pixel.drawing.fonts import FONT_FOLDER
from pixelis.envs.pixel.drawing.sign_texts import sign_texts
from pixelis.envs.pixel.tools import ocr
from pixelis.envs.pixel.tools.ocr import RapidReader, Reading, make_line, make_reader
from pixelis.envs.pixel.tools.ocr_engine import EnginePool, make_engine
from pixelis.envs.pixel.tools.ocr_truth import LEGIBILITY, TextItem, TruthReader, legibility
from pixelis.envs.pixel.tools.pixel_cache import PixelCache
from pixelis.envs.pixel.tools.text_line import find_text_line
from pixelis.envs.pixel.tools.view import crop_view, square_box
from pixelis.envs.pixel.zoom_read.paint import paint
from pixelis.envs.pixel.zoom_read.scene import sample_scene
from pixelis.errors import ConfigError, MissingDependencyError

WHOLE = (0.0, 0.0, 1.0, 1.0)
VIEW = 384


def reader_of(name, scene, view_box):
    reader = make_reader(name)
    if isinstance(reader, TruthReader):
        reader.show(sign_texts(scene, view_box, VIEW))
    return reader


def scene_of(seed, difficulty):
    return sample_scene(np.random.default_rng([seed, difficulty, 5]), difficulty, "train")


def view_around(scene, sign, factor, shift=(0.0, 0.0)):
    """A view of a sign: its box in the scene, its pixels, and the sign's box in them."""
    center = [value / scene.size + d for value, d in zip(sign.center, shift, strict=True)]
    box = square_box(center, factor)
    scale = VIEW / (box[2] - box[0])
    found = [round((value - box[i % 2]) * scale) for i, value in enumerate(sign.box(scene.size))]
    return box, crop_view(paint(scene), box, VIEW), tuple(found)


def check_form(reading, region):
    assert isinstance(reading, Reading)
    for line in reading.lines:
        assert line.text.strip() == line.text != ""
        assert 0 < line.confidence <= 1
        x0, y0, x1, y1 = line.box
        assert region[0] <= x0 < x1 <= region[2] and region[1] <= y0 < y1 <= region[3]
        assert [word.text for word in line.words] == line.text.split()
        assert all(x0 <= word.box[0] <= word.box[2] <= x1 for word in line.words)


# ---------------------------------------------------------------------- both readers


@pytest.mark.parametrize("name", ["ocr", "truth"])
@pytest.mark.parametrize("difficulty", [0, 2, 4])
@pytest.mark.parametrize("factor", [3.2, 4, 9])
def test_legible_codes_are_read_from_their_sign(name, difficulty, factor):
    scene = scene_of(3, difficulty)
    for sign in scene.signs[:3]:
        view_box, view, region = view_around(scene, sign, factor)
        reading = reader_of(name, scene, view_box).read(view, region)
        check_form(reading, region)
        assert reading.text == sign.code


@pytest.mark.parametrize("name", ["ocr", "truth"])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.05, -0.06)])
def test_legible_codes_are_read_from_a_whole_view(name, shift):
    scene = scene_of(1, 2)
    for sign in scene.signs[:3]:
        view_box, view, _ = view_around(scene, sign, 4, shift)
        reading = reader_of(name, scene, view_box).read(view, (0, 0, VIEW, VIEW))
        check_form(reading, (0, 0, VIEW, VIEW))
        assert sign.code in reading.text.split("\n")


@pytest.mark.parametrize("name", ["ocr", "truth"])
def test_no_code_is_read_from_the_overview(name):
    scene = scene_of(2, 1)
    view = crop_view(paint(scene), WHOLE, VIEW)
    reader = reader_of(name, scene, WHOLE)
    regions = [[round(v * VIEW) for v in sign.box(scene.size)] for sign in scene.signs]
    texts = [reader.read(view, tuple(region)).text for region in [[0, 0, VIEW, VIEW], *regions]]
    assert not any(sign.code in text for sign in scene.signs for text in texts)


@pytest.mark.parametrize("name", ["ocr", "truth"])
def test_where_there_is_no_text_there_is_none_read(name):
    scene = scene_of(0, 0)
    view = np.full((VIEW, VIEW, 3), 180, np.uint8)
    reader = make_reader(name)
    assert reader.read(view, (0, 0, VIEW, VIEW)) == Reading()
    assert reader.read(view, (10, 10, 12, 40)) == Reading()
    assert reader.read(view, (400, 400, 500, 500)) == Reading()
    assert scene.signs


@pytest.mark.parametrize("name", ["ocr", "truth"])
def test_reading_twice_gives_the_same(name):
    scene = scene_of(4, 3)
    view_box, view, region = view_around(scene, scene.signs[0], 2.2)
    first = reader_of(name, scene, view_box).read(view, region)
    assert reader_of(name, scene, view_box).read(view.copy(), region) == first


def test_an_unknown_reader_is_one_clear_error():
    with pytest.raises(ConfigError, match="'truth'"):
        make_reader("thruth")


# ---------------------------------------------------------------------- rapidocr


def drawn_lines(texts, height=24, gap=20, ink=(20, 20, 24), board=(240, 240, 236)):
    font = ImageFont.truetype(str(FONT_FOLDER / "Roboto-Medium.ttf"), height)
    image = Image.new("RGB", (360, 30 + (height + gap) * len(texts)), board)
    for i, text in enumerate(texts):
        ImageDraw.Draw(image).text((20, 15 + i * (height + gap)), text, fill=ink, font=font)
    return np.asarray(image)


def whole(pixels):
    return (0, 0, pixels.shape[1], pixels.shape[0])


def test_several_lines_are_read_from_top_to_bottom_with_their_words():
    pixels = drawn_lines(["Garden market", "Platform 7", "OPEN"])
    reading = RapidReader().read(pixels, whole(pixels))
    assert reading.text == "Garden market\nPlatform 7\nOPEN"
    assert [len(line.words) for line in reading.lines] == [2, 2, 1]
    tops = [line.box[1] for line in reading.lines]
    assert tops == sorted(tops)
    check_form(reading, whole(pixels))


def test_boxes_are_in_pixels_of_the_view_not_of_the_region():
    pixels = np.full((300, 500, 3), 240, np.uint8)
    text = drawn_lines(["HARBOUR"])
    pixels[200 : 200 + len(text), 100:460] = text
    (line,) = RapidReader().read(pixels, (90, 190, 470, 290)).lines
    assert line.text == "HARBOUR"
    x0, y0, x1, y1 = line.box
    assert abs(x0 - 120) < 12 and abs(y0 - 218) < 12 and x1 > 200 and abs(y1 - 240) < 14


def test_one_line_needs_no_detection_and_two_do(monkeypatch):
    calls = []
    engine = make_engine()
    recorded = EnginePool(1, lambda: lambda image, **flags: calls.append(flags) or engine(image, **flags))
    monkeypatch.setattr(ocr, "ENGINES", recorded)
    reader = RapidReader(PixelCache())
    one, two = drawn_lines(["PLATFORM"]), drawn_lines(["PLATFORM", "STATION"])
    assert reader.read(one, whole(one)).text == "PLATFORM"
    assert reader.read(two, whole(two)).text == "PLATFORM\nSTATION"
    assert reader.read(one[:, ::-1], whole(one)).text != "PLATFORM"
    assert [call["use_det"] for call in calls[:2]] == [False, True]
    # The flags of one call stay set on rapidocr's object, so every call must give all three.
    assert all(set(call) == {"use_det", "use_cls", "use_rec"} for call in calls)


def test_equal_pixels_are_read_once_by_all_readers(monkeypatch):
    cache = PixelCache(2)
    pixels = drawn_lines(["TICKET"])
    first = RapidReader(cache).read(pixels, whole(pixels))
    monkeypatch.setattr(ocr, "ENGINES", EnginePool(1, lambda: pytest.fail("the cache was not used")))
    framed = np.pad(pixels, ((7, 0), (5, 0), (0, 0)))
    again = RapidReader(cache).read(framed, (5, 7, 5 + pixels.shape[1], 7 + pixels.shape[0]))
    assert again.text == first.text == "TICKET"
    assert (again.lines[0].box[0] - first.lines[0].box[0], again.lines[0].box[1] - first.lines[0].box[1]) == (
        5,
        7,
    )
    assert (len(cache), cache.hits) == (1, 1)


def in_threads(count, work):
    """Do it for 0, 1, … at the same time; return what came out."""
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(work, range(count)))


def test_threads_share_the_engines_and_read_the_same(monkeypatch):
    pictures = [drawn_lines([text]) for text in ("NORTH", "BRIDGE", "SILVER", "WINTER")]
    made = []
    monkeypatch.setattr(ocr, "ENGINES", EnginePool(2, lambda: made.append(1) or make_engine()))

    def read(i):
        return RapidReader(PixelCache()).read(pictures[i], whole(pictures[i]))

    together = in_threads(4, read)
    assert [reading.text for reading in together] == ["NORTH", "BRIDGE", "SILVER", "WINTER"]
    assert len(made) <= 2
    assert together == [read(i) for i in range(4)]


def test_two_threads_read_at_the_same_time_and_a_third_waits():
    meeting, inside = threading.Barrier(2, timeout=60), []

    def engine(image, **flags):
        inside.append(1)
        most = len(inside)
        meeting.wait()
        inside.pop()
        return most

    pool = EnginePool(2, lambda: engine)
    pixels = np.zeros((4, 4, 3), np.uint8)
    assert max(in_threads(4, lambda _: pool.run(pixels, detect=True))) == 2


def test_an_engine_that_fails_is_used_again():
    outcomes = iter([ValueError("broken picture"), "read"])

    def engine(image, **flags):
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    made = []
    pool = EnginePool(1, lambda: made.append(1) or engine)
    pixels = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(ValueError, match="broken"):
        pool.run(pixels, detect=True)
    assert pool.run(pixels, detect=True) == "read" and made == [1]


def test_readers_can_be_sent_to_another_process():
    shared, own = RapidReader(), RapidReader(PixelCache(3))
    assert pickle.loads(pickle.dumps(shared)).cache is shared.cache
    assert len(copy.deepcopy(own).cache) == 0
    assert pickle.loads(pickle.dumps(TruthReader([item()]))).read(BLANK, ALL).text == "A7X4"


@settings(max_examples=15)
@given(st.tuples(*[st.integers(-20, 420)] * 4))
def test_any_region_of_a_view_can_be_read(box):
    view = crop_view(paint(scene_of(0, 4)), square_box((0.5, 0.5), 3), VIEW)
    reading = RapidReader().read(view, box)
    check_form(reading, (max(0, box[0]), max(0, box[1]), min(VIEW, box[2]), min(VIEW, box[3])))


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    monkeypatch.setattr(ocr, "ENGINES", EnginePool(1))
    pixels, cache = drawn_lines(["EXIT"]), PixelCache()
    for _ in range(2):  # what could not be read is not kept
        with pytest.raises(MissingDependencyError, match=r'pip install "pixelis\[ocr\]"'):
            RapidReader(cache).read(pixels, whole(pixels))
    assert len(cache) == 0


@pytest.mark.parametrize(
    ("text", "confidence", "kept"),
    [
        ("A7X4", 0.99, "A7X4"),
        ("  two   words ", 0.9, "two words"),
        ("Ａ７", 0.9, "A7"),  # full-width forms
        ("口", 0.99, None),
        ("。-", 0.99, None),
        ("A7X4", 0.3, None),
        ("", 0.9, None),
        ("出口 Exit", 0.9, "出口 Exit"),
        ("A\x00B", 0.9, "A B"),
    ],
)
def test_ghosts_are_dropped_and_text_is_cleaned(text, confidence, kept):
    line = ocr._kept_line(text, (0, 0, 40, 10), confidence)
    assert (None if line is None else line.text) == kept


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 90))
def test_the_line_test_never_fails_and_stays_inside(seed, height, width):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    box = find_text_line(pixels)
    if box is not None:
        assert 0 <= box[0] < box[2] <= width and 0 <= box[1] < box[3] <= height


@pytest.mark.parametrize("degrees", [-5, 0, 5])
def test_the_line_test_finds_a_turned_line_on_a_framed_board(degrees):
    board = Image.fromarray(drawn_lines(["A7X4KM"], board=(208, 32, 38), ink=(250, 250, 250))[:, :170])
    street = Image.new("RGB", (210, 110), (120, 120, 124))
    turned = board.convert("RGBA").rotate(degrees, expand=True, resample=Image.Resampling.BICUBIC)
    street.paste(turned, (10, 10), turned)
    pixels = np.asarray(street)[10 : 10 + turned.height, 10 : 10 + turned.width]
    box = find_text_line(pixels)
    assert box is not None
    assert box[0] < 30 and box[2] > 100 and box[3] - box[1] < 60


@pytest.mark.parametrize("texts", [["ONE", "TWO"], []], ids=["two lines", "blank"])
def test_the_line_test_refuses_what_is_not_one_line(texts):
    assert find_text_line(drawn_lines(texts)) is None


# ---------------------------------------------------------------------- ground truth


def item(text="A7X4", x=100.0, y=100.0, width=80.0, height=16.0, visible=1.0):
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return TextItem(text, corners, height, visible)


BLANK = np.zeros((VIEW, VIEW, 3), np.uint8)
ALL = (0, 0, VIEW, VIEW)


@pytest.mark.parametrize(("height", "share"), [*LEGIBILITY, (3, 0), (0, 0), (5.5, 0.29), (40, 1)])
def test_legibility_is_the_measured_curve(height, share):
    assert legibility(height) == pytest.approx(share)


@pytest.mark.parametrize(("height", "share"), [(4, 0), (5, 0.13), (6, 0.45), (8, 0.90), (10, 1.0)])
def test_the_share_read_follows_the_curve(height, share):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list(string.ascii_uppercase), 4)) for _ in range(1000)]
    read = [TruthReader([item(text, height=height)]).read(BLANK, ALL).text for text in texts]
    right = sum(a == b for a, b in zip(texts, read, strict=True))
    assert right / 1000 == pytest.approx(share, abs=0.04)  # four standard errors at most
    if share == 0:
        assert not any(read)


@given(st.text(string.ascii_letters + string.digits, min_size=1, max_size=8), st.floats(4.1, 9.9))
def test_a_failed_draw_never_gives_the_text(text, height):
    found = TruthReader([item(text, height=height)]).read(BLANK, ALL)
    if found.text != text:
        assert found.text.upper() != text.upper() and found.lines[0].confidence < 0.9


def misread(text, places=400, height=5.0):
    """What is wrongly read of a text at many places."""
    found = [TruthReader([item(text, x=x / 4, height=height)]).read(BLANK, ALL) for x in range(places)]
    return [reading.text for reading in found if reading.lines[0].confidence < 0.9]


def test_no_table_undoes_a_misreading():
    """A 7 is taken for many letters, and is right half of the time, wherever it stands."""
    found = misread("7777")
    assert len(found) > 300  # 87 of 100 at this height
    for place in range(4):
        read = [text[place] for text in found]
        assert {"7"} < set(read) <= {"7", *string.ascii_uppercase} and len(set(read)) > 20
        assert read.count("7") / len(read) == pytest.approx(0.47, abs=0.1)  # (1/2 - 1/16) / (15/16)
    assert "7777" not in found


def test_what_a_character_is_taken_for():
    for text in misread("Ab3-z 9"):
        assert text[0] in string.ascii_uppercase + string.digits
        assert text[1] in string.ascii_lowercase + string.digits
        assert text[2] in "3" + string.ascii_uppercase and text[6] in "9" + string.ascii_uppercase
        assert text[3] == "-" and text[4] in string.ascii_lowercase + string.digits and text[5] == " "
        assert text.upper() != "AB3-Z 9"


def test_a_misread_number_is_none():
    found = misread("12.5")
    assert len(found) > 300 and not any(re.fullmatch(r"[0-9.]+", text) for text in found)


@pytest.mark.parametrize("text", ["~", "--", "口"])
def test_a_line_without_letters_is_misread_too(text):
    found = misread(text)
    assert found and text not in found


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ((90, 90, 200, 130), "A7X4"),
        ((100, 100, 180, 116), "A7X4"),
        ((90, 90, 140, 130), "A7"),
        ((90, 90, 150, 130), "A7"),  # half of the X
        ((138, 90, 200, 130), "X4"),
        ((90, 90, 200, 108), ""),  # cut along the line
        ((200, 200, 300, 300), ""),
    ],
)
def test_cut_off_text_is_read_as_far_as_it_is_inside(region, text):
    reading = TruthReader([item()]).read(BLANK, region)
    assert reading.text == text
    check_form(reading, region)


def test_covered_text_is_read_up_to_the_cover():
    assert TruthReader([item(visible=0.5)]).read(BLANK, ALL).text == "A7"
    assert TruthReader([item(visible=0.0)]).read(BLANK, ALL) == Reading()


def test_texts_come_in_reading_order_and_change_with_the_view():
    reader = TruthReader([item("LOW", y=200), item("RIGHT", x=250, y=102), item("LEFT", x=20, y=101)])
    assert reader.read(BLANK, ALL).text == "LEFT\nRIGHT\nLOW"
    reader.show([])
    assert reader.read(BLANK, ALL) == Reading()


def test_sign_texts_lie_where_the_signs_are():
    scene = scene_of(6, 4)
    for sign, text in zip(scene.signs, sign_texts(scene, WHOLE, VIEW), strict=True):
        assert text.text == sign.code
        assert text.height == sign.text_height / 4
        x, y = np.mean(text.corners, axis=0)
        assert (x * 4, y * 4) == pytest.approx(sign.center)
        x0, y0, x1, y1 = (value * VIEW for value in sign.box(scene.size))
        assert all(x0 < cx < x1 and y0 < cy < y1 for cx, cy in text.corners)


def test_turned_signs_turn_counter_clockwise():
    scene = scene_of(6, 4)
    sign, text = max(
        zip(scene.signs, sign_texts(scene, WHOLE, VIEW), strict=True), key=lambda pair: pair[0].angle_degrees
    )
    (x0, y0), (x1, y1) = text.corners[:2]
    assert np.degrees(np.arctan2(y0 - y1, x1 - x0)) == pytest.approx(sign.angle_degrees)
    assert sign.angle_degrees > 0


def test_words_share_their_lines_width():
    line = make_line("AB CDE", (10, 5, 70, 15), 0.9)
    assert [(word.text, word.box) for word in line.words] == [
        ("AB", (10, 5, 30, 15)),
        ("CDE", (40, 5, 70, 15)),
    ]
