"""Processors with a video part that needs torchvision: left out, or one line says what is missing."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import IDEFICS, LLAMA, build, build_tokenizer
from transformers import AutoConfig, AutoTokenizer, Lfm2VlConfig, Qwen2_5_VLProcessor

from pixelis.agents.models.policy import Policy
from pixelis.agents.models.processors import load_processor, save_processor
from pixelis.cli import USER_MISTAKE, train
from pixelis.errors import MissingDependencyError

without_torchvision = pytest.mark.skipif(
    find_spec("torchvision") is not None, reason="torchvision is installed, so nothing is missing"
)
QWEN = ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"]


def load(folder: Path) -> Any:
    return load_processor(str(folder), AutoConfig.from_pretrained(folder), local=True)


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


@without_torchvision
def test_without_torchvision_the_family_s_own_processor_reads_pictures(tmp_path: Path):
    processor = load(build("qwen2_5_vl", tmp_path))
    assert isinstance(processor, Qwen2_5_VLProcessor)
    assert type(processor).__name__ == "Qwen2_5_VLProcessor"
    assert not hasattr(processor, "video_processor")
    image = np.zeros((56, 84, 3), np.uint8)  # 4 x 6 patches of 14 pixels, merged 2 x 2: 6 tokens
    out = processor(text=[f"a{processor.image_token}b"], images=[image], return_tensors="pt")
    assert out["image_grid_thw"].tolist() == [[1, 4, 6]]
    assert out["input_ids"][0].tolist().count(processor.image_token_id) == 6


@without_torchvision
@pytest.mark.parametrize("family", QWEN)
@pytest.mark.parametrize("nested", [False, True], ids=["file", "nested"])
def test_the_video_settings_survive_saving(tmp_path: Path, family: str, nested: bool):
    """Newer folders keep them inside processor_config.json, older ones in a file of their own."""
    source, target = build(family, tmp_path / "source"), tmp_path / "target"
    target.mkdir()
    shutil.copy(source / "config.json", target)
    settings = read(source / "video_preprocessor_config.json")
    if nested:
        (source / "video_preprocessor_config.json").unlink()
        images = read(source / "preprocessor_config.json")
        declared = {"processor_class": images["processor_class"], "image_processor": images}
        (source / "preprocessor_config.json").unlink()
        (source / "processor_config.json").write_text(json.dumps({**declared, "video_processor": settings}))
    processor = load(source)
    save_processor(processor, target, source)
    if nested:
        assert read(target / "processor_config.json")["video_processor"] == settings
    else:
        assert read(target / "video_preprocessor_config.json") == settings
    again = load(target)
    assert again.chat_template == processor.chat_template
    assert again.image_processor.to_dict() == processor.image_processor.to_dict()


@pytest.mark.parametrize("family", ["llava", "idefics3", "llama"])
def test_other_processors_are_saved_as_transformers_does(tmp_path: Path, family: str):
    source = build(family, tmp_path / "source")
    processor = load(source)
    save_processor(processor, tmp_path / "ours", source)
    processor.save_pretrained(tmp_path / "theirs")
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == names
    for name in names:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


def smolvlm2(folder: Path) -> Path:
    """Write a model as SmolVLM2 is published: its processor class has a video part it cannot do without."""
    build("smolvlm", folder)
    path = folder / "processor_config.json"
    path.write_text(json.dumps({**read(path), "processor_class": "SmolVLMProcessor"}))
    return folder


@without_torchvision
def test_a_processor_that_cannot_do_without_names_all_packages_at_once(tmp_path: Path):
    with pytest.raises(MissingDependencyError) as caught:
        Policy.load(smolvlm2(tmp_path), device="cpu")
    packages = [name for name in ("torchvision", "num2words") if find_spec(name) is None]
    text = str(caught.value)
    assert text.endswith(f"not installed here; pip install {' '.join(packages)}") and "\n" not in text
    assert text.startswith("SmolVLMProcessor of ")


@without_torchvision
def test_pictures_that_need_torchvision(tmp_path: Path):
    """Lfm2-VL has no image processor without it, so leaving videos out would not help."""
    Lfm2VlConfig().save_pretrained(tmp_path)
    build_tokenizer(LLAMA).save_pretrained(tmp_path)
    parts = {"processor_class": "Lfm2VlProcessor", "image_processor_type": "Lfm2VlImageProcessor"}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(parts))
    with pytest.raises(MissingDependencyError, match=r"Lfm2VlProcessor of .* needs torchvision"):
        Policy.load(tmp_path, device="cpu")


@without_torchvision
def test_the_command_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--model", str(smolvlm2(tmp_path)), "--device", "cpu", "--output", str(tmp_path / "run")]
    assert train.main(words) == USER_MISTAKE
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and "pip install torchvision" in error
    assert not (tmp_path / "run").exists()


def test_a_text_model_has_a_tokenizer(tmp_path: Path):
    tokenizer = load(build("llama", tmp_path))
    assert tokenizer.get_vocab() == AutoTokenizer.from_pretrained(tmp_path).get_vocab()
    assert set(build_tokenizer(IDEFICS).get_vocab()) >= set(IDEFICS.control)
