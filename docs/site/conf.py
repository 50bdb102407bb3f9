"""How Sphinx makes a site of the pages: `make site` writes build/site, and reads nothing from the network.

The pages stay what GitHub shows. What the site adds is made here while it is built: which files are pages
(those that docs/ holds and what they link to), the sidebar (the order of links in docs/index.md), and the
reference of the public names (scripts/public_names.py has their list).
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import public_names  # noqa: E402

import pixelis  # noqa: E402

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

FRONT = "docs/index.md"
API = ROOT / "build" / "api"
"""Where the reference is written, a page for each public package; `make clean` removes it."""
DOORS = (*public_names.DOORS, "pixelis.errors")
PUBLIC = {door: public_names.names(door) for door in DOORS}
ELSEWHERE = {door: public_names.read(door) for door in public_names.ELSEWHERE}
"""Packages whose names are told by their source, as what they import is not here."""
_CODE = re.compile(r"(``[^`]+``)|`([^`]+)`")
_LINK = re.compile(r"\]\(([^()\s]+\.md)(?:#[^()\s]*)?\)")


# ---------------------------------------------------------------------- which pages there are


def links(page: str) -> list[str]:
    """Return the pages that a page links to, in order, as paths from the root."""
    text = re.sub(
        r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    found = [target for target in _LINK.findall(text) if "://" not in target]
    return [os.path.normpath(os.path.join(os.path.dirname(page), target)) for target in found]


def reached(front: str) -> list[str]:
    """Return a page and all that a reader comes to from it."""
    found: dict[str, None] = {}
    waiting = [front]
    while waiting:
        page = waiting.pop(0)
        if page not in found:
            found[page] = None
            waiting += links(page)
    return [*found]


def sidebar(pages: list[str]) -> dict[str, list[str]]:
    """Return the pages by the headings of the front page (of its table: by the rows), in its order.

    Those that it does not link to stand below the page's folder they are in, or else under ``More``.
    """
    parts: dict[str, list[str]] = {}
    placed = {FRONT}
    heading = ""
    for line in (ROOT / FRONT).read_text(encoding="utf-8").splitlines():
        heading = line[3:] if line.startswith("## ") else heading
        row = re.match(r"\| ([^|`]+) \| .*\]\(", line)
        title = f"{heading}: {row.group(1)}" if row else heading
        for target in _LINK.findall(line):
            page = os.path.normpath(os.path.join(os.path.dirname(FRONT), target))
            if page not in placed:
                placed.add(page)
                parts.setdefault(title, []).append(page)
    for page in sorted(set(pages) - placed):
        folder = os.path.dirname(page)
        same = [title for title, held in parts.items() if folder in map(os.path.dirname, held)]
        parts.setdefault(same[0] if same and folder.startswith("docs/") else "More", []).append(page)
    return parts


def toctrees() -> Iterator[str]:
    """Yield the sidebar as toctrees, the reference of the names below the pages of reference."""
    for title, pages in sidebar(PAGES).items():
        names = [f"/{page.removesuffix('.md')}" for page in pages]
        yield toctree(title, names)
        if title == "Reference":
            doors = [f"/{(API / door).relative_to(ROOT).as_posix()}" for door in (*DOORS, *ELSEWHERE)]
            yield toctree("Python", doors)


def toctree(caption: str, names: list[str]) -> str:
    """Return a toctree that only the sidebar shows."""
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```", ""])


PAGES = reached(FRONT)


# ---------------------------------------------------------------------- the reference of the names


def write_reference(_: Sphinx) -> None:
    """Write the pages of the public packages."""
    HOMES.update(homes())
    API.mkdir(parents=True, exist_ok=True)
    shown: dict[int, str] = {}
    pages = {door: reference(door, shown) for door in DOORS}
    pages |= {door: reference_by_source(door) for door in ELSEWHERE}
    for door, lines in pages.items():
        path, text = API / f"{door}.md", "\n".join(lines)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def reference(door: str, shown: dict[int, str]) -> Iterator[str]:
    """Yield the lines of a public package's page: each name with its signature and its docstring.

    Args:
        door: the package.
        shown: identity of what stands on the pages so far → its name there; is added to.
    """
    module = importlib.import_module(door)
    yield f"# {door}\n\n```{{eval-rst}}"
    yield f".. py:module:: {door}\n"
    yield f"{inspect.getdoc(module)}\n"
    for name in PUBLIC[door]:
        value = getattr(module, name)
        first = shown.setdefault(id(value), f"{door}.{name}")
        if inspect.isclass(value) and first != f"{door}.{name}":
            yield f".. py:class:: {name}\n   :noindexentry:\n\n   The same as `{first}`.\n"
        elif inspect.isclass(value):
            kind = "exception" if issubclass(value, BaseException) else "class"
            yield f".. auto{kind}:: {door}.{name}\n   :members:\n"
        elif inspect.isroutine(value):
            yield f".. autofunction:: {door}.{name}\n"
        else:
            yield f".. py:data:: {name}\n\n   {public_names.summary(value, door, name)}\n"
    yield "```\n"


def reference_by_source(door: str) -> Iterator[str]:
    """Yield the lines of the page of a package that cannot be imported: each name with its first line."""
    about, told = ELSEWHERE[door]
    yield f"# {door}\n\n```{{eval-rst}}"
    yield f".. py:module:: {door}\n"
    yield f"{about}\n"
    for name, line in told.items():
        yield f".. py:{'class' if name[0].isupper() else 'function'}:: {name}\n\n   {line}\n"
    yield "```\n"


def as_rst(lines: list[str]) -> list[str]:
    """Return the lines of a docstring with the Markdown that environments' have in it as Sphinx reads it."""
    found: list[str] = []
    for line in lines:
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if line.startswith("## "):
            found += [f".. rubric:: {line[3:]}", ""]
        elif line.startswith("|") and not set(line) <= set("|-"):
            begins = not (found and found[-1].startswith("     -"))
            found += ["", ".. list-table::", "   :header-rows: 1", ""] if begins else []
            found += [f"   {'*' if at == 0 else ' '} - {cell}" for at, cell in enumerate(cells)]
        elif not line.startswith("|"):
            found.append(line)
    return [_CODE.sub(lambda match: match[1] or f"``{match[2]}``", line) for line in found]


