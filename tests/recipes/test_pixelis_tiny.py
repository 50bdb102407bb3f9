"""The recipe of the default model: its architecture is that of the shipped folder."""

from __future__ import annotations

from pathlib import Path

from pixelis_tiny.architecture import build_model
from safetensors import safe_open
from transformers import AutoTokenizer

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "pixelis" / "models" / "pixelis-tiny"


def _shapes(folder: Path) -> dict[str, list[int]]:
    with safe_open(folder / "model.safetensors", framework="np") as weights:
        return {name: weights.get_slice(name).get_shape() for name in weights.keys()}  # noqa: SIM118


def test_the_architecture_is_that_of_the_shipped_model(tmp_path):
    build_model(AutoTokenizer.from_pretrained(SHIPPED), 0).save_pretrained(tmp_path)
    assert _shapes(tmp_path) == _shapes(SHIPPED)
