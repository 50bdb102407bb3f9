"""Pictures of the user's own: what is read, how it is turned and framed, and what is refused."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pixelis.envs.pixel.ask_image import photo
from pixelis.envs.pixel.ask_image.photo import BAR_COLOUR, Letterbox, open_photo
from pixelis.errors import ImageReadError, ImageSizeError

RED, BLUE = (200, 30, 30), (20, 40, 220)


def saved(folder, image, name="picture.png", **options):
    path = folder / name
    image.save(path, **options)
    return path


def half_and_half(mode="RGB"):
    """Red on the left, blue on the right, 40 × 20."""
    image = Image.new("RGB", (40, 20), RED)
    image.paste(BLUE, (20, 0, 40, 20))
    return image.convert(mode)


def near(pixel, colour, tolerance=12):
    return all(abs(a - b) <= tolerance for a, b in zip(pixel, colour, strict=True))


# ---------------------------------------------------------------------- the frame


def test_a_wide_picture_lies_between_bars(tmp_path):
    found = open_photo(saved(tmp_path, half_and_half()))
    assert found.image.size == (40, 40)
    assert found.letterbox.corner == (0, 10)
    for place, colour in {(5, 9): BAR_COLOUR, (5, 10): RED, (35, 29): BLUE, (35, 30): BAR_COLOUR}.items():
        assert found.image.getpixel(place) == colour


def test_a_square_picture_has_no_bars(tmp_path):
    found = open_photo(saved(tmp_path, Image.new("RGB", (30, 30), RED)))
    assert found.image.getcolors() == [(900, RED)]


@pytest.mark.parametrize(
    ("size", "point", "scene"),
    [
        ((40, 20), (0, 0), (0, 0.25)),
        ((40, 20), (1, 1), (1, 0.75)),
        ((40, 20), (0.5, 0.5), (0.5, 0.5)),
        ((20, 40), (0, 1), (0.25, 1)),
        ((30, 30), (0.2, 0.9), (0.2, 0.9)),
        ((41, 20), (0, 0), (0, 10 / 41)),  # an odd pixel more below
        ((1, 1), (0, 1), (0, 1)),
    ],
)
def test_scene_coordinates_by_hand(size, point, scene):
    assert Letterbox(*size).point_to_scene(point) == pytest.approx(scene)


@given(st.integers(1, 5000), st.integers(1, 5000), st.floats(0, 1), st.floats(0, 1))
def test_scene_coordinates_stay_in_range_and_keep_shapes(width, height, x, y):
    box = Letterbox(width, height)
    x0, y0, x1, y1 = box.box_to_scene((0, 0, x, y))
    assert 0 <= x0 <= x1 <= 1 and 0 <= y0 <= y1 <= 1
    assert (x1 - x0) * box.side == pytest.approx(x * width, abs=1e-6)
    assert (y1 - y0) * box.side == pytest.approx(y * height, abs=1e-6)


def test_a_picture_beyond_the_longest_side_is_shrunk(tmp_path, monkeypatch):
    monkeypatch.setattr(photo, "MAX_SIDE", 20)
    found = open_photo(saved(tmp_path, half_and_half()))
    assert found.image.size == (20, 20)
    assert found.letterbox == Letterbox(20, 10)
    assert found.image.getpixel((2, 10)) == RED


# ---------------------------------------------------------------------- kinds of picture


@pytest.mark.parametrize("mode", ["RGB", "P", "RGBA"])
@pytest.mark.parametrize("name", ["picture.png", "picture.gif", "picture.webp", "picture.tiff"])
def test_common_kinds(tmp_path, mode, name):
    found = open_photo(
        saved(tmp_path, half_and_half(mode), name, **({"lossless": True} if "webp" in name else {}))
    )
    assert found.image.mode == "RGB"
    assert near(found.image.getpixel((5, 20)), RED, 40) and near(found.image.getpixel((35, 20)), BLUE, 40)


@pytest.mark.parametrize(("mode", "value"), [("L", 90), ("1", 1), ("LA", (90, 255))])
def test_grey_and_bitmap(tmp_path, mode, value):
    found = open_photo(saved(tmp_path, Image.new(mode, (8, 8), value)))
    level = 255 if mode == "1" else 90
    assert found.image.getpixel((4, 4)) == (level,) * 3


def test_transparent_pixels_are_white(tmp_path):
    image = Image.new("RGBA", (10, 10), (0, 0, 0, 0))
    image.paste((*RED, 255), (0, 0, 5, 10))
    found = open_photo(saved(tmp_path, image)).image
    assert found.getpixel((2, 5)) == RED and found.getpixel((8, 5)) == (255, 255, 255)


def test_a_transparent_palette_colour_is_white(tmp_path):
    image = half_and_half().quantize(2)
    clear = image.getpixel((30, 5))
    found = open_photo(saved(tmp_path, image, transparency=clear)).image
    assert near(found.getpixel((5, 20)), RED) and found.getpixel((35, 20)) == (255, 255, 255)


@pytest.mark.parametrize(("orientation", "top_left"), [(1, RED), (2, BLUE), (3, BLUE), (6, RED), (8, BLUE)])
def test_the_exif_orientation_is_obeyed(tmp_path, orientation, top_left):
    exif = Image.Exif()
    exif[0x0112] = orientation
    found = open_photo(saved(tmp_path, half_and_half(), "picture.jpg", exif=exif, quality=95))
    turned = orientation in (6, 8)
    assert found.letterbox == (Letterbox(20, 40) if turned else Letterbox(40, 20))
    left, top = found.letterbox.corner
    assert near(found.image.getpixel((left + 2, top + 2)), top_left, 40)


# ---------------------------------------------------------------------- what is refused


def test_an_animation_is_refused_and_a_still_gif_is_not(tmp_path):
    frames = [Image.new("P", (8, 8), number) for number in range(3)]
    for name in ("a.gif", "a.webp", "a.png", "a.tiff"):
        still = [frame.convert("RGB") for frame in frames]
        still[1].putpixel((1, 1), RED)
        still[2].putpixel((2, 2), BLUE)
        path = saved(tmp_path, still[0], name, save_all=True, append_images=still[1:])
        with pytest.raises(ImageReadError, match=r"still image, got 3 frames .* save the frame"):
            open_photo(path)
    assert open_photo(saved(tmp_path, frames[0], "still.gif")).image.size == (8, 8)


@pytest.mark.parametrize(
    ("mode", "name"),
    [("CMYK", "a.jpg"), ("CMYK", "a.tiff"), ("I;16", "a.png"), ("I", "a.tiff"), ("F", "a.tiff")],
)
def test_colours_that_depend_on_something_else_are_refused(tmp_path, mode, name):
    with pytest.raises(ImageReadError, match=r"8 bits, got mode '(CMYK|I;16|I|F)' .* convert it"):
        open_photo(saved(tmp_path, Image.new(mode, (8, 8)), name))


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp", "a.gif", "a.bmp", "a.tiff"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9])
def test_a_cut_off_file_is_refused(tmp_path, name, share):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))
    path = saved(tmp_path, noise, name)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ImageReadError, match=r"cut off|something else"):
        open_photo(path)


@given(st.binary(max_size=200), st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"]))
def test_damaged_bytes_raise_nothing_else(tmp_path_factory, rubbish, kind):
    buffer = io.BytesIO()
    half_and_half().save(buffer, kind)
    data = bytearray(buffer.getvalue())
    data[20 : 20 + len(rubbish)] = rubbish
    path = tmp_path_factory.mktemp("damaged") / "picture"
    path.write_bytes(bytes(data))
    try:
        assert open_photo(path).image.mode == "RGB"
    except (ImageReadError, ImageSizeError) as error:
        assert str(path) in str(error)


def forged_png(width, height):
    """A PNG of a few bytes that says it is huge."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    )


