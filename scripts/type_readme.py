"""Do what README.md shows with an installed Pixelis, in the current folder: its Python and its commands.

Usage: python scripts/type_readme.py README.md

Budgets are made short, and places that the reader fills in (a run's name, a model) are filled in.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

RUN = "runs/zoomread-pixelis-tiny-seed0"  # what the first `pixelis train` makes
TRAIN = "--steps 1 --groups 1 --group-size 2 --max-new-tokens 4 --eval-episodes 2"
SHORT = {
    "play": "",
    "train": TRAIN,
    "launch": TRAIN,
    "evaluate": "--episodes 2 --max-new-tokens 4",
    "compare": "--episodes 2 --max-new-tokens 4",
    "replay": "--episodes 1",
    "export": "",
    "sft": "--steps 1 --demonstrations 2 --batch-size 2 --max-new-tokens 4 --eval-episodes 2",
}
FILLED_IN = {"runs/NAME": RUN, "path/or/hub-id": "pixelis-tiny", "…": "--env Pixelis/SizeCompare-v0"}
IN_PYTHON = {'"smollm2"': '"pixelis-tiny"', "steps=50": "steps=1, groups=1, group_size=2, eval_episodes=2"}


def commands(text: str) -> list[list[str]]:
    """Return the words of each line of a code block that begins with ``pixelis``."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "\n".join(block for language, block in blocks if not language).splitlines()
    lines = [line for line in lines if line.startswith("pixelis ")]
    found = []
    for line in lines:
        for shown, meant in FILLED_IN.items():
            line = line.replace(shown, meant)
        words = shlex.split(line, comments=True)
        found.append([*words, *shlex.split(SHORT[words[1]])])
    return found


def programs(text: str) -> list[str]:
    """Return the Python blocks."""
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for shown, meant in IN_PYTHON.items():
        blocks = [block.replace(shown, meant) for block in blocks]
    return blocks


def main() -> int:
    """Do all of it; stop at the first that fails."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    command = str(Path(sysconfig.get_path("scripts")) / "pixelis")
    steps = [(block, [sys.executable, "-c", block]) for block in programs(text)]
    steps += [(shlex.join(words), [command, *words[1:]]) for words in commands(text)]
    if not commands(text) or not programs(text):
        sys.exit(f"{sys.argv[1]} shows nothing to do")
    for shown, words in steps:
        print(f"-- {shown.strip()}", flush=True)
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
        if done.returncode:
            sys.exit(f"exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    print(f"{len(steps)} blocks and commands of {sys.argv[1]} work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
