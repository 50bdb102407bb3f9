"""The page "Add a loss" is run: its modules, its tests, its command."""

from __future__ import annotations

import ast
import re
import shlex
import sys

import pytest
from doc_pages import ROOT, Page, run

from pixelis.agents.losses.advantages import ADVANTAGES
from pixelis.agents.losses.aggregation import AGGREGATIONS
from pixelis.agents.losses.correction import CORRECTIONS
from pixelis.agents.losses.kl import KL_ESTIMATORS
from pixelis.agents.losses.ratio import RATIOS
from pixelis.agents.losses.surrogate import SURROGATES
from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli.arguments import put
from pixelis.cli.train import COMMAND as TRAIN

PAGE = Page("guide/new_loss.md")
OWN = {
    "algorithm.scale": "best_of_group",
    "loss.ratio": "none",
    "loss.aggregation": "square_root",
    "loss.kl.estimator": "absolute",
    "loss.correction": "soft",
    "loss.surrogate": "spo",
}
REGISTRIES = {
    "algorithm.scale": ADVANTAGES,
    "loss.ratio": RATIOS,
    "loss.aggregation": AGGREGATIONS,
    "loss.kl.estimator": KL_ESTIMATORS,
    "loss.correction": CORRECTIONS,
    "loss.surrogate": SURROGATES,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return PAGE.write_modules(tmp_path_factory.mktemp("losses"), "my_losses.py")


def test_the_loss_has_ten_lines():
    lines = [line for line in PAGE.blocks("python")[0].splitlines() if line]
    assert len(lines) <= 10 and ast.parse("\n".join(lines))


def test_the_table_names_every_choice():
    rows = dict(re.findall(r"^\| `([\w.]+)` \| [^|]+ \| ([^|]+) \|", PAGE.text, re.MULTILINE))
    assert set(rows) == set(REGISTRIES)
    for setting, registry in REGISTRIES.items():
        ours = {name for name, function in registry.items() if function.__module__.startswith("pixelis.")}
        extra = {"auto", "none"} if setting == "loss.correction" else set()
        assert set(re.findall(r"`(\w+)`", rows[setting])) == ours | extra


def test_the_command_is_understood():
    words = shlex.split(PAGE.blocks("bash")[0])
    assert words[:3] == ["PYTHONPATH=.", "pixelis", "train"]
    config, _ = TRAIN.read(words[3:])
    assert (config.loss.surrogate.type, config.epochs) == ("my_losses:spo", 2)


@pytest.mark.slow
def test_the_tests_of_the_page_pass(folder):
    command = shlex.split(PAGE.blocks("bash")[1])
    assert command[:3] == ["python", "-m", "pytest"]
    said = run(folder, [sys.executable, "-W", "error", *command[1:], "-p", "no:cacheprovider", "-q"])
    assert "6 passed" in said  # three aggregations of ours, one of the page


@pytest.mark.slow
def test_a_run_trains_with_everything_of_the_page(folder):
    program = f"""
import json, pathlib, sys
sys.path.insert(0, {str(ROOT / "tests" / "agents" / "rl")!r})
from letter_model import build_letter_model
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.rl.run import TrainingRun
from pixelis.cli.arguments import put

model = build_letter_model(pathlib.Path("model"))
changes = {{}}
for setting, name in {OWN!r}.items():
    changes = put(changes, tuple(setting.split(".")), "my_losses:" + name)
config = TrainConfig(
    env="toy_env:Toy/Echo-v0", model=str(model), output="run", steps=40, lr=0.01, groups=8, group_size=8,
    max_new_tokens=1, epochs=2, beta=0.001, eval_episodes=0, micro_batch_size=64, **changes,
)
rewards = []
with TrainingRun.start(config) as run:
    run.train(
        on_step=lambda row: rewards.append(row["reward/mean"]),
        should_stop=lambda: len(rewards) >= 20 and min(sum(rewards[-20:-10]), sum(rewards[-10:])) / 10 > 0.6,
    )
print(json.dumps(rewards))
"""
    rewards = ast.literal_eval(run(folder, [sys.executable, "-c", program]).splitlines()[-1])
    assert rewards[0] < 0.3 < 0.6 < sum(rewards[-10:]) / 10  # chance is 1/8


def test_the_names_of_the_page_are_valid_settings():
    changes = {}
    for setting, name in OWN.items():
        changes = put(changes, tuple(setting.split(".")), f"my_losses:{name}")
    config = TrainConfig(**changes)
    assert config.loss.surrogate.type == "my_losses:spo"
