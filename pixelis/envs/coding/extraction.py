r"""The code in an assistant's turn: out of fences with any label, several blocks, prose around, or no fence.

The rule, in this order:

1. Fenced blocks (three or more backticks or tildes, any label, indented or not, the last perhaps cut off):
   the last one that defines the function asked for; else the last that defines any; else the last.
2. No fence: from the first line that begins like code to the last that goes on like it. A text without such
   a line holds no code.

A fence ends at a line of the same sign, at least as long, indented by at most three characters more than it
began (CommonMark 0.31, section 4.5), so fences in a docstring do not end it. Beyond CommonMark, a fence may
begin behind words (``Code: ```python``) and touch a tag (``</think>``, ``<tool_call>``). Nothing is parsed or
executed: a text may be anything, and takes time in proportion to its length.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_FENCE = re.compile(r"([ \t]*+(?:>[ \t]?)?)(`{3,}+|~{3,}+)[ \t]*+([^`]*+)\Z")
_LATE_FENCE = re.compile(r"[^`]*+(`{3,}+)[ \t]*+\w*[ \t]*\Z")
_TAG = r"<[|/]?\w{1,30}[|]?>"
_FENCE_AND_TAG = re.compile(rf"(?:(?<=>)(?=`{{3}}|~{{3}})|(?:(?<=```)|(?<=~~~))(?={_TAG}))")
_DEFINITION = re.compile(r"(?m)^(?:async[ \t]+def|def|class)[ \t]+\w+")
_STARTS = re.compile(
    r"from[ \t]+[\w.]+[ \t]+import\b|import[ \t]+\w++[ \t]*+(?:[.,]|as\b|$)"
    r"|(?:async[ \t]+)?def[ \t]+\w++[ \t]*+[(\[]|class[ \t]+\w++[ \t]*+[(:\[]|@\w"
)
_COMPOUND = re.compile(r"(?:if|elif|else|for|while|try|except|finally|with|match)\b[^\n]*:")
_STATEMENT = re.compile(r"(?:raise|assert|global|del)[ \t]+\w++[^ ]|pass[ \t]*$|[A-Za-z_][\w.]*+\(")
_TARGETS = re.compile(r"""[\w.*()\[\]"']++(?:[ \t]*,[ \t]*[\w.*()\[\]"']++)*+,?""")


def extract_code(text: str, entry: str = "") -> str | None:
    """Return the code in a text by the module's rule; ``None`` where there is none.

    Args:
        text: a whole assistant turn, or what stands in its answer.
        entry: name of the function asked for; empty where unknown.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = _FENCE_AND_TAG.sub("\n", text)
    blocks = [_unindented(block) for block in _blocks(text)]
    if not blocks:
        return _unfenced(text, entry)
    for wanted in (lambda block: defines(block, entry), _DEFINITION.search):
        found = [block for block in blocks if wanted(block)]
        if found:
            return found[-1]
    return blocks[-1]


def defines(code: str, entry: str) -> bool:
    """Return whether a line gives a meaning to a name: by def, class, = or import, without indentation."""
    name = re.escape(entry)
    pattern = (
        rf"(?m)^(?:(?:async[ \t]+def|def|class)[ \t]+{name}\b|{name}[ \t]*+(?::[^=\n]++)?=(?!=)"
        rf"|from[ \t]+[\w.]++[ \t]+import[ \t][^\n]*\b{name}\b)"
    )
    return bool(entry) and re.search(pattern, code) is not None


def _blocks(text: str) -> Iterator[str]:
    """Yield what stands in fences; the last may lack its end."""
    inside: list[str] | None = None
    fence, indent = "", ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if inside is None:
            if match:
                inside, indent, fence = [], match[1], match[2]
            elif late := _LATE_FENCE.match(line):
                inside, indent, fence = [], "", late[1]
        elif match and _ends(match, fence, indent):
            yield "\n".join(inside)
            inside = None
        else:
            inside.append(_without(line, indent))
    if inside is not None:
        yield "\n".join(inside)


def _ends(match: re.Match[str], fence: str, indent: str) -> bool:
    return (
        match[2][0] == fence[0]
        and len(match[2]) >= len(fence)
        and not match[3].strip()
        and len(match[1]) <= len(indent) + 3
    )


def _without(line: str, indent: str) -> str:
    """Take as much of the fence's own indentation (or quotation sign) from a line as it has."""
    at = 0
    while at < min(len(indent), len(line)) and line[at] == indent[at]:
        at += 1
    return line[at:]


def _unindented(block: str) -> str:
    """Return a block without its common indentation, if it then defines something; else as it stands."""
    if _DEFINITION.search(block):
        return block
    flat = textwrap.dedent(block)
    return flat if _DEFINITION.search(flat) else block


def _unfenced(text: str, entry: str) -> str | None:
    lines = textwrap.dedent(text).split("\n")
    starts = (at for at, line in enumerate(lines) if _STARTS.match(line) or defines(line, entry))
    start = next(starts, None)
    if start is None:
        return None
    while start and (lines[start - 1].startswith("#") or _is_assignment(lines[start - 1])):
        start -= 1
    kept: list[str] = []
    quote = ""
    for line in lines[start:]:
        if not quote and not _goes_on(line):
            break
        kept.append(line)
        quote = _open_quote(line, quote)
    return "\n".join(kept).rstrip() + "\n"


def _goes_on(line: str) -> bool:
    """Return whether a line may stand in code, judged by how it begins."""
    if not line or line[0] in " \t\f#)]}\"'":
        return True
    return any(rule.match(line) for rule in (_STARTS, _COMPOUND, _STATEMENT)) or _is_assignment(line)


def _is_assignment(line: str) -> bool:
    target, sign, value = line.partition("=")
    target = target.partition(":")[0].rstrip("+-*/%&|^@<> \t")
    return bool(sign) and not value.startswith("=") and _TARGETS.fullmatch(target) is not None


def _open_quote(line: str, quote: str) -> str:
    """Return which triple quote is open after a line, given the one that was open before it."""
    for sign in re.findall(r'"""|\'\'\'', line):
        if not quote:
            quote = sign
        elif sign == quote:
            quote = ""
    return quote
