"""Python values as strict, typed JSON: how inputs reach a candidate and its claimed outputs come back.

Both ends run this file, and the reading end assumes a hostile writer. What JSON has is written as JSON;
every other type is an object with exactly one key: ``t`` tuple, ``s`` set, ``z`` frozenset, ``d`` dict (a
list of pairs), ``b`` bytes (hex), ``n`` a long integer (hex), ``f`` nan, inf or -inf, ``u`` text with lone
surrogates (hex of UTF-8 with them). Types are exact: ``True``, ``1`` and ``1.0`` come back as they went.
There is no pickle, no ``eval`` and no ``repr`` of the value. Standard library only: the server has no other.
"""

from __future__ import annotations

import builtins
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _quote
from typing import Any

# Functions below look names up in a private copy, so that code which patches builtins does not reach them.
__builtins__ = dict(vars(builtins))

_PLAIN_INT_DIGITS = 1000  # longer integers travel as hex, which is linear to read and has no digit limit
_SAME_HASH = 64  # more keys with one hash than this are an attack on whoever builds the dict
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_NOT_STRUCTURE = re.compile(rb"[^\[\]{},]+")
_BASES = (bool, int, float, str, bytes, list, tuple, dict, set, frozenset)


class CodecError(ValueError):
    """A value is of a type that does not travel or exceeds a cap, or a text is not what ``encode`` writes."""


@dataclass(frozen=True)
class Caps:
    """The largest value that is written or read.

    Args:
        depth: Containers inside containers.
        size: Bytes of the JSON text.
        items: Elements of all containers together; a dict entry counts as three.
        int_bits: Bits of an integer.
    """

    depth: int = 100
    size: int = 1 << 20
    items: int = 200_000
    int_bits: int = 1 << 16


DEFAULT_CAPS = Caps()


def encode(value: Any, caps: Caps = DEFAULT_CAPS, *, subclasses: bool = False) -> bytes:
    """Return ``value`` as ASCII JSON on one line.

    Args:
        value: None, bool, int, float, str, bytes, list, tuple, dict, set or frozenset, of these again.
        caps: The largest value that is written.
        subclasses: Write a ``Counter`` as its dict, an ``IntEnum`` as its int, a named tuple as its tuple.

    Raises:
        CodecError: Another type, or a cap exceeded.
    """
    writer = _Writer(caps, subclasses)
    writer.write(value, 0)
    text = "".join(writer.parts)
    if len(text) > caps.size:
        raise CodecError(
            f"expected at most {caps.size} bytes as JSON, got {len(text)}; make the value smaller"
        )
    return text.encode("ascii")


class _Writer:
    """One walk over one value, counting as it goes."""

    def __init__(self, caps: Caps, subclasses: bool) -> None:
        self.parts: list[str] = []
        self._caps = caps
        self._subclasses = subclasses
        self._items = 0
        self._size = 0

    def write(self, value: Any, depth: int) -> None:
        """Append the text of a value that lies ``depth`` containers deep; `CodecError` for other types."""
        kind = type(value)
        if kind is str:
            self._add(_text(value))
        elif kind is int:
            self._add(_integer(value, self._caps))
        elif value is None or kind is bool:
            self._add("null" if value is None else "true" if value else "false")
        elif kind is float:
            self._add(_float(value))
        elif kind is bytes:
            self._add('{"b":"' + value.hex() + '"}')
        elif kind in _OPENINGS:
            self._container(value, kind, depth)
        elif self._subclasses and (base := _base_of(value)):
            self.write(_as_base(value, base), depth)
        else:
            raise _not_plain(kind)

    def _container(self, value: Any, kind: type, depth: int) -> None:
        if depth >= self._caps.depth:
            raise CodecError(f"expected at most {self._caps.depth} containers inside each other")
        self._count(3 * len(value) if kind is dict else len(value))
        self._add(_OPENINGS[kind])
        separator = ""
        if kind is dict:
            for key, entry in value.items():
                self._add(separator + "[")
                self.write(key, depth + 2)
                self._add(",")
                self.write(entry, depth + 2)
                self._add("]")
                separator = ","
        else:
            for entry in value:
                self._add(separator)
                self.write(entry, depth + 1)
                separator = ","
        self._add("]" if kind is list else "]}")

    def _add(self, text: str) -> None:
        self._size += len(text)
        if self._size > self._caps.size:
            raise CodecError(f"expected at most {self._caps.size} bytes as JSON, got more")
        self.parts.append(text)

    def _count(self, items: int) -> None:
        self._items += items
        if self._items > self._caps.items:
            raise CodecError(f"expected at most {self._caps.items} elements in all, got more")