@pytest.mark.parametrize(("width", "height"), [(9_000, 9_000), (10_000, 10_000), (60_000, 60_000)])
def test_a_decompression_bomb_is_refused_by_its_header(tmp_path, width, height):
    path = tmp_path / "bomb.png"
    path.write_bytes(forged_png(width, height))
    with pytest.raises(ImageSizeError, match=r"80,000,000 pixels, got .* shrink it"):
        open_photo(path)


def test_what_is_no_picture_is_refused(tmp_path):
    (tmp_path / "a.png").write_text("not a picture")
    (tmp_path / "a.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n")
    for name in ("a.png", "a.eps"):
        with pytest.raises(ImageReadError, match=r"expected a picture .* convert it to PNG"):
            open_photo(tmp_path / name)
    for path in (tmp_path / "none.png", tmp_path / "a\0b.png", tmp_path):
        with pytest.raises(ImageReadError, match="correct the path"):
            open_photo(path)


def test_a_changed_file_is_read_again(tmp_path):
    path = saved(tmp_path, Image.new("RGB", (8, 8), RED))
    first = open_photo(path)
    assert open_photo(path) is first
    saved(tmp_path, Image.new("RGB", (9, 9), BLUE))
    assert open_photo(path).image.getpixel((4, 4)) == BLUE