def with_literals(lines: list[str]) -> list[str]:
    """Return the lines of a docstring with its indented formulas and examples as blocks of their own."""
    found: list[str] = []
    above = ""
    for at, line in enumerate(lines):
        apart = line.startswith("    ") and at > 0 and not lines[at - 1].strip()
        if apart and above and not above.startswith((" ", "*", "-")) and not above.endswith("::"):
            found += ["::", ""]
        above = line if line.strip() else above
        found.append(line)
    return found


def change_docstring(*given: Any) -> None:
    """Make a docstring what Sphinx reads, in place: the last of what it hands over."""
    lines: list[str] = given[-1]
    lines[:] = with_literals(lines)
    if any(line.startswith(("## ", "|---")) for line in lines):
        lines[:] = as_rst(lines)


def with_links(text: str) -> str:
    """Return the page of public names with a link at each name."""
    door = ""
    lines = []
    for line in text.splitlines():
        door = line[3:] if line.startswith("## ") else door
        lines.append(re.sub(r"^\| `(\w+)` \|", rf"| {{py:obj}}`\1 <{door}.\1>` |", line))
    return "\n".join(lines) + "\n"


def without_folders(text: str, folder: Path) -> str:
    """Return a page without its links to folders, which GitHub shows and a site has no page for."""

    def plain(match: re.Match[str]) -> str:
        return match[1] if "://" not in match[2] and (folder / match[2]).is_dir() else match[0]

    return re.sub(r"\[([^\]]+)\]\(([^()\s#]+)\)", plain, text)


def change_source(_: Sphinx, docname: str, content: list[str]) -> None:
    """Add to pages what only the site has, and take out what it has not."""
    content[0] = without_folders(content[0], (ROOT / docname).parent)
    if f"{docname}.md" == FRONT:
        content[0] += "".join(toctrees())
    elif docname == "docs/reference/public_names":
        content[0] = with_links(content[0])


def homes() -> dict[str, str]:
    """Return the public name of what docstrings and signatures name by where it is defined, or in short."""
    found: dict[str, str] = {}
    for door, names in PUBLIC.items():
        module = importlib.import_module(door)
        for name in names:
            value = getattr(module, name)
            found.setdefault(f"{getattr(value, '__module__', door)}.{name}", f"{door}.{name}")
            if name[0].isupper():
                found.setdefault(name, f"{door}.{name}")
    return found


HOMES: dict[str, str] = {}
"""See `homes`; filled when a build begins, as it imports everything."""


def find_public(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, inner: nodes.TextElement
) -> nodes.Element | None:
    """Return the link for a name that is public under another path than the one that is written."""
    target = str(node.get("reftarget", ""))
    public = HOMES.get(target)
    if node.get("refdomain") != "py" or public is None or public == target:
        return None
    domain: Any = env.domains["py"]
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, inner)


def setup(app: Sphinx) -> None:
    """Tell Sphinx what is made here."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", change_source)
    app.connect("autodoc-process-docstring", change_docstring, priority=400)  # before napoleon
    app.connect("missing-reference", find_public)


# ---------------------------------------------------------------------- Sphinx

project = "Pixelis"
author = "the authors of Pixelis"
project_copyright = author
version = release = pixelis.__version__
root_doc = FRONT.removesuffix(".md")
source_suffix = {".md": "markdown"}
include_patterns = [*PAGES, "build/api/*.md"]
exclude_patterns = [
    ".*",
    *{entry.name for entry in ROOT.iterdir() if entry.is_dir()}
    - {"build", *(page.partition("/")[0] for page in PAGES)},
    *("build/site", "build/doctrees", "build/lib"),
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "py:obj"  # docstrings write `Name` in single backticks
highlight_language = "none"
smartquotes = False  # it would make one dash of the two of a flag
nitpicky = False

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"Pixelis {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_additional_pages = {"index": "redirect.html"}
html_copy_source = False
html_show_sphinx = False
