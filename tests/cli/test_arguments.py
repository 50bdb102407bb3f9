"""Flags and YAML from the options of a dataclass."""

from __future__ import annotations

import pytest
import yaml

from pixelis.agents.settings.algorithm import Replay
from pixelis.agents.settings.levels import AccelLevels, PlrLevels, RandomLevels
from pixelis.agents.settings.loss import Sapo
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.run_settings import Lora
from pixelis.cli.arguments import Arguments
from pixelis.cli.compare import CompareSettings
from pixelis.cli.tweet_reward import RewardModelSettings
from pixelis.errors import ConfigError


def read(*words):
    arguments = Arguments("train_agent.py", "Train.", TrainConfig, resumes=True)
    return arguments.read_run([str(word) for word in words])


def parse(*words):
    return read(*words)[0]


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "settings.yaml"
        path.write_text(text)
        return path

    return write


def test_no_words_give_the_defaults():
    assert read() == (TrainConfig(), None)


def test_flags_of_every_type():
    config = parse(
        *("--lr", "1e-4", "--steps", 7, "--difficulty", 2, "--minutes", 1.5, "--loss.kl.estimator", "k2"),
        *("--baselines", "--env-kwargs.reader", "truth", "--env-kwargs.max_turns", 4, "--model=some/model"),
        *("--levels", "plr", "--levels.buffer=9", "--loss.surrogate.type", "sapo", "--levels.robust=false"),
        *("--algorithm.replay.ratio", "0.5", "--output", "2024", "--system-prompt", "yes: no"),
    )
    assert (config.lr, config.steps, config.difficulty, config.minutes) == (1e-4, 7, 2, 1.5)
    assert (config.loss.kl.estimator, config.baselines, config.model) == ("k2", True, "some/model")
    assert config.env_kwargs == {"reader": "truth", "max_turns": 4}
    assert config.levels == PlrLevels(buffer=9, robust=False) and config.loss.surrogate == Sapo()
    assert config.algorithm.replay == Replay(ratio=0.5)
    assert (config.output, config.system_prompt) == ("2024", "yes: no")


def test_the_words_make_the_settings_and_these_check_themselves(file):
    arguments = Arguments("compare_models.py", "Compare.", CompareSettings, "examples:")
    settings = arguments.read(["--b", "runs/web", "--config", str(file("episodes: 7"))])
    assert settings == CompareSettings(b="runs/web", episodes=7)
    arguments = Arguments("train_tweet_reward.py", "Fit.", RewardModelSettings)
    with pytest.raises(ConfigError, match="exclude each other"):
        arguments.read(["--preferences", "a.jsonl", "--tweets", "b.jsonl"])


def test_a_list_of_texts_is_a_list():
    config = parse("--sampler", "vllm", "--sampler.urls", "[http://10.0.0.1:8001, http://10.0.0.2:8001]")
    assert config.sampler.urls == ["http://10.0.0.1:8001", "http://10.0.0.2:8001"]


def test_a_function_of_the_loss_may_be_that_of_another_module():
    loss = parse(
        "--loss.surrogate", "my_losses:spo", "--loss.ratio=sequence", "--loss.correction", "none"
    ).loss
    assert (loss.surrogate.type, loss.ratio, loss.correction.type) == ("my_losses:spo", "sequence", "none")


def test_underscores_are_as_good_as_hyphens():
    config = parse("--group_size", 4, "--env_kwargs.max_turns=3", "--no_baselines")
    assert config.group_size == 4 and config.env_kwargs == {"max_turns": 3} and config.baselines is False


@pytest.mark.parametrize("order", [0, 1])
def test_flags_win_over_the_file_whatever_their_order(file, order):
    path = file("lr: 0.5\nsteps: 9\ndifficulty: null\nlevels: {type: plr, buffer: 9}\n")
    words = [["--config", path], ["--lr", 0.25, "--levels.fill", 0.75]]
    config = parse(*words[order], *words[1 - order])
    assert (config.lr, config.steps, config.difficulty) == (0.25, 9, None)
    assert config.levels == PlrLevels(buffer=9, fill=0.75)
    assert parse("--config", path, "--levels.type", "accel").levels == AccelLevels()