def check(value: Any, caps: Caps = DEFAULT_CAPS) -> None:
    """Raise `CodecError` where ``encode`` would, without writing; ``caps.size`` counts text and bytes."""
    counter = _Counter(caps)
    counter.visit(value, 0)


class _Counter:
    """One walk over one value that only counts."""

    def __init__(self, caps: Caps) -> None:
        self._caps, self._items, self._size = caps, 0, 0

    def visit(self, value: Any, depth: int) -> None:
        """Count a value that lies ``depth`` containers deep; `CodecError` for other types."""
        kind = type(value)
        if kind is str or kind is bytes:
            self._size += len(value)
            if self._size > self._caps.size:
                raise CodecError(f"expected at most {self._caps.size} bytes, got more")
        elif kind is int:
            _check_bits(value, self._caps)
        elif kind in _OPENINGS:
            self._items += 3 * len(value) if kind is dict else len(value)
            if self._items > self._caps.items:
                raise CodecError(f"expected at most {self._caps.items} elements in all, got more")
            if depth >= self._caps.depth:
                raise CodecError(f"expected at most {self._caps.depth} containers inside each other")
            for entry in value:
                self.visit(entry, depth + 1)
            if kind is dict:
                for entry in value.values():
                    self.visit(entry, depth + 1)
        elif value is not None and kind is not bool and kind is not float:
            raise _not_plain(kind)


def _not_plain(kind: type) -> CodecError:
    return CodecError(f"expected a plain value (None, bool, int, ..., dict), got {_type_name(kind)}")


_OPENINGS = {list: "[", tuple: '{"t":[', set: '{"s":[', frozenset: '{"z":[', dict: '{"d":['}


