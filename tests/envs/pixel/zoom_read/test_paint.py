from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from PIL import Image, ImageFont

from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET
from pixelis.envs.pixel.drawing.fonts import FONT_FOLDER, FONTS
from pixelis.envs.pixel.drawing.noise import add_noise, add_noise_to
from pixelis.envs.pixel.drawing.sign_paint import draw_board
from pixelis.envs.pixel.drawing.signs import Scene
from pixelis.envs.pixel.zoom_read.backdrop import paint_backdrop
from pixelis.envs.pixel.zoom_read.paint import paint, paint_uncached
from pixelis.envs.pixel.zoom_read.scene import SCENE_SIZE, sample_scene
from pixelis.errors import ImageSizeError


def draw(seed, difficulty):
    return sample_scene(np.random.default_rng(seed), difficulty, "train")


def pixels_of(scene):
    return np.asarray(paint(scene)).astype(int)


def region(scene, sign, pixels):
    x0, y0, x1, y1 = (round(v * scene.size) for v in sign.box(scene.size))
    return pixels[y0:y1, x0:x1]


def digest(image):
    return sha256(image.tobytes()).hexdigest()[:16]


GOLDEN = {0: "47dad4b90ae05370", 2: "b7678219d38c532a", 4: "b6a5f67bcefa4a17"}


@pytest.mark.parametrize(("difficulty", "expected"), list(GOLDEN.items()))
def test_pixels_are_frozen(difficulty, expected):
    # A change of these bytes moves learning curves: it needs a new version of every pixel environment.
    assert digest(paint(draw(7, difficulty))) == expected


@pytest.mark.parametrize("difficulty", range(5))
def test_painting_twice_gives_the_same_bytes(difficulty):
    scene = draw(1, difficulty)
    assert paint_uncached(scene)[0].tobytes() == paint_uncached(Scene.from_json(scene.to_json()))[0].tobytes()


def test_equal_scenes_share_one_picture():
    assert paint(draw(2, 1)) is paint(draw(2, 1))


def test_picture_is_square_rgb():
    image = paint(draw(0, 0))
    assert (image.mode, image.size) == ("RGB", (SCENE_SIZE, SCENE_SIZE))


@pytest.mark.parametrize("seed", range(8))
def test_the_street_is_greyish(seed):
    pixels = np.asarray(paint_backdrop(SCENE_SIZE, seed)).astype(int)
    assert (pixels.max(axis=2) - pixels.min(axis=2)).max() <= 26


def test_streets_differ():
    assert len({digest(paint_backdrop(SCENE_SIZE, seed)) for seed in range(12)}) == 12


@pytest.mark.parametrize("difficulty", range(5))
def test_a_sign_is_mostly_of_its_colour(difficulty):
    scene = draw(3, difficulty)
    pixels = pixels_of(scene)
    for sign in scene.signs:
        near = np.abs(region(scene, sign, pixels) - sign.rgb).max(axis=2) <= 2 * scene.noise
        assert near.mean() >= (0.7 if difficulty < 3 else 0.45)


@pytest.mark.parametrize("difficulty", range(5))
def test_each_sign_is_painted_inside_its_box(difficulty):
    scene = replace(draw(4, difficulty), noise=0)
    bare = pixels_of(replace(scene, signs=()))
    changed = (pixels_of(scene) != bare).any(axis=2)
    for sign in scene.signs:
        x0, y0, x1, y1 = (round(v * scene.size) for v in sign.box(scene.size))
        assert changed[y0 + 2 : y1 - 2, x0 + 2 : x1 - 2].mean() > 0.85
        changed[y0 - 10 : y1 + 6, x0 - 1 : x1 + 4] = False  # with its rods and its shadow
    assert not changed.any()


@pytest.mark.parametrize("font", FONTS)
def test_another_code_changes_the_text_and_nothing_else(font):
    scene = draw(5, 0)
    sign = replace(scene.signs[0], font=font, code="HHHH", text_height=16)
    first = pixels_of(replace(scene, signs=(sign,)))
    second = pixels_of(replace(scene, signs=(replace(sign, code="XXXX"),)))
    rows, columns = np.nonzero((first != second).any(axis=2))
    assert abs(rows.mean() - sign.center[1]) < 3 and abs(columns.mean() - sign.center[0]) < 3
    assert 9 <= np.ptp(rows) + 1 <= 14  # capitals of a font whose whole line is 16 px high
    assert 30 <= np.ptp(columns) + 1 <= 60


