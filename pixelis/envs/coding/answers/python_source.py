r"""Whether a text is Python, which names it gives and lacks, and where Python stands in a longer text.

Python's own parser decides; nothing is executed. Parsing what a model wrote must neither warn nor depend on
how warnings are set, so what the parser would warn of (``"\d"``) is replaced before, line by line.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 65_536
"""Of a text that is parsed; longer ones count as no Python. Four times what is read of a turn."""
BODY = "return outside a function"
"""The reason for a text that would be Python if it stood in a function."""
OPEN_STRING = "unterminated triple-quoted string"
_BUDGET = 12  # characters parsed for each character of a text in search of Python in it
_LEAST_BUDGET = 20_000
_ESCAPE = re.compile(r"\\(?:N\{[^}\n]*\}|[^\n])")
_TOUCHING = re.compile(r"\b([0-9]+)(if|else|or|and|in|is|for|not)\b")
_INCOMPLETE = ("expected an indented block", "was never closed", "unexpected EOF", OPEN_STRING)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_SCOPES = (*_DEFINITIONS, ast.Lambda)
_DYNAMIC = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "__builtins__", "builtins"})
_HEADER = re.compile(r"(?:async[ \t]+def|def|class)\b")


@dataclass(frozen=True)
class Parsed:
    """What the parser says of a text.

    Attributes:
        tree: its syntax tree; ``None`` where it is no program.
        line: where it stops to be one, from 1; 0 for a program.
        reason: why, in the parser's words.
    """

    tree: ast.Module | None
    line: int = 0
    reason: str = ""


def parse(source: str) -> Parsed:
    """Return a text's syntax tree, or where and why it is no program; a text may be anything."""
    if len(source) > MOST_CHARACTERS:
        return Parsed(None, 1, "too long")
    try:
        tree = ast.parse(_TOUCHING.sub(r"\1 \2", _ESCAPE.sub(_plain, source.removeprefix("\ufeff"))))
    except SyntaxError as error:
        return Parsed(None, error.lineno or 1, error.msg)
    except (ValueError, RecursionError, OverflowError, MemoryError) as error:
        return Parsed(None, 1, type(error).__name__)  # NUL, half surrogate pairs, too deep
    for node in _in_scope(tree):
        if isinstance(node, ast.Return):
            return Parsed(None, node.lineno, BODY)
    return Parsed(tree)


def parse_exactly(source: str) -> ast.Module:
    """Return the syntax tree of a text from a user's own file, with its texts as they are written.

    What the parser warns of is no fault here: warnings are off meanwhile, however they are set.

    Raises:
        SyntaxError, ValueError, RecursionError, OverflowError, MemoryError: as ``ast.parse`` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def parse_trusted(source: str) -> ast.Module | None:
    """Return what `parse_exactly` does, ``None`` where the text is no program."""
    try:
        return parse_exactly(source)
    except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
        return None


def completed(prefix: str) -> str:
    """Return code whose last function, class or block may still want a body, with one where it does."""
    if parse_trusted(prefix) is not None:
        return prefix
    lines = prefix.rstrip().split("\n")
    margin = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]  # tabs and other widths than four go on
    return "\n".join([*lines, f"{margin}    pass", ""])


def _plain(escape: re.Match[str]) -> str:
    """Replace an escape by as many letters; a brace stays, for it means something in an f-string."""
    text = escape[0]
    if len(text) > 2:
        return "x" * len(text)
    return "x" + ("x" if text[1] in "'\"\\" else text[1])


def given_names(tree: ast.Module) -> set[str]:
    """Return the names that a program gives a meaning to at its top level, in ``if`` and ``try`` as well."""
    return {name for node in _in_scope(tree) for name in _bound(node)}


def lacking_names(tree: ast.Module) -> set[str]:
    """Return the names that a program uses and nothing in it, no built-in either, gives a meaning to.

    Where names may come from elsewhere (``from m import *``, ``exec``) none is known to be lacking.
    """
    lacking, is_sure = _lacking(tree)
    return lacking if is_sure else set()


def _lacking(tree: ast.Module) -> tuple[set[str], bool]:
    used, bound = set(), set(dir(builtins))
    for node in ast.walk(tree):
        bound.update(_bound(node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
    return used - bound - {"__file__"}, "*" not in bound and not used & _DYNAMIC


def holds_code(tree: ast.Module, entry: str) -> bool:
    """Return whether a program defines or imports something, or gives ``entry`` a meaning."""
    return entry in given_names(tree) or any(isinstance(node, _DEFINITIONS + _IMPORTS) for node in tree.body)


def without_words(source: str, tree: ast.Module, known: set[str]) -> str:
    """Return a program without the top-level lines that can do nothing but raise NameError.

    Prose may happen to be Python: ``Done``, ``Time: O(n)``. A top-level expression, or an annotation without
    a value, that uses a name which is neither in the program nor ``known`` becomes an empty line.
    """
    lacking, is_sure = _lacking(tree)
    lacking -= known
    lines = source.split("\n")
    for at, node in enumerate(tree.body if lacking else ()):
        does_nothing = (
            isinstance(node.value, ast.Name)
            if isinstance(node, ast.Expr)
            else isinstance(node, ast.AnnAssign) and node.value is None
        )
        names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        is_word = does_nothing or (is_sure and isinstance(node, ast.Expr))
        if is_word and names & lacking and not _shares_a_line(tree.body, at):
            first, last = _span(node)
            lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines)


def python_parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield each part of a text that is a program: the number of its first line, from 0, and the part.

    A part is as many whole lines as Python's parser takes together, less the indentation they have in
    common. The search gives up in time: a hostile text costs a bounded number of parses.
    """
    lines = text.split("\n")
    budget = max(_LEAST_BUDGET, _BUDGET * len(text))
    at = 0
    while at < len(lines) and budget > 0:
        bare = lines[at].lstrip()
        budget -= len(bare)
        if not bare or not _begins(bare):
            at += 1
            continue
        margin = lines[at][: len(lines[at]) - len(bare)]
        block = _with_margin(lines, at, margin)
        count, cost = _program_lines(block, budget)
        budget -= cost
        if count:
            yield at, "\n".join(block[:count])
            at += count
        else:
            at += _header_lines(block)


