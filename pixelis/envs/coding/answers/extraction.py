r"""The code in an assistant's turn: out of fences with any label, several blocks, prose around, or no fence.

The rule, in this order:

1. A text that is Python as it stands (or less its common indentation, or where ``prefix`` ends) is all code.
2. Fenced blocks (three or more backticks or tildes, any label, indented or not, the last perhaps cut off):
   the last one that defines the function asked for; if none does, a part of the text beside them that does;
   else the last block that defines any; else the last.
3. No fence: of the parts of the text that are Python (as many whole lines as the parser takes together) the
   first one that defines the function asked for, else the first that defines any.
4. No such part: from the first line that begins like code to the last that goes on like it, so that a mistake
   in it can be told. A text without such a line holds no code.

Where the code chosen uses names that only other blocks or parts define, these go with it. Of Python without a
fence, lines that could only raise NameError (prose that happens to be Python) are left empty.

A fence ends at a line of the same sign, at least as long, indented by at most three characters more than it
began (CommonMark 0.31, section 4.5), where no docstring is open. Beyond CommonMark, a fence may begin behind
words (``Code: ```python``) and touch a tag (``</think>``, ``<tool_call>``). Nothing is executed: a text may
be anything, and takes time in proportion to its length.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pixelis.envs.coding.answers import python_source
from pixelis.envs.coding.answers.python_source import parse

_FENCE = re.compile(r"([ \t]*+(?:>[ \t]?)?)(`{3,}+|~{3,}+)[ \t]*+([^`]*+)\Z")
_LATE_FENCE = re.compile(r"[^`]*+(`{3,}+)[ \t]*+\w*[ \t]*\Z")
_TAG = r"<[|/]?\w{1,30}[|]?>"
_FENCE_AND_TAG = re.compile(rf"(?:(?<=>)(?=`{{3}}|~{{3}})|(?:(?<=```)|(?<=~~~))(?={_TAG}))")
_LOOSE_TAG = re.compile(rf"(?m)^(?:{_TAG})+|(?:{_TAG})+$|</?(?:think|thinking|thought|reasoning)>")
_DEFINITION = re.compile(r"(?m)^(?:async[ \t]+def|def|class)[ \t]+\w+")
_STARTS = re.compile(
    r"from[ \t]+[\w.]+[ \t]+import\b|import[ \t]+\w++[ \t]*+(?:[.,]|as\b|$)"
    r"|(?:async[ \t]+)?def[ \t]+\w++[ \t]*+[(\[]|class[ \t]+\w++[ \t]*+[(:\[]|@\w"
)
_COMPOUND = re.compile(r"(?:if|elif|else|for|while|try|except|finally|with|match)\b[^\n]*:")
_STATEMENT = re.compile(r"(?:raise|assert|global|del)[ \t]+\w++[^ ]|pass[ \t]*$|[A-Za-z_][\w.]*+\(")
_TARGETS = re.compile(r"""[\w.*()\[\]"']++(?:[ \t]*,[ \t]*[\w.*()\[\]"']++)*+,?""")


_END_TOKENS = re.compile(r"(?:<\|\w{1,30}\|>\s*+)+\Z")
_EMPTY_LINES = re.compile(r"\A(?:[ \t\f]*\n)+")
_MOST_ENDS = 8  # fence lines tried as a block's end where a string in it is open
_BODY = re.compile(r"(?m)^[ \t]+(?:return|yield|raise|pass)\b")


@dataclass(frozen=True)
class FencedBlock:
    """What stands in a fence.

    Attributes:
        start: where it begins in the text, in characters: behind the line that opens the fence.
        end: where it ends: in front of the line that closes the fence, else at the end of the text.
        code: what stands there, without the fence's own indentation.
        is_closed: whether the fence has an end.
    """

    start: int
    end: int
    code: str
    is_closed: bool


def extract_code(text: str, entry: str = "", prefix: str = "") -> str | None:
    """Return the code in a text by the module's rule; ``None`` where there is none.

    Args:
        text: a whole assistant turn, or what stands in its answer or in a call's argument.
        entry: name of the function asked for; empty where unknown.
        prefix: code that the solution may rely on, or whose last function it goes on with.
    """
    text = _END_TOKENS.sub("", _with_plain_line_ends(text))
    known = _names_of(prefix)
    whole = _whole(text, entry, prefix, known)
    if whole is not None:
        return whole
    marked = _FENCE_AND_TAG.sub("\n", text)
    blocks, beside = _blocks(marked)
    blocks = [_unindented(block, prefix) for block in blocks]
    if blocks and _are_in_a_text(text, entry, blocks):
        blocks, beside = [], text
    if any(defines(block, entry) for block in blocks):
        return _with_needed(blocks, range(len(blocks))[::-1], entry, known)
    found = [
        _unfenced(prose, entry, known) for prose in dict.fromkeys((beside, _LOOSE_TAG.sub("\n", beside)))
    ]
    good = [code for code in found if code is not None and defines(code, entry)]
    whole = [code for code in good if parse(code).tree is not None]
    if whole or good or not blocks:
        return next(iter([*whole, *good, *found]), None)
    return _with_needed(blocks, range(len(blocks))[::-1], entry, known)


def code_as_given(text: str, entry: str = "", prefix: str = "") -> str:
    """Return a text that somebody gave as code: as it stands where it is Python, else the code in it.

    Where there is none, the text itself, so that its mistake can be told. Arguments as of `extract_code`.
    """
    text = _with_plain_line_ends(text)
    if parse(text).tree is not None:
        return text
    return extract_code(text, entry, prefix) or text


def fenced_blocks(text: str) -> list[FencedBlock]:
    """Return the fenced blocks of a text in order; a fence may touch a tag, as in `extract_code`."""
    text = text.replace("\r\n", " \n").replace("\r", "\n")  # as long as before
    breaks = [match.start() + count for count, match in enumerate(_FENCE_AND_TAG.finditer(text))]
    lines = _FENCE_AND_TAG.sub("\n", text).split("\n")
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line) + 1)
    places = [min(at - bisect_left(breaks, at), len(text)) for at in begins]
    return [
        FencedBlock(
            places[fence.at + 1],
            places[fence.end],
            "\n".join(_without(line, fence.indent) for line in lines[fence.at + 1 : fence.end]),
            fence.end < len(lines),
        )
        for fence in _fences(lines)
    ]


