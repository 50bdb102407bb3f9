from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from pixelis.pictures import data_url, image_file


def test_an_address_by_hand():
    assert data_url(b"Pixelis") == "data:image/png;base64,UGl4ZWxpcw=="


@pytest.mark.parametrize(("kind", "options"), [("png", {}), ("jpeg", {"quality": 90})])
def test_an_address_holds_the_picture(kind, options):
    pixels = np.full((5, 7, 3), (200, 30, 60), np.uint8)
    head, text = data_url(image_file(Image.fromarray(pixels), kind, **options), kind).split(",")
    assert head == f"data:image/{kind};base64"
    with Image.open(io.BytesIO(base64.b64decode(text))) as image:
        assert image.format == kind.upper()
        assert np.abs(np.asarray(image, np.int16) - pixels).max() <= (0 if kind == "png" else 4)
