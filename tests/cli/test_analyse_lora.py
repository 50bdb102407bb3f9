"""``analyse_lora.py``: tables, files and what a wrong word is told."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.publish.lora_analysis import LayerReport
from pixelis.cli.analyse_lora import csv_of, main, short_names


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two adapters of the shipped model: one on two kinds of layers, one on one of them."""
    folders = []
    for number, targets in enumerate([("q_proj", "v_proj"), ("q_proj",)], start=1):
        torch.manual_seed(number)
        policy = Policy.load(
            "pixelis-tiny", device="cpu", lora=LoraSettings(rank=2 * number, target_modules=targets)
        )
        with torch.no_grad():
            for parameter in policy.trainable_parameters():
                parameter.normal_(std=0.1)
        folders.append(tmp_path_factory.mktemp(f"adapter{number}"))
        policy.save_adapter(folders[-1])
    return folders


def test_two_adapters_side_by_side(adapters: list[Path], tmp_path: Path, capsys):
    output = tmp_path / "out"
    assert main([*map(str, adapters), "--output", str(output)]) == 0
    shown = capsys.readouterr().out
    assert "‖ΔW‖/‖W‖ (1)" in shown and "–" in shown and "saved in" in shown
    saved = json.loads((output / "layers.json").read_text())
    first, second = (saved[str(folder)] for folder in adapters)
    assert {layer["rank"] for layer in first} == {2} and {layer["rank"] for layer in second} == {4}
    assert {layer["name"] for layer in second} < {layer["name"] for layer in first}
    assert all(layer["cosine"] is None for layer in first)
    assert all(-1 <= layer["cosine"] <= 1 for layer in second)
    lines = list(csv.DictReader((output / "layers.csv").read_text().splitlines()))
    assert len(lines) == len(first) + len(second)
    assert float(lines[0]["norm"]) == first[0]["norm"]
    assert (output / "layers.png").read_bytes().startswith(b"\x89PNG")


def test_no_plot_is_drawn_where_none_is_wanted(adapters: list[Path], tmp_path: Path):
    assert main([str(adapters[0]), "--no-plot", "--output", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["layers.csv", "layers.json"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "at least one run or adapter folder"),
        (["nowhere"], "neither a run nor an adapter"),
        (["nowhere", "--outptu", "x"], "Did you mean '--output'"),
    ],
)
def test_a_wrong_word_is_one_line(words: list[str], message: str, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1


def test_a_csv_by_hand():
    text = csv_of({"a": [LayerReport("x.q", 2, 1.5, 0.5, 1.25, 1.0)]})
    assert text == (
        "adapter,name,rank,norm,relative_norm,effective_rank,stable_rank,cosine\na,x.q,2,1.5,0.5,1.25,1.0,\n"
    )


def test_names_lose_what_they_share():
    assert short_names(["m.layers.0.q", "m.layers.1.q"]) == ["0.q", "1.q"]
    assert short_names(["m.q"]) == ["q"]
    assert short_names(["a.q", "a"]) == ["a.q", "a"]
