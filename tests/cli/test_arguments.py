"""Flags and YAML from the options of a dataclass."""

from __future__ import annotations

import pytest
import yaml

from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli.arguments import Arguments
from pixelis.cli.compare import CompareSettings
from pixelis.cli.tweet_reward import RewardModelSettings
from pixelis.errors import ConfigError


def parse(*words, base=None):
    arguments = Arguments("train_agent.py", "Train.", TrainConfig)
    arguments.add("Run folder", "--resume", "FOLDER", "go on")
    return arguments.parse([str(word) for word in words], base)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "settings.yaml"
        path.write_text(text)
        return path

    return write


def test_no_words_give_the_defaults():
    values, extra = parse()
    assert TrainConfig.from_mapping(values) == TrainConfig()
    assert extra == {"resume": None}


def test_flags_of_every_type():
    values, extra = parse(
        *("--lr", "1e-4", "--steps", 7, "--difficulty", 2, "--minutes", 1.5, "--kl", "k1", "--baselines"),
        *(
            "--env-kwargs.reader",
            "truth",
            "--env-kwargs.max_turns",
            4,
            "--resume",
            "a/b",
            "--model=some/model",
        ),
    )
    assert (values["lr"], values["steps"], values["difficulty"], values["minutes"]) == (1e-4, 7, 2, 1.5)
    assert (values["kl"], values["baselines"], values["model"]) == ("k1", True, "some/model")
    assert values["env_kwargs"] == {"reader": "truth", "max_turns": 4}
    assert extra == {"resume": "a/b"}


def test_the_words_make_the_settings_and_these_check_themselves(file):
    arguments = Arguments("compare_models.py", "Compare.", CompareSettings, "examples:")
    settings = arguments.read(["--b", "runs/web", "--config", str(file("episodes: 7"))])
    assert settings == CompareSettings(b="runs/web", episodes=7)
    arguments = Arguments("train_tweet_reward.py", "Fit.", RewardModelSettings)
    with pytest.raises(ConfigError, match="exclude each other"):
        arguments.read(["--preferences", "a.jsonl", "--tweets", "b.jsonl"])


def test_a_function_of_the_loss_may_be_that_of_another_module():
    values, _ = parse("--surrogate", "my_losses:spo", "--ratio=sequence", "--correction", "none")
    assert (values["surrogate"], values["ratio"], values["correction"]) == (
        "my_losses:spo",
        "sequence",
        "none",
    )


def test_underscores_are_as_good_as_hyphens():
    values, _ = parse("--group_size", 4, "--env_kwargs.max_turns=3", "--no_baselines")
    assert (
        values["group_size"] == 4
        and values["env_kwargs"] == {"max_turns": 3}
        and values["baselines"] is False
    )


@pytest.mark.parametrize("order", [0, 1])
def test_flags_win_over_the_file_whatever_their_order(file, order):
    path = file("lr: 0.5\nsteps: 9\ndifficulty: null\n")
    words = [["--config", path], ["--lr", 0.25]]
    values, _ = parse(*words[order], *words[1 - order])
    assert (values["lr"], values["steps"], values["difficulty"]) == (0.25, 9, None)


def test_the_file_wins_over_the_base(file):
    values, _ = parse(f"--config={file('steps: 9')}", base={"steps": 5, "lr": 0.5})
    assert (values["steps"], values["lr"]) == (9, 0.5)


def test_one_keyword_can_be_added_to_those_of_the_file(file):
    path = file("env_kwargs: {reader: ocr, max_turns: 4}")
    values, _ = parse("--env-kwargs.reader", "truth", "--config", path, "--env-kwargs.view_size=96")
    assert values["env_kwargs"] == {"reader": "truth", "max_turns": 4, "view_size": 96}


def test_written_settings_are_read_back_unchanged(file):
    config = TrainConfig(lr=1e-5, env_kwargs={"a": [1, "x"]}, minutes=2.0, baselines=True)
    values, _ = parse("--config", file(yaml.safe_dump(config.to_mapping())))
    assert TrainConfig.from_mapping(values) == config


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lrr", "1"], r"unknown argument '--lrr'\. Did you mean '--lr'"),
        (["--grup-size=4"], r"unknown argument '--grup-size'\. Did you mean '--group-size'"),
        (["--learning-rate", "1"], r"'--learning-rate'\. Here it is --lr\."),
        (["--num_generations=4"], r"Here it is --group-size\."),
        (["--per_device_train_batch_size", "4"], r"Here it is --micro-batch-size\."),
        (["--max-completion-length", "4"], r"Here it is --max-new-tokens\."),
        (["--kl-coef", "4"], r"Here it is --beta\."),
        (["--loss", "dapo"], r"Here it is --surrogate\."),
        (["--batch-size", "4"], r"Here it is --groups or --micro-batch-size\. --batch-size belongs to"),
        (["--data", "x"], r"Here it is --env-kwargs\.data\. --data belongs to train_sft\.py\."),
        (["--packing"], r"unknown argument '--packing'\. --packing belongs to train_sft\.py, expert_iter"),
        (["--n-steps", "4"], r"--n-steps belongs to train_agent\.py --agent sb3-ppo\."),
        (["--zzz", "4"], r"Known: --advantage, .* in all\)\."),
        (["stray"], r"unknown argument 'stray'\. Flags begin with --"),
        (["--lr", "fast"], r"--lr must be a number in \(0, inf\) or none, got 'fast'"),
        (["--steps", "1.5"], r"--steps must be an integer in \[0, inf\), got 1\.5"),
        (["--lr=-1"], r"--lr must be a number in \(0, inf\) or none, got -1"),
        (["--env-kwargs", "3"], "--env-kwargs must be a mapping, got 3"),
        (["--difficulty", "hard"], r"--difficulty must be an integer in \[0, inf\) or none, got 'hard'"),
        (["--kl", "k4"], r"--kl must be one of k1, k2, k3 or module:name, got 'k4'\. Did you mean 'k[123]'"),
        (["--kl-in", "los"], r"--kl-in must be one of loss, reward, got 'los'\. Did you mean 'loss'"),
        (["--steps"], "--steps must be followed by a value"),
        (["--config"], "--config must name a YAML file of settings, there is none at ''"),
        (["--config", "nowhere.yaml"], r"there is none at 'nowhere\.yaml'"),
    ],
)
def test_mistakes_are_told_in_one_line(words, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse(*words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rate: 1", r"unknown setting 'learning_rate' in '.*'\. Here it is 'lr'\."),
        ("packing: true", r"'packing' belongs to train_sft\.py"),
        ("lrr: 1", r"unknown setting 'lrr' in '.*'\. Did you mean 'lr'"),
        ("lr: fast", r"lr must be a number in \(0, inf\) or none, got 'fast'"),
        ("kl: k4", "kl must be one of k1, k2, k3"),
        ("lr: [1", "is not YAML"),
        ("- 1", "must hold settings as 'name: value' lines"),
        ("", "must hold settings"),
        ("\x00", "is not YAML"),
    ],
)
def test_mistakes_in_the_file(file, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse("--config", file(text))
    assert "\n" not in str(caught.value)


def test_the_help_is_grouped_and_says_what_each_flag_does(capsys):
    with pytest.raises(SystemExit) as stop:
        parse("--help")
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for heading in ("Task:", "Model:", "Rollout:", "Update:", "Loss:", "Evaluation:", "Run folder:"):
        assert f"\n{heading}\n" in text
    assert "--lr X" in text and "AdamW learning rate" in text and "type:" not in text
    assert max(map(len, text.splitlines())) <= 110
