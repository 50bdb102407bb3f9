from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pixelis.errors import RecordingError
from pixelis.wrappers.recording.values import decode, digest, encode, opaque_type


def through_json(value, **keywords):
    return json.loads(json.dumps(encode(value, **keywords), allow_nan=False))


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$array", "$float", "a"]), inner, max_size=2)
    ),
    max_leaves=8,
)


@given(TREES)
def test_what_is_written_comes_back(value):
    back = decode(through_json(value))
    assert back == value and repr(back) == repr(value)  # repr tells 1 from 1.0 and True


DTYPES = st.sampled_from(["?", "|u1", "<i8", ">i4", "<u2", "<f2", "<f4", ">f8"])


@given(arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, max_dims=3, max_side=4)))
def test_arrays_come_back_bit_for_bit_with_nan_and_infinity(array):
    back = decode(through_json(array))
    little = array.astype(array.dtype.newbyteorder("<"))
    assert (back.shape, back.dtype, back.tobytes()) == (array.shape, little.dtype, little.tobytes())
    header = f"{little.dtype.str} {array.shape}\n".encode()
    assert digest(array) == hashlib.sha256(header + little.tobytes()).hexdigest()


def test_what_stands_in_the_file():
    assert encode(np.float32(0.5)) == 0.5 and encode(np.int64(3)) == 3 and encode(np.bool_(True)) is True
    assert encode(float("-inf")) == {"$float": "-inf"}
    assert encode(Path("a") / "b") == str(Path("a/b"))
    assert encode(np.array([[1, 2]], np.int32)) == {
        "$array": {"dtype": "<i4", "shape": [1, 2], "data": [[1, 2]]}
    }
    assert encode({"a": (1,), "b": {2: "x"}}) == {"a": {"$tuple": [1]}, "b": {"$dict": [[2, "x"]]}}


def test_a_digest_is_sha256_of_dtype_shape_and_bytes():
    array = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    assert digest(array) == hashlib.sha256(b"|u1 (1, 2, 3)\n" + bytes(range(6))).hexdigest()
    assert digest(array.reshape(2, 1, 3)) != digest(array) != digest(array.astype(np.int8))
    assert digest(array[:, ::-1]) == digest(np.ascontiguousarray(array[:, ::-1]))
    assert digest(np.zeros((0, 2), np.float32)) == hashlib.sha256(b"<f4 (0, 2)\n").hexdigest()
    assert digest(np.arange(3, dtype=">i4")) == digest(np.arange(3, dtype="<i4"))


def test_pictures_and_large_arrays_are_given_by_their_digest_when_there_is_a_limit():
    kept = {}
    picture, large = np.zeros((4, 4, 3), np.uint8), np.zeros(5, np.float32)
    found = encode({"p": picture, "l": large, "s": large[:4]}, 4, kept.__setitem__)
    assert found["p"] == {"$image": {"sha256": digest(picture), "dtype": "|u1", "shape": [4, 4, 3]}}
    assert found["l"] == {"$digest": {"sha256": digest(large), "dtype": "<f4", "shape": [5]}}
    assert found["s"]["$array"]["data"] == [0, 0, 0, 0]
    assert kept.keys() == {digest(picture), digest(large)}
    assert decode(found, lambda about: kept[about["sha256"]])["p"] is picture
    with pytest.raises(RecordingError, match="by its digest alone"):
        decode(found)


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, np.array([object()]), np.array(["a"]), 1j], ids=lambda v: type(v).__name__
)
def test_what_json_cannot_hold_is_told_by_its_type(value):
    written = through_json([1, {"x": (value,)}])
    assert type(value).__name__ in opaque_type(written)
    with pytest.raises(RecordingError, match="only the type of a value was recorded"):
        decode(written)
    assert opaque_type(through_json([1, "$opaque", {"x": None}])) is None


@pytest.mark.parametrize(
    "written",
    [
        {"$array": {"dtype": "O", "shape": [1], "base64": "AAAAAAAAAAA="}},
        {"$array": {"dtype": "<f4", "shape": [3], "data": [1.0]}},
        {"$array": 5},
        {"$float": "many"},
        {"$nothing": 1},
        {"$dict": [1]},
    ],
    ids=str,
)
def test_malformed_values_are_refused(written):
    with pytest.raises(RecordingError, match="malformed"):
        decode(written)
