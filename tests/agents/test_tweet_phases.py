"""No configuration pays a model for replies to tweets that another one has shown it with good replies."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from pixelis.agents.settings.files import read_settings_file, shipped_names
from pixelis.envs.tweet.data.near_duplicates import NEAR
from pixelis.envs.tweet.data.tweet_text import jaccard, shingles
from pixelis.errors import DatasetError

ROOT = Path(__file__).parents[2]
TWEETS = "Pixelis/TweetReply-v0"
CONFIGS = {name: read_settings_file(name, "--config") for name in shipped_names()}
PATHS = [
    name
    for name, values in CONFIGS.items()
    if values.get("env") == TWEETS and not name.startswith("lessons/")  # one phase; it says what was seen
]
SPLIT = re.compile(r"python scripts/split_data\.py (.*)")


def header(name: str) -> list[str]:
    """The commands in the comments that a configuration begins with."""
    lines = (ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    return [part.strip() for line in lines if line.startswith("#") for part in line[1:].split(";")]


def is_sft(name: str) -> bool:
    return any(f"train_sft.py --config {name}" in command for command in header(name))


@pytest.fixture
def split(tmp_path, monkeypatch):
    """A folder in which the splitting commands of all headers were run, as a person would."""
    monkeypatch.chdir(tmp_path)
    for words in {match[1] for name in PATHS for line in header(name) if (match := SPLIT.match(line))}:
        script = [sys.executable, str(ROOT / "scripts" / "split_data.py"), *shlex.split(words)]
        assert subprocess.run(script, capture_output=True, timeout=120).returncode == 0


def rows(name: str, part: str):
    source = gym.make(TWEETS, **CONFIGS[name].get("env_kwargs", {})).unwrapped.source
    tweets = source.files[part]
    return [tweets.read(part, index)[1] for index in range(tweets.count(part))]


def texts_and_authors(found):
    return {row.digest() for row in found}, {row.author.casefold() for row in found if row.author}


def test_there_are_configurations_of_both_kinds():
    assert len(PATHS) >= 14 and {is_sft(name) for name in PATHS} == {True, False}
    for name in PATHS:
        assert is_sft(name) != any(f"train_agent.py --config {name}" in one for one in header(name)), name


@pytest.mark.usefixtures("split")
def test_sft_grpo_and_evaluation_share_no_tweet_and_no_author(capsys):
    sft = [row for name in PATHS if is_sft(name) for row in rows(name, "train")]
    grpo = [row for name in PATHS if not is_sft(name) for row in rows(name, "train")]
    held_out = [row for name in PATHS for row in rows(name, "test")]
    for first, second in ((sft, grpo), (sft, held_out), (grpo, held_out)):
        for one, other in zip(texts_and_authors(first), texts_and_authors(second), strict=True):
            assert one and other and not one & other
    pieces = {row.tweet: shingles(row.tweet) for row in (*sft, *grpo)}
    for one in {row.tweet for row in sft}:
        assert all(jaccard(pieces[one], pieces[row.tweet]) < NEAR for row in grpo)


def test_a_header_names_the_command_that_makes_its_files():
    for name in PATHS:
        files = [v for v in CONFIGS[name].get("env_kwargs", {}).values() if str(v).endswith(".jsonl")]
        folders = {str(Path(value).parent) for value in files}
        made = {shlex.split(match[1])[1] for line in header(name) if (match := SPLIT.match(line))}
        assert folders and folders == made, name


def test_a_part_that_is_not_there_is_an_error_with_the_command_that_makes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"make it: python scripts/split_data\.py --output splits/seed$"):
        gym.make(TWEETS, data="splits/seed/sft.jsonl")
    with pytest.raises(DatasetError, match=r"correct the path$"):
        gym.make(TWEETS, data="mine.jsonl")
