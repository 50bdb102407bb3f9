"""Addresses as browsers read them (WHATWG URL, the part that paths of our sites need)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

_PATH_SAFE = "/%:@!$&'()*+,;=-._~[]\\"
_QUERY_SAFE = "/%:@!$&()*+,;=-._~[]|\\?`{}^"
MAX_TARGET = 16_000
"""Greatest length of a path with its query; servers refuse what is much longer."""
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(\[.*\]|[^:]*)(?::(\d+))?")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def resolve(base: str, address: str) -> tuple[str, str] | None:
    """Return path with query, and fragment, of an address on the same site; ``None`` if it leads off it.

    What is longer than ``MAX_TARGET`` leads nowhere, and is ``None`` too.

    Args:
        base: path and query of the page.
        address: what a link, a form or an agent says.
    """
    text = re.sub(r"[\t\n\r]", "", address.strip("".join(map(chr, range(33)))))
    if _SCHEME.match(text):
        return None
    text, mark, fragment = text.partition("#")
    path, question, query = text.partition("?")
    path = path.replace("\\", "/")
    if path.startswith("//"):
        return None
    base_path, _, base_query = base.partition("?")
    if not path:
        whole = base_path + (f"?{query}" if question else f"?{base_query}" if base_query else "")
        return _short(_encoded(whole), fragment if mark else "")
    folder = base_path[: base_path.rfind("/") + 1]
    joined = _without_dots(path if path.startswith("/") else folder + path)
    return _short(_encoded(joined + (f"?{query}" if question else "")), fragment if mark else "")


def may_reach(url: str, hosts: Sequence[str]) -> bool:
    """Return whether an address lies on one of the hosts, or (``file:``) below one of the folders.

    Args:
        url: complete. What is neither http(s) nor ``file:`` loads nothing from anywhere, and may be; what
            is no address may not.
        hosts: ``host``, ``host:port``, ``*.host``, ``*`` for any, or a folder's address that
            ends with a slash.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that are no address, or letters that stand for its marks
        return False
    if parts.scheme == "file":
        return any(url.startswith(host) for host in hosts if host.startswith("file:"))
    if parts.scheme not in _PORTS:
        return True
    try:
        port = parts.port or _PORTS[parts.scheme]
    except ValueError:  # it is no number
        return False
    return any(host == "*" or _is_host(host, parts.hostname or "", port) for host in hosts)


def _is_host(host: str, name: str, port: int) -> bool:
    found = _HOST.fullmatch(host)
    wanted, only = found.groups() if found else (host, None)
    if only is not None and int(only) != port:
        return False
    wanted = wanted.strip("[]").lower()
    return name.endswith(wanted[1:]) if wanted.startswith("*.") else name == wanted


def _short(target: str, fragment: str) -> tuple[str, str] | None:
    return (target, fragment) if len(target) <= MAX_TARGET else None


def _without_dots(path: str) -> str:
    kept: list[str] = []
    parts = path.split("/")[1:]
    for index, part in enumerate(parts):
        low = part.lower().replace("%2e", ".")
        last = index == len(parts) - 1
        if low == "..":
            del kept[-1:]
        elif low != ".":
            kept.append(part)
            continue
        if last:
            kept.append("")
    return "/" + "/".join(kept)


def _encoded(target: str) -> str:
    path, question, query = target.partition("?")
    return quote(path, safe=_PATH_SAFE) + (f"?{quote(query, safe=_QUERY_SAFE)}" if question else "")
