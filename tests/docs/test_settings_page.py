"""The page of settings is what the models say; pages on trouble name metrics and settings that there are."""

from __future__ import annotations

import re
import shlex
from typing import get_args

import pytest
from doc_pages import Page
from test_architecture_picture import _loaded
from test_metrics_page import page_rows

from pixelis.agents.settings.alarms import AlarmName
from pixelis.agents.settings.base import Settings, leaves_of, setting
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.cli.launching.launch import LaunchSettings
from pixelis.cli.train import COMMAND as TRAIN

FAQ, FAILED, SETTINGS = Page("guide/faq.md"), Page("guide/why_failed.md"), Page("reference/settings.md")
BESIDE = {("resume",), ("config",), ("dry_run",), ("agent",), ("help", "SECTION"), ("help", "more")}
"""Flags that are no settings of a training, and the one of `pixelis evaluate`."""


class Small(Settings):
    """What the table by hand is of."""

    share: float | None = setting(None, "a share | of <all>", ge=0, le=1, identity=False)
    names: list[str] = setting([], "names")


@pytest.fixture(scope="module")
def settings_docs():
    return _loaded("scripts/settings_docs.py")


def test_the_page_is_up_to_date(settings_docs):
    assert SETTINGS.text == settings_docs.page(), "run: python scripts/settings_docs.py"


def test_every_setting_of_a_training_is_on_it(settings_docs):
    named = set(re.findall(r"^\| `([\w.]+)` \|", SETTINGS.text, re.MULTILINE))
    for kind, *_ in settings_docs.TRAININGS:
        paths = {".".join(path).replace("stages.", "stages.NAME.") for path, _ in leaves_of(kind)}
        assert not {path for path in paths if not path.endswith("type")} - named


def test_the_other_commands_have_theirs(settings_docs):
    words = [word for word, _ in settings_docs.command_settings()]
    assert {"launch", "evaluate", "compare", "replay", "monitor", "export"} <= set(words)
    assert not {"train", "sft", "expert"} & set(words)


def test_a_table_by_hand(settings_docs):
    table = settings_docs.table(Small.model_fields, ("a",), resumes=True).splitlines()
    assert table == [
        "| setting | takes | default | resume | what it is |",
        "|---|---|---|---|---|",
        r"| `a.share` | a finite number from 0 to 1 or null | `null` | free | a share \| of \<all> |",
        "| `a.names` | a list, each item of it text | – | same | names |",
    ]


def code_in(page: Page) -> list[str]:
    return re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```", "", page.text))


@pytest.mark.parametrize("page", [FAQ, FAILED], ids=lambda page: page.name)
def test_its_metrics_are_metrics(page: Page):
    rows, beside = page_rows(), ("system/device_memory", "system/device_memory_most")
    named = {word for word in code_in(page) if re.fullmatch(r"[a-z]+/[\w<>/]+", word)} - {"runs/first"}
    unknown = [name for name in named if not any(row.pattern.fullmatch(name) for row in rows)]
    assert len(named) > 20 and not set(unknown) - {*beside}


@pytest.mark.parametrize("page", [FAQ, FAILED], ids=lambda page: page.name)
def test_its_settings_are_settings(page: Page):
    paths = {path for kind in (TrainConfig, SftConfig, LaunchSettings) for path, _ in leaves_of(kind)}
    flags = {word for word in code_in(page) if word.startswith("--")}
    assert len(flags) > 15
    for flag in flags:
        name, *values = shlex.split(flag)
        path = (name[2:].partition(".")[0].replace("-", "_"), *name.split(".")[1:])
        open_ended = path[0] in ("rewards", "env_kwargs", "watch") or path in BESIDE
        assert path in paths or open_ended, flag
        if values and path in {path for path, _ in leaves_of(TrainConfig)} | {("rewards", "penalty")}:
            TRAIN.read([name, *values])


def test_every_alarm_is_explained():
    assert not [name for name in get_args(AlarmName) if f'"{name}"' not in FAQ.text]


def test_every_trouble_of_learning_has_its_metric_and_its_setting():
    learning = FAQ.text.partition("## Learning\n")[2].partition("## The machine\n")[0]
    troubles = learning.split("\n### ")[1:]
    assert len(troubles) >= 10
    assert not [text.splitlines()[0] for text in troubles if "**Metric:**" not in text]
    assert not [text.splitlines()[0] for text in troubles if "**Setting:**" not in text]


def test_the_command_of_the_page_is_accepted():
    ((_, word, *words),) = FAQ.commands()
    config, _ = TRAIN.read(words)
    assert word == "scripts/train_agent.py" and config.model.endswith("step-00000040") and config.lr == 0.0003
