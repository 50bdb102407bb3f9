"""``pixelis new env NAME``: write a package of one's own, complete and tested, to be changed from there.

    pixelis new env stock_room            # an environment with a tool; --image shows a picture as well
    pixelis new tool word_count           # a tool for environments
    pixelis new reward brevity            # a reward term
    pixelis new loss leash                # a surrogate loss

Each is a folder with ``pyproject.toml``, ``README.md``, the module and its tests, which pass as they are.
"""

from __future__ import annotations

import argparse
import keyword
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from pixelis.cli import run_command
from pixelis.errors import ConfigError, OutputError, shown

KINDS: Mapping[str, str] = {
    "env": "An environment for language models, with a tool.",
    "tool": "A tool for environments of language models.",
    "reward": "A reward term.",
    "loss": "A surrogate loss of GRPO.",
}
LONGEST_NAME = 40


def write_package(kind: str, name: str, into: Path, *, image: bool = False) -> list[Path]:
    """Write a package; return its files.

    Args:
        kind: one of `KINDS`.
        name: of the package, which is also that of what is in it: a Python name in lower case.
        into: the folder in which the package's folder is made.
        image: of an environment: whether it shows a picture.

    Raises:
        ConfigError: the name is none, or that of a module that can be imported; an image, and no environment.
        OutputError: there is something already, or it cannot be written.
    """
    folder = into / name
    if folder.exists():
        raise OutputError(f"{folder} exists already; choose another name, or remove it")
    _check_name(name)
    if image and kind != "env":
        raise ConfigError(f"only an environment shows pictures, got --image with {kind}; leave it out")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    given = {"kind": kind, "name": name, "Name": class_name, "id": f"{class_name}-v0", "image": image}
    given["summary"] = KINDS[kind]
    templates = files("pixelis.cli.scaffold") / "templates"
    own = templates / kind
    texts = {
        "pyproject.toml": _filled(templates / "pyproject.toml.j2", given),
        "README.md": _filled(own / "README.md.j2", given),
        f"{name}/__init__.py": f'"""{given["summary"]}"""\n',
        f"{name}/module.py": _filled(own / "module.py.j2", given),
        f"tests/test_{name}.py": _filled(own / "test.py.j2", given),
    }
    unfinished = folder.with_name(f".{name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        for place, text in texts.items():
            path = unfinished / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        unfinished.rename(folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
    return [folder / place for place in texts]


def _check_name(name: str) -> None:
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or len(name) > LONGEST_NAME:
        raise ConfigError(
            f"a name must be lower-case letters, digits and _, and no word of Python's, got {shown(name, 60)}"
            "; for example stock_room"
        )
    found = find_spec(name)
    if found is not None and found.origin is not None:  # without one it is a folder of that name, no package
        raise ConfigError(
            f"there is a module {name} already, which the package would hide; name it otherwise"
        )


def _filled(template: Any, given: Mapping[str, Any]) -> str:
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    return environment.from_string(template.read_text(encoding="utf-8")).render(given)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    return run_command(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="pixelis new", description="Write a package of your own, complete and tested."
    )
    parser.add_argument("kind", choices=tuple(KINDS), help="what it is")
    parser.add_argument("name", help="of the package, for example stock_room")
    parser.add_argument("--image", action="store_true", help="of an environment: it shows a picture")
    parser.add_argument("--into", type=Path, default=Path(), help="folder to write it in (default: here)")
    options = parser.parse_args(arguments)
    written = write_package(options.kind, options.name, options.into, image=options.image)
    for path in written:
        print(path)
    print(f"next: pip install -e {options.into / options.name} && pytest {options.into / options.name}")
    return 0
