"""Write docs/reference/settings.md: every setting of every command, from the models that check them.

Usage: python scripts/settings_docs.py [--check]

With --check nothing is written; the exit status is 1 when the page is out of date.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pixelis.agents.sb3.config import Sb3Config
from pixelis.agents.settings.base import Section, Settings, kinds_of, note_of, tags_of, wanted
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.run_settings import AnyRunSettings, RolloutRunSettings, RunSettings
from pixelis.agents.settings.sft import SftConfig, SupervisedConfig
from pixelis.agents.settings.vote import VoteSettings
from pixelis.agents.settings.workers import PlayedSettings
from pixelis.cli.main import COMMANDS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
TRAININGS: tuple[tuple[type[Section], str, str], ...] = (
    (AnyRunSettings, "Every training", "`pixelis train`, `sft` and `expert`, whatever is trained."),
    (RunSettings, "A language model", "All of these but `--agent sb3-…`."),
    (RolloutRunSettings, "Playing", "GRPO, PPO and expert iteration learn from episodes of their own."),
    (PlayedSettings, "Workers", "GRPO and PPO: [who plays the episodes](../guide/scaling.md)."),
    (TrainConfig, "GRPO and PPO", "`pixelis train`, `pixelis.agents.TrainConfig`."),
    (SupervisedConfig, "Learning from demonstrations", "`pixelis sft` and `expert`."),
    (SftConfig, "SFT", "`pixelis sft`, `pixelis.agents.SftConfig`: [demonstrations first](../guide/sft.md)."),
    (ExpertConfig, "Expert iteration", "`pixelis expert`, `pixelis.agents.ExpertConfig`."),
    (Sb3Config, "stable-baselines3", "`pixelis train --agent sb3-…`: [without language](../guide/sb3.md)."),
)
"""Who has settings → the heading and what is said below it."""
TRAINING_WORDS = ("train", "sft", "expert")
HEAD = """\
# Settings

<!-- Written by scripts/settings_docs.py; edit the field in the code instead. -->

A setting is a field of the model that checks it, a key of a YAML file and a flag: `lr` is `--lr`,
`max_new_tokens` is `--max-new-tokens`, and `epsilon_low` of `loss.surrogate` is
`--loss.surrogate.epsilon_low`. What a flag says wins over what `--config` says. A section with alternatives
is chosen by its `type`, whose name alone is short for it (`--levels plr`), and has the settings of that
alternative only. No value is written `null`. What is wrong is told in one message before anything begins,
with what would be right.

*same*: it decides a run's numbers, so the run can only be resumed with the value that it began with;
*free*: it may be another then. `pixelis train --help` has the settings that are used first,
`--help.SECTION` those of a section, `--help.more` the rest.
"""


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for kind, title, text in TRAININGS:
        own = {
            name: kind.model_fields[name]
            for name in inspect.get_annotations(kind)
            if name in kind.model_fields
        }
        parts.append(f"## {title}\n\n{text}\n\n{table(own, (), resumes=True)}")
        parts += [part for name, field in own.items() for part in sections(field, (name,))]
        if kind is TrainConfig:
            parts.append(
                "### `rewards.vote`\n\n[Training without labels](../guide/without_labels.md).\n\n"
                + table(VoteSettings.model_fields, ("rewards", "vote"), resumes=False)
            )
    others = dict(command_settings())
    rest = ", ".join(f"`{word}`" for word in COMMANDS if word not in (*others, *TRAINING_WORDS))
    parts.append(f"## Other commands\n\nThose without settings tell their flags by `--help`: {rest}.\n")
    for word, kind in others.items():
        parts.append(
            f"### pixelis {word}\n\n{COMMANDS[word].summary}\n\n{table(kind.model_fields, (), resumes=False)}"
        )
    return "\n".join(parts)


def command_settings() -> Iterator[tuple[str, type[Settings]]]:
    """Yield the words that are no training with the class of their settings, where they have one."""
    trainings = {kind for kind, *_ in TRAININGS}
    for word, command in COMMANDS.items():
        module = importlib.import_module(command.module)
        found = [
            value
            for name, value in vars(module).items()
            if inspect.isclass(value) and issubclass(value, Settings) and not name.startswith("_")
            if value.__module__ == module.__name__ and value not in trainings
        ]
        if found and word not in TRAINING_WORDS:
            yield word, found[-1]


def sections(field: FieldInfo, path: tuple[str, ...]) -> Iterator[str]:
    """Yield a part for each section that a setting may hold, and then for those inside it."""
    kinds = kinds_of(field.annotation)
    entry = (*path, "NAME") if get_origin(field.annotation) is dict else path
    for kind in kinds:
        tags = ", ".join(f"`{tag}`" for tag in tags_of(kind))
        title = f"`{'.'.join(entry)}`" + (f" with type {tags}" if tags else "")
        told = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
        plain = {name: each for name, each in kind.model_fields.items() if name != "type"}
        rows = table(plain, entry, resumes=True) if plain else ""
        yield f"### {title}\n\n{told}\n" + (f"\n{rows}" if rows else "")
    seen: set[str] = set()
    for kind in kinds:
        for name, inner in kind.model_fields.items():
            if name not in seen and name != "type":
                seen.add(name)
                yield from sections(inner, (*entry, name))


def table(fields: dict[str, FieldInfo], path: tuple[str, ...], *, resumes: bool) -> str:
    """Return settings as a table, a row each."""
    last, line = (" resume |", "---|") if resumes else ("", "")
    rows = [f"| setting | takes | default |{last} what it is |", f"|---|---|---|{line}---|"]
    for name, field in fields.items():
        resume = f" {'same' if note_of(field, 'identity') else 'free'} |" if resumes else ""
        told = _cell(field.description or "")
        rows.append(
            f"| `{'.'.join((*path, name))}` | {_cell(takes(field))} | {default(field)} |{resume} {told} |"
        )
    return "\n".join(rows) + "\n"


def takes(field: FieldInfo) -> str:
    """Return the type and the range of a setting in words, as messages tell them."""
    return wanted(field)


def default(field: FieldInfo) -> str:
    """Return what a setting is where none is given."""
    value: Any = field.get_default(call_default_factory=True)
    if value is PydanticUndefined or value is ...:
        return "must be given"
    if isinstance(value, Section):
        kind = getattr(value, "type", None)
        return f"`{kind}`" if kind else "see below"
    if value is None or isinstance(value, bool):
        return f"`{'null' if value is None else str(value).lower()}`"
    return f"`{value}`" if value not in ({}, [], "") else "–"


def _cell(text: str) -> str:
    """Return text as it can stand in a table: what a Markdown reader would take for markup is code."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def main() -> int:
    """Write the page, or with ``--check`` compare it; return an exit code."""
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
            return 0
        print(f"out of date: {PAGE.name}; run: python scripts/settings_docs.py")
        return 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
