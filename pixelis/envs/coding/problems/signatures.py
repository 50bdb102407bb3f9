"""The parameters of a function that somebody else wrote, for the line that a solution starts with."""

from __future__ import annotations

import ast
from keyword import iskeyword

from pixelis.envs.coding.answers.python_source import parse_trusted
from pixelis.envs.coding.problems.problem import TestCase

MOST_CHARACTERS = 60
"""Of a default value; a longer one is shown as ``...``, as type stubs do."""
Parameters = tuple[tuple[str, str], ...]


def signature_of(source: str, entry: str) -> tuple[Parameters, str] | None:
    """Return the parameters of the last function called ``entry`` in a source, and its return type.

    A parameter is its name and what follows the colon, as `Problem.parameters` has them; a default belongs to
    whichever comes last, ``*`` and ``/`` are names of their own. None where there is no such function.
    """
    found: ast.arguments | None = None
    returns: ast.expr | None = None
    tree = parse_trusted(source)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == entry:
            found, returns = node.args, node.returns
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found, returns = (node.value.args, None) if entry in names else (found, returns)
    return None if found is None else (_parameters(found), ast.unparse(returns) if returns else "")


def called_with(cases: tuple[TestCase, ...]) -> Parameters:
    """Return parameters that take the calls of all test cases, for want of a function that names them."""
    most, least = (function((len(case.args) for case in cases), default=0) for function in (max, min))
    names = dict.fromkeys(name for case in cases for name in case.kwargs)
    stem = "argument"
    while any(name.startswith(stem) for name in names):
        stem = f"_{stem}"
    numbered = tuple((f"{stem}_{at + 1}" + ("=None" if at >= least else ""), "") for at in range(most))
    if any(iskeyword(name) or not name.isidentifier() for name in names):  # only ``**`` takes such a name
        return *numbered, (f"**{stem}s", "")
    needed = {name for name in names if all(name in case.kwargs for case in cases)}
    named = tuple((name if name in needed else f"{name}=None", "") for name in names)
    return numbered + ((("*", ""), *named) if named else ())


def _parameters(arguments: ast.arguments) -> Parameters:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    written = [_parameter(one, default) for one, default in zip(positional, defaults, strict=True)]
    if arguments.posonlyargs:
        written.insert(len(arguments.posonlyargs), ("/", ""))
    if arguments.vararg:
        written.append(_parameter(arguments.vararg, None, "*"))
    elif arguments.kwonlyargs:
        written.append(("*", ""))
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        written.append(_parameter(one, default))
    if arguments.kwarg:
        written.append(_parameter(arguments.kwarg, None, "**"))
    return tuple(written)


def _parameter(one: ast.arg, default: ast.expr | None, stars: str = "") -> tuple[str, str]:
    name, kind = f"{stars}{one.arg}", ast.unparse(one.annotation) if one.annotation else ""
    if default is None:
        return name, kind
    value = ast.unparse(default)
    value = value if len(value) <= MOST_CHARACTERS else "..."
    return (name, f"{kind} = {value}") if kind else (f"{name}={value}", "")