def test_the_file_wins_over_the_run_that_is_resumed(file, tmp_path):
    (tmp_path / "config.yaml").write_text("steps: 5\nlr: 0.5\nlora: {rank: 4}\n")
    config, resume = read(f"--config={file('steps: 9')}", "--resume", tmp_path, "--lora.alpha", 8)
    assert (config.steps, config.lr, config.lora, resume) == (9, 0.5, Lora(rank=4, alpha=8), str(tmp_path))


def test_a_run_of_other_settings_is_told_to_begin_anew(tmp_path):
    (tmp_path / "config.yaml").write_text("lora_rank: 5\nkl_in: loss\n")
    with pytest.raises(
        ConfigError, match="settings that this version does not have; start a new run: 2 sett"
    ):
        parse("--resume", tmp_path)


def test_one_keyword_can_be_added_to_those_of_the_file(file):
    path = file("env_kwargs: {reader: ocr, max_turns: 4}")
    config = parse("--env-kwargs.reader", "truth", "--config", path, "--env-kwargs.view_size=96")
    assert config.env_kwargs == {"reader": "truth", "max_turns": 4, "view_size": 96}


def test_written_settings_are_read_back_unchanged(file):
    config = TrainConfig(lr=1e-5, env_kwargs={"a": [1, "x"]}, minutes=2.0, baselines=True, levels="sfl")
    assert parse("--config", file(yaml.safe_dump(config.to_mapping()))) == config


def test_a_file_extends_another(file, tmp_path):
    (tmp_path / "base.yaml").write_text(
        "lr: 1e-3\nsteps: 9\nlevels: {type: plr, buffer: 9}\nenv_kwargs: {a: 1}"
    )
    config = parse("--config", file("extends: base.yaml\nsteps: 3\nlevels: {fill: 1}\nenv_kwargs: {b: 2}"))
    assert (config.lr, config.steps, config.env_kwargs) == (0.001, 3, {"a": 1, "b": 2})
    assert config.levels == PlrLevels(buffer=9, fill=1.0)
    assert parse("--config", file("extends: base.yaml\nlevels: uniform")).levels == RandomLevels()
    assert parse("--config", file("extends: zoom_read")).decay_steps == 160


