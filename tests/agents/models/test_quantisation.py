"""Weights in 8 or 4 bits: what is asked of transformers, and what is said where it cannot be done."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import tomllib
import torch

from pixelis.agents.models.loading import QUANTIZATIONS, quantisation_config, quantised_loading
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.settings.base import choices_of
from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli import USER_MISTAKE, evaluate, train
from pixelis.cli.evaluate import EvaluateSettings
from pixelis.errors import ConfigError, MissingDependencyError

CUDA = torch.device("cuda:0")
KINDS = ["8bit", "4bit"]


@pytest.mark.parametrize("kind", KINDS)
def test_without_cuda_it_is_refused_whatever_is_installed(kind: str, text_folder: Path):
    expected = f"quantization {kind} needs a CUDA device and the device is cpu; use quantization none"
    with pytest.raises(ConfigError, match=expected):
        Policy.load(text_folder, device="cpu", quantization=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("package", ["bitsandbytes", "accelerate"])
def test_without_the_package_the_extra_is_named(kind: str, package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(MissingDependencyError, match=rf"needs .*{package}.*pip install \'pixelis\[quant\]\'"):
        quantised_loading(kind, torch.bfloat16, CUDA)


def test_the_extra_brings_both_packages():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    wanted = project["optional-dependencies"]["quant"]
    assert {line.split(">")[0] for line in wanted} == {"bitsandbytes", "accelerate"}


def test_an_unknown_kind_gets_a_suggestion(text_folder: Path):
    with pytest.raises(ConfigError, match=r"got '4bits'\. Did you mean '4bit'"):
        Policy.load(text_folder, device="cpu", quantization="4bits")


def test_none_asks_for_nothing(text_folder: Path):
    assert Policy.load(text_folder, device="cpu", quantization="none").base.dtype == torch.float32


def test_what_transformers_is_asked_for():
    eight = quantisation_config("8bit", torch.bfloat16)
    assert eight.load_in_8bit and not eight.load_in_4bit
    four = quantisation_config("4bit", torch.bfloat16)
    assert four.load_in_4bit and not four.load_in_8bit
    assert (four.bnb_4bit_quant_type, four.bnb_4bit_use_double_quant) == ("nf4", True)
    assert four.bnb_4bit_compute_dtype == torch.bfloat16


@pytest.mark.parametrize("settings", [TrainConfig, EvaluateSettings])
def test_the_setting_offers_every_kind(settings: type):
    assert tuple(choices_of(settings.model_fields["quantization"].annotation)) == tuple(QUANTIZATIONS)


@pytest.mark.parametrize(
    ("main", "flag"), [(train.main, "--model"), (evaluate.main, "--agent")], ids=["train", "evaluate"]
)
def test_the_commands_say_it_in_one_line(main, flag, text_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [flag, str(text_folder), "--device", "cpu", "--quantization", "4bit"]
    assert main(words) == USER_MISTAKE
    error = capsys.readouterr().err
    assert error.startswith("error: quantization 4bit needs a CUDA device") and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []  # no half-made run is left


@pytest.mark.skipif(
    not torch.cuda.is_available() or find_spec("bitsandbytes") is None,
    reason="needs a CUDA device and bitsandbytes",
)
@pytest.mark.parametrize("kind", KINDS)
def test_on_cuda_the_weights_shrink_and_the_adapter_gets_a_gradient(kind: str, text_folder: Path):
    from pixelis.agents.episodes.episode import Episode, Segment

    plain = Policy.load(text_folder, device="cuda")
    small = Policy.load(text_folder, device="cuda", quantization=kind, lora=LoraSettings(rank=2))
    assert small.base.get_memory_footprint() < plain.base.get_memory_footprint()
    segments = [Segment.given([1, 2]), Segment.written([3, 4])]
    small.logprobs([Episode("Toy-v0", 0, 0, 0, segments)]).logprobs.sum().backward()
    assert any(
        weight.grad is not None and weight.grad.abs().max() > 0 for weight in small.trainable_parameters()
    )
