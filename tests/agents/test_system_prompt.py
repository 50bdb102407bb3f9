"""A system prompt: in every prompt of a run, written down with it, and used again by whoever plays it."""

from __future__ import annotations

import json

import pytest

from pixelis.agents.models.chat import ChatFormat
from pixelis.agents.models.policy import Policy
from pixelis.agents.publish.export import export_model
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.metrics import comparable_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.run import SftRun
from pixelis.cli import compare, evaluate
from pixelis.errors import ConfigError

PROMPT = "abc abc"


def prompts(run: TrainingRun) -> set[str]:
    return {episode.segments[0].text for episode in run.trainer._last[0]}


def test_it_opens_every_episode_is_written_down_and_comes_back(toy_config):
    config = toy_config(system_prompt=PROMPT, steps=2)
    run = train(config)
    assert all(PROMPT in prompt for prompt in prompts(run))
    assert not any(
        PROMPT in prompt for prompt in prompts(train(toy_config(steps=1, output=config.output + "-0")))
    )
    assert settings_of(run.folder.path)["system_prompt"] == PROMPT
    for place in (run.folder.path, run.folder.path / "adapter"):
        assert Policy.load(place, device="cpu").chat.system_prompt == PROMPT
    on = train(toy_config(model=str(run.folder.path), steps=1, output=config.output + "-2"))
    assert settings_of(on.folder.path)["system_prompt"] == PROMPT
    assert all(PROMPT in prompt for prompt in prompts(on))
    without = train(
        toy_config(model=str(run.folder.path), steps=1, system_prompt="", output=config.output + "-3")
    )
    assert not any(PROMPT in prompt for prompt in prompts(without))
    assert Policy.load(without.folder.path, device="cpu").chat.system_prompt == ""


def test_a_resumed_run_has_it_and_another_one_is_refused(toy_config):
    config = toy_config(system_prompt=PROMPT, steps=4)
    whole = train(config)
    part = config.with_values(output=config.output + "-2")
    train(part.with_values(steps=2))
    with TrainingRun.resume(part.output, part.with_values(system_prompt=None)) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
    with pytest.raises(ValueError, match="system_prompt was"):
        TrainingRun.resume(part.output, part.with_values(system_prompt="other"))


def test_a_file_is_its_text(tmp_path):
    (tmp_path / "prompt.txt").write_text("Be brief.\nAct.\n")
    config = TrainConfig(system_prompt=str(tmp_path / "prompt.txt"))
    assert config.system_prompt == "Be brief.\nAct." == config.with_values(seed=1).system_prompt
    assert TrainConfig(system_prompt="Read the file notes.txt").system_prompt == "Read the file notes.txt"
    with pytest.raises(
        ConfigError, match=r"system_prompt names the file 'nowhere\.md', which cannot be read"
    ):
        TrainConfig(system_prompt="nowhere.md")


def test_chats_with_a_system_message_of_their_own_keep_it(text_policy: Policy):
    chat: ChatFormat = text_policy.chat
    chat.system_prompt = PROMPT
    try:
        assert PROMPT in chat.first("question").text
        assert "mine" in (text := chat.first("question", system="mine").text) and PROMPT not in text
        tools = [{"type": "function", "function": {"name": "LOOK"}}]
        assert PROMPT in (text := chat.first("question", tools=tools).text) and "LOOK" in text
    finally:
        chat.system_prompt = ""


def test_sft_evaluation_comparison_export_and_card_use_it(letter_model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = SftConfig(
        env="spell_env:Toy/Spell-v0", model=str(letter_model), eval_episodes=0, max_new_tokens=5, steps=2,
        demonstrations=24, system_prompt=PROMPT, lr=0.01, output=str(tmp_path / "run"),
    )  # fmt: skip
    run = SftRun.whole(config)
    shown = next(iter(next(iter(run.trainer.pool.train.values())))).segments[0].text
    assert PROMPT in shown
    seen: list[str] = []
    original = ChatFormat.first

    def spy(self: ChatFormat, text, image=None, tools=(), system=""):
        segment = original(self, text, image, tools, system)
        seen.append(segment.text)
        return segment

    monkeypatch.setattr(ChatFormat, "first", spy)
    few = ["--episodes", "2", "--max-new-tokens", "5"]
    assert evaluate.main(["--agent", "run", "--env", config.env, *few]) == 0
    played = [text for text in seen if text and text.count("x") != len(text)]
    assert sum(PROMPT in text for text in played) >= 2
    export_model("run", "out")
    assert json.loads((tmp_path / "out" / "pixelis.json").read_text())["system_prompt"] == PROMPT
    assert f"> {PROMPT}" in (tmp_path / "out" / "README.md").read_text()
    assert Policy.load("out", device="cpu").chat.system_prompt == PROMPT
    seen.clear()
    assert compare.main(["--b", "run", "--mode", "greedy", *few]) == 0
    assert sum(PROMPT in text for text in seen) >= 2
