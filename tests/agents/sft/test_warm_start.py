"""One command for SFT and then GRPO: the same adapter, metrics and checkpoints as two commands give."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from warm_python import warm_python

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.run import SftRun
from pixelis.cli import INTERRUPTED, USER_MISTAKE, train
from pixelis.cli.progress import TrainingProgress
from pixelis.errors import CheckpointError, ConfigError

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
SFT_STEPS = 6


@pytest.fixture
def sft_file(sft_config: Callable[..., SftConfig], tmp_path: Path) -> Callable[..., str]:
    """Write SFT settings as a person would, without the folder and the model."""

    def write(**changes: object) -> str:
        values = sft_config(**{"steps": SFT_STEPS, "checkpoint_every": 2} | changes).to_mapping()
        path = tmp_path / "sft.yaml"
        path.write_text(yaml.safe_dump({k: v for k, v in values.items() if k not in ("output", "seed")}))
        return str(path)

    return write


@pytest.fixture
def warm_config(
    sft_file: Callable[..., str], toy_config: Callable[..., TrainConfig], tmp_path: Path
) -> Callable[..., TrainConfig]:
    def make(**changes: object) -> TrainConfig:
        settings = {"model": "auto", "output": str(tmp_path / "warm"), "groups": 2, "steps": 3, "beta": 0.1}
        if "warm_start" not in changes:
            changes["warm_start"] = sft_file()
        return toy_config(**settings | changes)

    return make


def test_it_equals_the_two_runs_made_by_hand(
    warm_config: Callable[..., TrainConfig], sft_config: Callable[..., SftConfig], tmp_path: Path
):
    with TrainingRun.start(warm_config()) as run:
        run.train()
    seed = run.config.seed
    with SftRun.start(sft_config(steps=SFT_STEPS, seed=seed, output=str(tmp_path / "sft"))) as sft:
        sft.train()
    by_hand = warm_config(warm_start=None, model=str(sft.adapter), output=str(tmp_path / "hand"))
    with TrainingRun.start(by_hand) as again:
        again.train()
    warm = tmp_path / "warm-warm-start"
    names = [comparable_metrics(path / "metrics.jsonl") for path in (warm, sft.folder.path)]
    assert names[0] == names[1] and len(names[0]) == SFT_STEPS
    rows = [comparable_metrics(each.folder.metrics) for each in (run, again)]
    assert rows[0] == rows[1] and len(rows[0]) == 3
    assert run.config.model == str(warm / "adapter")


def test_the_main_run_resumes_without_it(warm_config: Callable[..., TrainConfig], tmp_path: Path):
    with TrainingRun.start(warm_config(steps=2)) as run:
        run.train()
    (tmp_path / "sft.yaml").unlink()
    saved = settings_of(run.folder.path)
    assert saved["warm_start"] is None
    with TrainingRun.resume(run.folder.path, TrainConfig.from_mapping(saved).with_values(steps=4)) as run:
        run.train()
    assert [row["step"] for row in read_metrics(run.folder.metrics)] == [1, 2, 3, 4]


def test_the_model_of_the_main_run_wins(
    warm_config: Callable[..., TrainConfig], sft_file: Callable[..., str], letter_model: Path
):
    named = warm_config(warm_start=sft_file(model="nowhere"), model=str(letter_model), steps=0)
    with TrainingRun.start(named) as run:
        assert run.policy.base_name == str(letter_model)


COMMAND = "import sys; from pixelis.cli.train import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.slow
def test_killed_in_the_warm_start_the_same_command_goes_on(
    warm_config: Callable[..., TrainConfig], sft_file: Callable[..., str], tmp_path: Path, monkeypatch
):
    """SIGKILL after some checkpoint: the metrics are those of a run that nobody killed."""
    monkeypatch.chdir(tmp_path)
    path = sft_file(steps=40, checkpoint_every=1)
    configs = {}
    for name in ("killed", "whole"):
        config = warm_config(warm_start=path, output=str(tmp_path / name), steps=1)
        configs[name] = tmp_path / f"{name}.yaml"
        configs[name].write_text(yaml.safe_dump(config.to_mapping()))
    paths = os.pathsep.join(path for path in sys.path if path)
    words = ["-c", COMMAND, "--config", str(configs["killed"])]
    process = warm_python().start(words, tmp_path, {**os.environ, "PYTHONPATH": paths})
    while "step 3/" not in process.printed and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert not (tmp_path / "killed" / "config.yaml").exists()
    done = len(read_metrics(tmp_path / "killed-warm-start" / "metrics.jsonl"))
    assert 1 <= done < 40, "the kill came too late to show anything"
    for name in ("killed", "whole"):
        assert train.main(["--config", str(configs[name])]) == 0
    for folder, length in (("{}-warm-start", 40), ("{}", 1)):
        rows = [comparable_metrics(tmp_path / folder.format(name) / "metrics.jsonl") for name in configs]
        assert rows[0] == rows[1] and len(rows[0]) == length


def test_ctrl_c_in_the_warm_start_says_how_to_go_on(
    warm_config: Callable[..., TrainConfig], tmp_path: Path, capsys, monkeypatch
):
    monkeypatch.setattr(TrainingProgress, "update", lambda self, row: os.kill(os.getpid(), signal.SIGINT))
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(warm_config().to_mapping()))
    assert train.main(["--config", str(path)]) == INTERRUPTED
    assert "the same command goes on with it" in capsys.readouterr().out
    assert len(read_metrics(tmp_path / "warm-warm-start" / "metrics.jsonl")) == 1
    assert not (tmp_path / "warm").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "warm_start must name a YAML file of settings, there is none at"),
        ("a: [", "is not YAML"),
        ("- lr", "must hold settings as 'name: value' lines"),
        ("demonstration: 3\nenv: x", "Did you mean 'demonstrations'?"),
        ("lr: 0.1", "SFT needs demonstrations"),
    ],
)
def test_a_wrong_file(text, message, warm_config: Callable[..., TrainConfig], tmp_path: Path):
    path = tmp_path / "wrong.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match="warm_start") as caught:
        TrainingRun.start(warm_config(warm_start=str(path)))
    assert message in str(caught.value)


def test_mistakes_are_told_before_the_warm_start(
    warm_config: Callable[..., TrainConfig], tmp_path: Path, capsys
):
    with TrainingRun.start(warm_config(steps=1)) as run:
        run.train()
    with pytest.raises(ConfigError, match="already holds a run"):
        TrainingRun.start(warm_config(warm_start="nowhere.yaml"))
    words = ["--env", "Pixelis/ZoomReed-v0", "--warm-start", "nowhere.yaml"]
    assert train.main(words) == USER_MISTAKE
    assert "Did you mean 'Pixelis/ZoomRead-v0'?" in capsys.readouterr().err


def test_a_warm_start_with_other_settings_is_not_gone_on_with(
    warm_config: Callable[..., TrainConfig], sft_file: Callable[..., str], tmp_path: Path
):
    with TrainingRun.start(warm_config(steps=0)):
        pass
    (tmp_path / "warm" / "config.yaml").unlink()
    with pytest.raises(CheckpointError, match="batch_size"):
        TrainingRun.start(warm_config(warm_start=sft_file(batch_size=4)))