def defines(code: str, entry: str) -> bool:
    """Return whether code gives a meaning to a name at its top level: by def, class, = or import."""
    if not entry or entry not in code:
        return False
    tree = parse(code).tree
    if tree is not None:
        return entry in python_source.given_names(tree)
    name = re.escape(entry)
    pattern = (
        rf"(?m)^(?:(?:async[ \t]+def|def|class)[ \t]+{name}\b|{name}[ \t]*+(?::[^=\n]++)?=(?!=)"
        rf"|from[ \t]+[\w.]++[ \t]+import[ \t][^\n]*\b{name}\b)"
    )
    return re.search(pattern, code) is not None


# ---------------------------------------------------------------------- the whole text


def _with_plain_line_ends(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _names_of(prefix: str) -> set[str] | None:
    """Return the names that a prefix gives, its last function open or not; None if nobody knows."""
    tree = parse(python_source.completed(prefix)).tree
    return None if tree is None else python_source.given_names(tree)


def _whole(text: str, entry: str, prefix: str, known: set[str] | None) -> str | None:
    """Return a text that is code as it stands, without empty lines around it."""
    text = _EMPTY_LINES.sub("", text).rstrip()
    for source in dict.fromkeys((text, textwrap.dedent(text))):
        tree = parse(source).tree
        if tree is not None and python_source.holds_code(tree, entry):
            return _without_words(source, known) + "\n"
    return text + "\n" if _completes(prefix, text) and _BODY.search(text) else None


def _completes(prefix: str, text: str) -> bool:
    """Return whether a text goes on with the function that a prefix ends with."""
    is_indented = text[:1] in (" ", "\t")
    return bool(prefix) and is_indented and parse(f"{prefix.rstrip()}\n{text}\n").tree is not None


def _without_words(source: str, known: set[str] | None) -> str:
    tree = parse(source).tree
    return source if tree is None or known is None else python_source.without_words(source, tree, known)


# ---------------------------------------------------------------------- fences


@dataclass(frozen=True)
class _Fence:
    """The numbers of the lines that open and close a fence, its indentation, the words in front of it."""

    at: int
    end: int
    indent: str
    words: str | None


def _fences(lines: list[str]) -> Iterator[_Fence]:
    at = 0
    while at < len(lines):
        match = _FENCE.match(lines[at])
        late = None if match else _LATE_FENCE.match(lines[at])
        if match is None and late is None:
            at += 1
            continue
        indent, sign = (match[1], match[2]) if match else ("", late[1] if late else "")
        end = _end_of_block(lines, at + 1, sign, indent)
        yield _Fence(at, end, indent, lines[at][: late.start(1)] if late else None)
        at = end + 1


def _blocks(text: str) -> tuple[list[str], str]:
    """Return what stands in fences, the last perhaps without an end, and the text beside them."""
    blocks: list[str] = []
    beside: list[str] = []
    lines = text.split("\n")
    at = 0
    for fence in _fences(lines):
        beside += [*lines[at : fence.at], *([] if fence.words is None else [fence.words]), ""]
        blocks.append("\n".join(_without(line, fence.indent) for line in lines[fence.at + 1 : fence.end]))
        at = fence.end + 1
    return blocks, "\n".join([*beside, *lines[at:]])


def _are_in_a_text(text: str, entry: str, blocks: Sequence[str]) -> bool:
    """Return whether fences stand in a text that code without a fence holds, as a docstring may."""
    if '"""' not in text and "'''" not in text:
        return False
    parts = [part for _, part in python_source.python_parts(text) if defines(part, entry)]
    last = parts[-1].strip() if parts else ""
    return any(map(_FENCE.match, last.split("\n"))) and not any(last in block for block in blocks)


def _end_of_block(lines: list[str], start: int, fence: str, indent: str) -> int:
    """Return the line that ends a block: the first fence line, or a later one if a string was open there."""
    ends = (at for at in range(start, len(lines)) if _ends(_FENCE.match(lines[at]), fence, indent))
    first = next(ends, len(lines))
    end = first
    for _ in range(_MOST_ENDS):
        found = parse("\n".join(_without(line, indent) for line in lines[start:end]))
        if found.tree is not None:
            return end
        if python_source.OPEN_STRING not in found.reason or end == len(lines):
            break
        end = next(ends, len(lines))
    return first


def _ends(match: re.Match[str] | None, fence: str, indent: str) -> bool:
    return (
        match is not None
        and match[2][0] == fence[0]
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


def _unindented(block: str, prefix: str) -> str:
    """Return a block without its common indentation, if it then defines something; else as it stands."""
    if _DEFINITION.search(block) or _completes(prefix, block.lstrip("\n")):
        return block
    flat = textwrap.dedent(block)
    is_body = parse(flat).reason == python_source.BODY  # with a function of its own in it
    return flat if _DEFINITION.search(flat) and not is_body else block


def _with_needed(blocks: Sequence[str], order: Sequence[int], entry: str, known: set[str] | None) -> str:
    """Return the block that counts, the first in an order, with the others that define what it lacks."""
    wanted = (lambda block: defines(block, entry), _DEFINITION.search, lambda block: True)
    chosen = next(at for rule in wanted for at in order if rule(blocks[at]))
    return "\n".join(blocks[at] for at in sorted(_needed(blocks, chosen, known)))


def _needed(blocks: Sequence[str], chosen: int, known: set[str] | None) -> set[int]:
    """Return the numbers of a block and of all others that it needs, by the names they define."""
    trees = [parse(block).tree for block in blocks] if known is not None else [None] * len(blocks)
    first = trees[chosen]
    pending = sorted(python_source.lacking_names(first)) if first is not None else []
    if first is None or not pending:
        return {chosen}
    giving: dict[str, int] = {}
    for at in (
        *reversed(range(chosen + 1, len(blocks))),
        *range(chosen),
    ):  # the nearest one before counts most
        tree = trees[at]
        giving.update(dict.fromkeys(python_source.given_names(tree) if tree is not None else (), at))
    kept, found = {chosen}, {*python_source.given_names(first), *(known or ())}
    while pending:
        name = pending.pop(0)
        tree = trees[giving.get(name, chosen)]
        if name not in found and name in giving and tree is not None:
            kept.add(giving[name])
            found |= python_source.given_names(tree)
            pending += sorted(python_source.lacking_names(tree) - found)
    return kept


# ---------------------------------------------------------------------- no fence


def _unfenced(text: str, entry: str, known: set[str] | None) -> str | None:
    parts = [part for _, part in python_source.python_parts(text) if _holds_code(part, entry)]
    broken = entry and re.search(rf"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry)}\b", text)
    if not parts:
        return _line_by_line(text, entry)
    if broken and not any(defines(part, entry) for part in parts):
        return _line_by_line(text[broken.start() :], entry)
    found = _without_words(_with_needed(parts, range(len(parts)), entry, known), known)
    return found.strip("\n") + "\n"


def _holds_code(part: str, entry: str) -> bool:
    tree = parse(part).tree
    return tree is not None and python_source.holds_code(tree, entry)


def _line_by_line(text: str, entry: str) -> str | None:
    """Return the lines that look like code, be they Python or not."""
    lines = textwrap.dedent(text).split("\n")
    starts = (at for at, line in enumerate(lines) if _STARTS.match(line) or defines(line, entry))
    start = next(starts, None)
    if start is None:
        return None
    above = start
    while above and (not lines[above - 1] or lines[above - 1][0] == "#" or _is_assignment(lines[above - 1])):
        above -= 1
        start = above if lines[above] else start
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
