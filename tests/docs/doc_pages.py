"""Reading a page of the documentation, and running what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from warm_python import warm_python

ROOT = Path(__file__).parents[2]
SCRIPTS = {
    "analyse-lora": "analyse_lora",
    "evaluate": "evaluate_agent",
    "expert": "expert_iteration",
    "export": "export_model",
    "replay": "replay",
    "sft": "train_sft",
    "split-data": "split_data",
    "train": "train_agent",
    "verify": "verify_solutions",
}
"""What a word of ``pixelis`` is called in a checkout, where tests run it."""


@dataclass(frozen=True)
class Page:
    """A page in ``docs/``."""

    name: str

    @property
    def text(self) -> str:
        return (ROOT / "docs" / self.name).read_text(encoding="utf-8")

    def all_blocks(self) -> list[tuple[str, str]]:
        """Return the language and the text of every block of code."""
        return re.findall(r"^```(\w+)\n(.*?)^```", self.text, re.DOTALL | re.MULTILINE)

    def blocks(self, language: str) -> list[str]:
        return [text for other, text in self.all_blocks() if other == language]

    def commands(self) -> list[list[str]]:
        """Return the words of every line of the bash blocks; ``pixelis WORD`` as ``python scripts/….py``."""
        lines = [shlex.split(line) for block in self.blocks("bash") for line in block.splitlines()]
        return [as_script(words) for words in lines]

    def write_modules(self, folder: Path, first: str) -> Path:
        """Write the Python blocks to the files that they name in their first lines, or to ``first``."""
        parts: dict[str, list[str]] = {}
        for block in self.blocks("python"):
            name = re.match(r"# (\w+\.py)\n", block)
            parts.setdefault(name.group(1) if name else first, []).append(block)
        for name, texts in parts.items():
            (folder / name).write_text("\n\n".join(texts), encoding="utf-8")
        return folder


def as_script(words: list[str]) -> list[str]:
    """Return a command of ``pixelis`` as that of the script which does the same; others as they are."""
    if words[:1] != ["pixelis"] or words[1] not in SCRIPTS:
        return words
    return ["python", f"scripts/{SCRIPTS[words[1]]}.py", *words[2:]]


def run(folder: Path, words: list[str]) -> str:
    """Run a command in a folder whose modules and Pixelis can be imported; return what it prints.

    Scripts and code begin with the libraries imported, modules afresh.
    """
    path = f"{folder}{os.pathsep}{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    if "-m" not in words:
        at = words.index("error") + 1 if words[1] == "-W" else 1
        started = [str(folder / words[at]) if words[at].endswith(".py") else words[at], *words[at + 1 :]]
        code, out, err = warm_python().run([*words[1:at], *started], folder, environment, typed="")
        assert code == 0, out + err
        return out
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