@pytest.mark.parametrize("colour_shift", [0, 40])
def test_text_is_drawn_in_its_ink(colour_shift):
    scene = draw(6, 0)
    sign = replace(scene.signs[0], ink=(colour_shift, 255, colour_shift))
    pixels = pixels_of(replace(scene, signs=(sign,)))
    assert (region(scene, sign, pixels) == sign.ink).all(axis=2).sum() > 20


@pytest.mark.parametrize("difficulty", [0, 4])
def test_boards_that_are_shared_stay_blank(difficulty):
    """Boards without a code are kept: a code that was drawn on one must not show under the next."""
    sign = draw(3, difficulty).signs[0]
    first, cover = (np.asarray(one).copy() for one in draw_board(replace(sign, code="WM88")))
    other, same_cover = draw_board(replace(sign, code="1"))
    assert not np.array_equal(np.asarray(other), first)
    assert np.array_equal(np.asarray(same_cover), cover)
    assert np.array_equal(np.asarray(draw_board(replace(sign, code="WM88"))[0]), first)


def test_noise_repeats_after_192_pixels_and_leaves_room_for_itself():
    noisy = np.full((200, 250, 3), 255, np.uint8)
    add_noise_to(noisy, 5, 7)
    assert noisy.min() == 245 and noisy.max() == 255  # 250 and -5 to 5
    assert np.array_equal(noisy[:, 192:], noisy[:, :58]) and np.array_equal(noisy[192:], noisy[:8])
    image = Image.new("RGB", (250, 200), "white")
    assert np.array_equal(np.asarray(add_noise(image, 5, 7)), noisy)
    assert image.getpixel((0, 0)) == (255, 255, 255)


def test_noise_is_bounded_and_everywhere():
    scene = draw(8, 1)
    difference = pixels_of(replace(scene, noise=5)) - pixels_of(scene)
    assert np.abs(difference).max() <= 10  # twice where the picture is clipped to make room
    assert (difference != 0).mean() > 0.8
    assert abs(difference.mean()) < 0.2


def test_kinds_look_different():
    scene = draw(9, 0)
    sign = scene.signs[0]
    looks = [
        pixels_of(replace(scene, signs=(replace(sign, kind=kind),))) for kind in ("sign", "label", "screen")
    ]
    for index, look in enumerate(looks):
        other = looks[index - 1]
        assert (region(scene, sign, look) != region(scene, sign, other)).any(axis=2).mean() > 0.1


@pytest.mark.parametrize("size", [0, -5, 767, 31_623, 10**9])
def test_scenes_that_are_too_small_or_too_large_are_refused(size):
    with pytest.raises(ImageSizeError, match=str(size)):
        paint(Scene(size, (), 0, 0))


@pytest.mark.parametrize("size", [768, 1000, 2048])
def test_other_sizes_can_be_painted(size):
    assert paint(Scene(size, draw(0, 0).signs, 3, 2)).size == (size, size)


@pytest.mark.parametrize("name", FONTS)
def test_every_font_draws_every_character_of_the_codes(name):
    font = ImageFont.truetype(str(FONT_FOLDER / name), 40, layout_engine=ImageFont.Layout.BASIC)
    assert len({bytes(font.getmask(character)) for character in CODE_ALPHABET}) == len(CODE_ALPHABET)


def test_fonts_are_small_and_their_licences_are_shipped():
    files = sorted(path.name for path in FONT_FOLDER.glob("*.ttf"))
    assert files == sorted(FONTS)
    assert sum((FONT_FOLDER / name).stat().st_size for name in files) <= 1_500_000
    table = (FONT_FOLDER / "README.md").read_text(encoding="utf-8")
    for name in files:
        (row,) = (line for line in table.splitlines() if name in line)
        assert (FONT_FOLDER / row.split("(`")[1].split("`)")[0]).stat().st_size > 1000