def _text(value: str) -> str:
    if value.isascii():
        return _quote(value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return '{"u":"' + value.encode("utf-8", "surrogatepass").hex() + '"}'
    return _quote(value)


def _integer(value: int, caps: Caps) -> str:
    bits = _check_bits(value, caps)
    return int.__repr__(value) if bits < 3 * _PLAIN_INT_DIGITS else '{"n":"' + f"{value:x}" + '"}'


def _check_bits(value: int, caps: Caps) -> int:
    bits = value.bit_length()
    if bits > caps.int_bits:
        raise CodecError(f"expected an integer of at most {caps.int_bits} bits, got {bits}")
    return bits


def _float(value: float) -> str:
    return float.__repr__(value) if math.isfinite(value) else '{"f":"' + float.__repr__(value) + '"}'


def _base_of(value: Any) -> type | None:
    return next((base for base in _BASES if base in type.mro(type(value))), None)


def _as_base(value: Any, base: type) -> Any:
    """Return the built-in part of an instance of a subclass, passing its own methods by."""
    if base in (list, tuple, set, frozenset):
        return base(base.__iter__(value))
    if base is dict:
        return dict(dict.items(value))
    if base is bytes:
        return b"".join([value])
    return {int: int.__int__, float: float.__float__, str: str.__str__}[base](value)


def _type_name(kind: type) -> str:
    return str.__str__(type.__dict__["__name__"].__get__(kind))[:80]


def decode(text: bytes, caps: Caps = DEFAULT_CAPS) -> Any:
    """Return the value that ``encode`` wrote as ``text``.

    Raises:
        CodecError: Not one such value, or a cap exceeded. Nothing else is raised, whatever the bytes.
    """
    if len(text) > caps.size:
        raise CodecError(f"expected at most {caps.size} bytes, got {len(text)}")
    if not text.isascii():
        raise CodecError("expected ASCII, got other bytes")
    _check_structure(text, caps)
    reader = _Reader(caps)
    try:
        return json.loads(
            text.decode("ascii"),
            object_pairs_hook=reader.tagged,
            parse_int=reader.integer,
            parse_float=_read_float,
            parse_constant=_refuse_constant,
        )
    except CodecError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise CodecError(f"expected one value as typed JSON, got {str(error)[:120]}") from None


def _check_structure(text: bytes, caps: Caps) -> None:
    """Bound depth and elements before anything is built."""
    structure = _NOT_STRUCTURE.sub(b"", _STRING.sub(b"", text))
    openings = structure.count(b"[") + structure.count(b"{")
    if structure.count(b",") > caps.items or openings > 2 * caps.items + 2:  # a tag is a bracket of its own
        raise CodecError(f"expected at most {caps.items} elements in all, got more")
    depth = 0
    for sign in structure.replace(b",", b""):
        depth += 1 if sign in b"[{" else -1
        if depth > 2 * caps.depth + 4:  # a tagged container is two brackets
            raise CodecError(f"expected at most {caps.depth} containers inside each other")


class _Reader:
    """Hooks for one ``json.loads``: objects become the type that their only key names."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps

    def integer(self, digits: str) -> int:
        if len(digits) > _PLAIN_INT_DIGITS + 1:
            raise CodecError(f"expected a long integer in hex, got {len(digits)} digits")
        return int(digits)

    def tagged(self, pairs: list[tuple[str, Any]]) -> Any:
        """Return the value of a JSON object, which always is one tag and its body; else `CodecError`."""
        if len(pairs) != 1 or pairs[0][0] not in self._TAGS:
            raise CodecError(
                f"expected one tag of {', '.join(self._TAGS)}, got {[key[:9] for key, _ in pairs][:3]}"
            )
        tag, body = pairs[0]
        if type(body) is not (list if tag in "tszd" else str):
            raise CodecError(f"expected another kind of content under the tag {tag}")
        return self._TAGS[tag](self, body)

    def _long_integer(self, digits: str) -> int:
        if len(digits) > self._caps.int_bits // 4 + 2 or not re.fullmatch("-?[0-9a-f]+", digits):
            raise CodecError(f"expected the hex digits of an integer of at most {self._caps.int_bits} bits")
        return int(digits, 16)

    def _dict(self, pairs: list[Any]) -> dict[Any, Any]:
        if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
            raise CodecError("expected a dict as a list of pairs")
        return _unique([key for key, _ in pairs], lambda: dict(pairs))

    _TAGS: dict[str, Callable[[_Reader, Any], Any]] = {  # noqa: RUF012 - filled once, below
        "t": lambda self, body: tuple(body),
        "s": lambda self, body: _unique(body, lambda: set(body)),
        "z": lambda self, body: _unique(body, lambda: frozenset(body)),
        "d": _dict,
        "b": lambda self, body: _read_hex(body),
        "n": _long_integer,
        "f": lambda self, body: _read_special(body),
        "u": lambda self, body: _read_hex(body).decode("utf-8", "surrogatepass"),
    }


def _unique(keys: list[Any], build: Callable[[], Any]) -> Any:
    """Build a hashed container, refusing equal keys and keys chosen to collide (quadratic time)."""
    hashes = sorted(map(hash, keys))
    if any(first == last for first, last in zip(hashes, hashes[_SAME_HASH:], strict=False)):
        raise CodecError(f"expected at most {_SAME_HASH} keys with one hash, got more")
    built = build()
    if len(built) != len(keys):
        raise CodecError("expected different keys, got equal ones")
    return built


def _read_hex(digits: str) -> bytes:
    if not re.fullmatch("(?:[0-9a-f]{2})*", digits):
        raise CodecError("expected pairs of hex digits")
    return bytes.fromhex(digits)


def _read_special(name: str) -> float:
    if name not in ("nan", "inf", "-inf"):
        raise CodecError(f"expected nan, inf or -inf, got {name[:20]!r}")
    return float(name)


def _read_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise CodecError("expected a finite number or a tag, got one that overflows")
    return value


def _refuse_constant(name: str) -> Any:
    raise CodecError(f"expected the tag f for {name}")
