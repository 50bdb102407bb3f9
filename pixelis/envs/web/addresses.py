"""Addresses as browsers read them (WHATWG URL, the part that paths of our sites need)."""

from __future__ import annotations

import re
from urllib.parse import quote

_PATH_SAFE = "/%:@!$&'()*+,;=-._~[]|\\"
_QUERY_SAFE = "/%:@!$&()*+,;=-._~[]|\\?`{}^"
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def resolve(base: str, address: str) -> tuple[str, str] | None:
    """Return path with query, and fragment, of an address on the same site; ``None`` if it leads off it.

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
        return _encoded(whole), fragment if mark else ""
    folder = base_path[: base_path.rfind("/") + 1]
    joined = _without_dots(path if path.startswith("/") else folder + path)
    return _encoded(joined + (f"?{query}" if question else "")), fragment if mark else ""


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
