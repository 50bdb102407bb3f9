"""The typed JSON codec: every plain value comes back as itself, hostile text only ever raises CodecError."""

from __future__ import annotations

import enum
import math
from collections import Counter, OrderedDict, namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.coding.sandbox.codec import Caps, CodecError, check, decode, encode

HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4),
    max_leaves=8,
)
VALUES = st.recursive(
    HASHABLE | st.floats() | st.text(st.characters(categories=["Cs", "L"]), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.sets(HASHABLE, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
    ),
    max_leaves=20,
)
Point = namedtuple("Point", "x y")


def same(left, right) -> bool:
    """Equal in type and content at every level, NaN and the sign of zero included."""
    if type(left) is not type(right):
        return False
    if type(left) is float:
        return (
            math.isnan(right)
            if math.isnan(left)
            else (left, math.copysign(1, left))
            == (
                right,
                math.copysign(1, right),
            )
        )
    if type(left) in (list, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if type(left) is dict:
        return same(list(left.items()), list(right.items()))
    if type(left) in (set, frozenset):
        return left == right and {type(item) for item in left} == {type(item) for item in right}
    return left == right


@given(VALUES)
@settings(max_examples=60)
def test_round_trip(value):
    text = encode(value)
    assert b"\n" not in text
    assert same(decode(text), value)


@pytest.mark.parametrize(
    "value",
    [
        True,
        1,
        1.0,
        -0.0,
        10**1200,
        -(2**60000),
        "\ud83d\ude00",
        "\U0001f600",
        "\0",
        b"\xff",
        {1: 2, "1": 3},
        {(1, 2): set()},
    ],
    ids=lambda value: type(value).__name__,
)
def test_round_trip_of_awkward_values(value):
    assert same(decode(encode(value)), value)


def test_text_worked_out_by_hand():
    assert encode([None, True, 1, 2.5, "a"]) == b'[null,true,1,2.5,"a"]'
    assert encode({"k": (1,), 2: b"\x0f"}) == b'{"d":[["k",{"t":[1]}],[2,{"b":"0f"}]]}'
    assert encode(float("-inf")) == b'{"f":"-inf"}'


def test_subclasses_travel_as_their_built_in_part_only_when_asked():
    class Colour(enum.IntEnum):
        RED = 3

    class Liar(str):
        def __eq__(self, other):
            return True

        def __str__(self):
            return "something else"

        __hash__ = str.__hash__

    values = [Counter("aab"), OrderedDict(a=1), Point(1, 2), Colour.RED, Liar("truth")]
    for value in values:
        with pytest.raises(CodecError, match="plain value"):
            encode(value)
    read = decode(encode(values, subclasses=True))
    assert same(read, [{"a": 2, "b": 1}, {"a": 1}, (1, 2), 3, "truth"])


@pytest.mark.parametrize(
    "value", [object(), 1j, range(3), iter([]), {1: object()}, bytearray(b"a"), len, int]
)
def test_other_types_are_refused(value):
    with pytest.raises(CodecError, match="plain value"):
        encode(value, subclasses=True)


def test_caps_of_the_writer():
    loop: list = []
    loop.append(loop)
    for value, caps in [
        (loop, Caps()),
        ("x" * 100, Caps(size=100)),
        ([0] * 11, Caps(items=10)),
        (2**64, Caps(int_bits=64)),
        ([[]], Caps(depth=1)),
    ]:
        with pytest.raises(CodecError, match="at most"):
            encode(value, caps)
    assert (
        encode([0] * 10, Caps(items=10))
        and encode([], Caps(depth=1))
        and encode(2**64 - 1, Caps(int_bits=64))
    )


HOSTILE = {
    "nothing": b"",
    "not json": b"hello",
    "two values": b"1 2",
    "pickle": b"cos\nsystem\n(S'true'\ntR.",
    "bare NaN": b"NaN",
    "bare Infinity": b"[-Infinity]",
    "overflowing float": b"1e999",
    "raw UTF-8": "é".encode(),
    "unknown tag": b'{"x":1}',
    "two tags": b'{"t":[],"s":[]}',
    "repeated tag": b'{"t":[1],"t":[2]}',
    "no tag": b"{}",
    "tag of two letters": b'{"ts":[]}',
    "wrong content": b'{"t":"abc"}',
    "dict of non-pairs": b'{"d":[[1,2,3]]}',
    "dict of strings": b'{"d":["ab"]}',
    "unhashable key": b'{"d":[[[1],2]]}',
    "equal keys": b'{"d":[[1,2],[{"n":"1"},3]]}',
    "equal items": b'{"s":[1,true]}',
    "odd hex": b'{"b":"abc"}',
    "hex with a space": b'{"b":"ab cd "}',
    "hex with an underscore": b'{"n":"1_0"}',
    "bad surrogates": b'{"u":"ff"}',
    "other float word": b'{"f":"1.5"}',
    "digits": b"9" * 5000,
    "long hex": b'{"n":"' + b"f" * 20000 + b'"}',
    "deep": b"[" * 100_000,
    "deep and closed": b"[" * 5000 + b"]" * 5000,
    "deep tags": b'{"t":[' * 3000 + b"]}" * 3000,
    "many": b"[" + b"[]," * 300_000 + b"[]]",
    "open string": b'"' + b'\\"' * 500_000,
    "quotes": b'"' * 1_000_000,
    "colliding set": b'{"s":[' + b",".join(b"%d" % (i * (2**61 - 1)) for i in range(40_000)) + b"]}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.timeout(30)  # a reader of quadratic time needs minutes for some of these
def test_hostile_text_raises_codec_error(text):
    with pytest.raises(CodecError):
        decode(text)


@given(st.binary(max_size=200) | st.text('[]{}",:tszdbnfu0123456789.-e\\', max_size=60).map(str.encode))
@settings(max_examples=300)
def test_any_bytes_decode_or_raise_codec_error(text):
    try:
        value = decode(text)
    except CodecError:
        return
    assert same(decode(encode(value)), value)


def test_reader_holds_the_same_caps():
    for value, caps in [
        ("x" * 100, Caps(size=100)),
        (2**4000, Caps(int_bits=64)),
        ([[[[[[[]]]]]]], Caps(depth=1)),
    ]:
        with pytest.raises(CodecError):
            decode(encode(value), caps)
    nested: list = []
    for _ in range(99):
        nested = [nested]
    assert decode(encode(nested)) == nested


@given(VALUES)
@settings(max_examples=40)
def test_checking_agrees_with_writing(value):
    check(value)
    for caps in (Caps(depth=2), Caps(items=3), Caps(int_bits=16)):
        try:
            encode(value, caps)
        except CodecError:
            with pytest.raises(CodecError):
                check(value, caps)
        else:
            check(value, caps)


@pytest.mark.parametrize(
    "value", [object(), [1j], {1: {2: range(3)}}, (len,), bytearray(b"a"), Point(1, 2), True + 0j]
)
def test_checking_refuses_what_does_not_travel(value):
    with pytest.raises(CodecError, match="plain value"):
        check(value)


def test_checking_counts_text():
    check(["abc", b"de"], Caps(size=5))
    with pytest.raises(CodecError, match="at most 4 bytes"):
        check(["abc", b"de"], Caps(size=4))
