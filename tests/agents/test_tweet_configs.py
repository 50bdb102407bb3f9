"""Every configuration in ``configs/tweet/`` is accepted by its command, and trains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_models import build

from pixelis.agents.playing.term_rewards import build_rewards
from pixelis.agents.runs.metrics import read_metrics
from pixelis.cli import sft, train
from pixelis.envs.registration import check_env_id
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.split import SplitSettings
from pixelis.envs.tweet.data.split_folder import write_split

CONFIGS = sorted((Path(__file__).parents[2] / "configs" / "tweet").glob("*.yaml"))
SHORT = ["--max-new-tokens", "6", "--eval-episodes", "0", "--lora.rank", "2"]
TINY_SFT = [*SHORT, "--steps", "2", "--demonstrations", "4", "--batch-size", "2", "--diversity.prompts", "1"]
TINY_GRPO = [*SHORT, "--steps", "1", "--groups", "1"]


def is_sft(path: Path) -> bool:
    return (
        path.stem.endswith(("sft", "sft_conservative"))
        and "grpo" not in path.stem
        and "gdpo" not in path.stem
    )


@pytest.fixture(scope="module")
def byte_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of bytes with room for a tweet."""
    return build("llama", tmp_path_factory.mktemp("byte_model"))


def test_the_six_are_there():
    names = {path.stem for path in CONFIGS}
    assert {"sft", "polychromic_sft", "sft_conservative", "polychromic_sft_conservative"} <= names
    assert {"grpo_from_sft", "grpo_from_polychromic"} <= names


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_is_accepted(path):
    words = ["--config", str(path)]
    config, resume = sft.COMMAND.read(words) if is_sft(path) else train.COMMAND.read(words)
    assert resume is None and check_env_id(config.env) == config.env == "Pixelis/TweetReply-v0"
    assert config.model == "pixelis-tiny"
    assert "encoder" in (config.diversity, getattr(config.diversity, "measure", None))
    assert build_rewards(getattr(config, "rewards", {})) is None
    assert f"--config tweet/{path.stem}" in path.read_text()
    other = [*words, "--model", "elsewhere"]
    other_config = sft.COMMAND.read(other)[0] if is_sft(path) else train.COMMAND.read(other)[0]
    assert other_config.model == "elsewhere"


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_trains(path, byte_model, tmp_path, capsys, monkeypatch):
    write_split(SEED_TWEETS, tmp_path / "splits" / "seed", SplitSettings())
    monkeypatch.chdir(tmp_path)
    main, words = (sft.main, TINY_SFT) if is_sft(path) else (train.main, TINY_GRPO)
    run = tmp_path / "run"
    code = main(["--config", str(path), "--model", str(byte_model), "--output", str(run), *words])
    assert code == 0, capsys.readouterr().err
    rows = read_metrics(run / "metrics.jsonl")
    assert len(rows) == (2 if is_sft(path) else 1)
    assert {"diversity/mean_distance", "diversity/counted"} <= set(rows[0])
    assert json.loads(json.dumps(rows)) == rows