def _begins(line: str) -> bool:
    """Return whether a program could begin with a line: one that is whole, or that goes on below it."""
    found = parse(line)
    return found.tree is not None or line[0] == "@" or any(sign in found.reason for sign in _INCOMPLETE)


def _with_margin(lines: list[str], at: int, margin: str) -> list[str]:
    """Return the lines from ``at`` on that begin with a margin, or are blank, without it."""
    block = []
    for line in lines[at:]:
        if line.strip() and not line.startswith(margin):
            break
        block.append(line[len(margin) :] if line.startswith(margin) else "")
    return block


def _program_lines(block: list[str], budget: int) -> tuple[int, int]:
    """Return how many lines from the first are a program, and how many characters were parsed to know it."""
    count, cost = len(block), 0
    while count and cost <= budget:
        source = "\n".join(block[:count])
        cost += len(source)
        found = parse(source)
        if found.tree is not None:
            break
        bad = min(max(found.line, 1), count) - 1
        while bad and "unindent" not in found.reason and block[bad][:1] in ("", " ", "\t", "\f"):
            bad -= 1  # what is wrong in a definition is wrong with the definition
        count = bad
    while count and not block[count - 1].strip():
        count -= 1
    return (count if cost <= budget else 0), cost


def _header_lines(block: list[str]) -> int:
    """Return how many lines to leave behind where no program begins: a broken definition goes as a whole."""
    if not _HEADER.match(block[0]):
        return 1
    body = 1
    while body < len(block) and block[body][:1] in ("", " ", "\t"):
        body += 1
    return body


def _in_scope(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a program that do not stand in a function, a class or a lambda; these themselves."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))


def _bound(node: ast.AST) -> tuple[str, ...]:
    """Return the names to which one node gives a meaning."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, _DEFINITIONS):
        return (node.name,)
    if isinstance(node, ast.alias):
        return ((node.asname or node.name).partition(".")[0],)
    if isinstance(node, ast.arg):
        return (node.arg,)
    if isinstance(node, ast.Global | ast.Nonlocal):
        return tuple(node.names)
    name = getattr(node, "rest", None) or getattr(node, "name", None)  # except, case, type parameters
    return (name,) if isinstance(name, str) else ()


def _span(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


def _shares_a_line(body: list[ast.stmt], at: int) -> bool:
    first, last = _span(body[at])
    before = at > 0 and _span(body[at - 1])[1] >= first
    return before or (at + 1 < len(body) and _span(body[at + 1])[0] <= last)