def test_a_configuration_is_found_by_its_name_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse("--config", "zoom_read").max_new_tokens == 24
    assert parse("--config", "tweet/gdpo_from_sft").algorithm.advantage.type == "per_part"


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
        (["--policy-loss", "dapo"], r"Here it is --loss\.surrogate\."),
        (["--lora-rank", "4"], r"Here it is --lora\.rank\."),
        (["--clip-range", "4"], r"Here it is --loss\.surrogate\.epsilon_low\."),
        (
            ["--loss", "dapo"],
            r"loss must be a mapping of settings, got 'dapo'\. It holds .*dapo is a value of recipe",
        ),
        (["--loss", "cispo"], r"cispo is a value of recipe and of loss\.surrogate$"),
        (
            ["--loss", "my_loss"],
            r"got 'my_loss'\. It holds loss\.surrogate, loss\.ratio, loss\.aggregation, .*",
        ),
        (["--learningrate", "1"], r"Here it is --lr\."),
        (["--stride", "1"], r"unknown argument '--stride'\. (?!.*shaping)"),
        (["--batch-size", "4"], r"Here it is --groups or --micro-batch-size\. --batch-size belongs to"),
        (["--data", "x"], r"Here it is --env-kwargs\.data\. --data belongs to train_sft\.py\."),
        (["--packing"], r"unknown argument '--packing'\. --packing belongs to train_sft\.py, expert_iter"),
        (["--n-steps", "4"], r"--n-steps belongs to train_agent\.py --agent sb3-ppo\."),
        (["--zzz", "4"], r"Known: --alarms, --algorithm, .* in all\)"),
        (["stray"], r"unknown argument 'stray'\. Flags begin with --"),
        (["--lr", "fast"], "lr must be a finite number above 0 or 'auto' or null, got 'fast'"),
        (["--steps", "1.5"], r"steps must be an integer of at least 0, got 1\.5"),
        (["--lr=-1"], "lr must be a finite number above 0 or 'auto' or null, got -1"),
        (["--env-kwargs", "3"], "env_kwargs must be a mapping, got 3"),
        (["--difficulty", "hard"], "difficulty must be an integer of at least 0 or null, got 'hard'"),
        (
            ["--loss.kl.estimator", "k4"],
            r"kl.estimator must be one of k1, k2, k3 or module:name, got 'k4'\. Did you mean 'k[123]'",
        ),
        (
            ["--loss.kl.place", "los"],
            r"kl.place must be one of loss, reward, got 'los'\. Did you mean 'loss'",
        ),
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
        ("lr: fast", "lr must be a finite number above 0 or 'auto' or null, got 'fast'"),
        ("loss: {kl: {estimator: k4}}", "loss.kl.estimator must be one of k1, k2, k3"),
        ("steps: x\nlr: -1\nlrr: 3", "3 settings are wrong: .*lr must .*steps must .*unknown setting 'lrr'"),
        ("extends: nowhere.yaml", r"extends in .* there is none at 'nowhere\.yaml'"),
        ("extends: settings.yaml", "in a circle: settings.yaml -> settings.yaml"),
        ("extends: [a]", "must name one YAML file"),
        ("lr: [1", "is not YAML"),
        ("output: 2025-31-12", "is not YAML: month must be in 1..12"),
        ("lr: " + "[" * 9000, "is not YAML"),
        ("- 1", "must hold settings as 'name: value' lines"),
        ("", "must hold settings"),
        ("\x00", "is not YAML"),
    ],
)
def test_mistakes_in_the_file(file, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse("--config", file(text))
    assert "\n" not in str(caught.value)


def test_the_help_tells_what_is_used_first_and_the_rest_by_section(capsys):
    def told(word):
        with pytest.raises(SystemExit) as stop:
            parse(word)
        assert stop.value.code == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 110
        return text

    text = told("--help")
    assert "--lr X" in text and "AdamW learning rate" in text and "--loss" in text and "--help.more" in text
    assert "--weight-decay" not in text and "--loss.ratio" not in text and len(text.splitlines()) < 75
    more = told("--help.more")
    assert "--weight-decay X" in more and "--alarms" in more and "--alarms" not in text
    assert "--alarms.kl_reference X" in told("--help.alarms")
    assert "--loss.ratio {token,sequence,module:name}" in told("--help.loss")
    assert "--loss.kl.place {loss,reward}" in told("--help.loss.kl")
    text = told("--help.levels")
    assert "levels with type plr: " in text and "--levels.buffer N" in text
    with pytest.raises(ConfigError, match=r"sections are alarms, lora, levels, .* more"):
        parse("--help.los")


def test_no_value_is_null_for_flags_and_files_as_messages_say(file):
    written = file("minutes: null\noutput: null\nalgorithm: {replay: null}")
    flags = ["--minutes", "null", "--output", "null", "--algorithm.replay", "null"]
    given = ["--minutes", 5, "--output", "here", "--algorithm.replay.ratio", 0.5]
    assert parse(*given).output == "here"
    for config in (parse(*flags), parse("--config", written)):
        assert (config.minutes, config.output, config.algorithm.replay) == (None, None, None)
    with pytest.raises(ConfigError, match="minutes must be a finite number above 0 or null, got 'none'"):
        parse("--minutes", "none")
    with pytest.raises(ConfigError, match="minutes must be a finite number above 0 or null, got 'none'"):
        parse("--config", file("minutes: none"))


def test_a_name_that_looks_like_a_date_and_is_none_is_a_name():
    assert parse("--output", "2025-31-12").output == "2025-31-12"
