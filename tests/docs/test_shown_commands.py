"""Every command of Pixelis that a page shows has a script or a word, and flags that are accepted."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from test_architecture_picture import _loaded

from pixelis.agents.settings.files import SHIPPED
from pixelis.cli.arguments import Arguments
from pixelis.cli.expert import COMMAND as EXPERT
from pixelis.cli.main import COMMANDS
from pixelis.cli.sft import COMMAND as SFT
from pixelis.cli.train import COMMAND as TRAIN

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TRAININGS: dict[str, Any] = {"train": TRAIN, "sft": SFT, "expert": EXPERT}
STARTED = re.compile(
    r"^(?:\S+=\S+ )*(?:time )?((?:\.venv/bin/)?pixelis|.* -m pixelis|python scripts/\w+\.py) (.*)"
)


def commands(text: str) -> list[list[str]]:
    """Return the words of every command of Pixelis in a page's blocks, which begin with ``pixelis``."""
    found = []
    for block in re.findall(r"^```(?:bash)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            started = STARTED.search(line)
            if started is None or "…" in line or "..." in line:
                continue
            words = shlex.split(started.group(2), comments=True)
            script = re.search(r"scripts/(\w+\.py)", started.group(1))
            found.append([word_of(script.group(1)), *words] if script else words)
    return found


def word_of(script: str) -> str:
    """Return the word that a script is another name of; its own name where there is none."""
    text = (ROOT / "scripts" / script).read_text(encoding="utf-8")
    words = [
        word
        for word, command in COMMANDS.items()
        if re.search(rf"from {re.escape(command.module)} import", text)
    ]
    return words[0] if words else script


def check(word: str, words: list[str], kinds: dict[str, Any]) -> None:
    """Read the flags of a command as it does; what a run or a file of the reader's would say is left out."""
    while words and not words[0].startswith("--"):
        words = words[1:]
    kept: list[str] = []
    skipped = False
    for at, each in enumerate(words):
        value = words[at + 1] if at + 1 < len(words) else ""
        mine = each == "--config" and not any(
            (folder / f"{value.removesuffix('.yaml')}.yaml").is_file() for folder in (SHIPPED, ROOT)
        )
        if skipped or each == "--dry-run":
            skipped = False
        elif each == "--resume" or mine:
            skipped = not value.startswith("--")
        else:
            kept.append(each)
    if word in TRAININGS:
        TRAININGS[word].read(kept)
    elif word in kinds and word != "launch":  # it passes what it does not know on to the training
        Arguments("command", "", kinds[word]).read(kept)


@pytest.fixture(scope="module")
def kinds():
    return dict(_loaded("scripts/settings_docs.py").command_settings())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_are_accepted(path: Path, kinds, monkeypatch):
    monkeypatch.chdir(ROOT)
    for word, *words in commands(path.read_text(encoding="utf-8")):
        if word.endswith(".py") or word.startswith("--"):
            continue
        assert word in COMMANDS, word
        check(word, words, kinds)


def test_many_commands_are_found_and_a_wrong_one_is_told(kinds):
    found = [command for path in PAGES for command in commands(path.read_text(encoding="utf-8"))]
    assert len(found) > 45 and {"train", "sft", "evaluate", "replay", "monitor"} <= {
        word for word, *_ in found
    }
    ((word, *words),) = commands("```\npixelis evaluate --agnet oracle  # a comment\n```\n")
    with pytest.raises(Exception, match="agnet"):
        check(word, words, kinds)
    assert commands("```bash\npython scripts/train_agent.py --lr 0.1 \\\n  --seed 1\n```\n") == [
        ["train", "--lr", "0.1", "--seed", "1"]
    ]
