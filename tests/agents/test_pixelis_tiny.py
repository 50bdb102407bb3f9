"""The model inside the package is an ordinary Hugging Face folder, and does what its card says."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.runs.evaluate import evaluate
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv

FOLDER = Path(str(files("pixelis"))) / "models" / "pixelis-tiny"


def test_the_folder_is_small_and_holds_no_pickle() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert sizes["model.safetensors"] <= 12_000_000
    assert {
        "config.json",
        "tokenizer.json",
        "processor_config.json",
        "chat_template.jinja",
        "README.md",
    } <= set(sizes)
    assert not [name for name in sizes if name.endswith((".bin", ".pt", ".pkl"))]


def test_transformers_loads_and_generates_with_it() -> None:
    model, processor = (
        AutoModelForImageTextToText.from_pretrained(FOLDER),
        AutoProcessor.from_pretrained(FOLDER),
    )
    observation, _ = ZoomReadEnv(reader="truth").reset(seed=0)
    content = [{"type": "image"}, {"type": "text", "text": observation["text"]}]
    prompt = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    inputs = processor(text=[prompt], images=[observation["image"]], return_tensors="pt")
    out = model.generate(**inputs, max_new_tokens=24, do_sample=False)
    said = processor.tokenizer.decode(out[0, inputs["input_ids"].shape[1] :])
    assert said.startswith(("<tool_call>", "<answer>"))
    assert said.endswith("<|end|>")


def test_any_text_survives_its_tokenizer() -> None:
    tokenizer = AutoProcessor.from_pretrained(FOLDER).tokenizer
    for text in ("KT47 [0.28, 0.69]", "héé 漢字 🙂\n\t", "10.15 sky blue ZOOM </tool_call>"):
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_package_s_name_for_it_loads_the_same_weights() -> None:
    model = AutoModelForImageTextToText.from_pretrained(FOLDER, dtype=torch.float32)
    policy = Policy.load("pixelis-tiny", device="cpu")
    ours = policy.model.state_dict()
    assert all(torch.equal(value, ours[name]) for name, value in model.state_dict().items())


def test_it_starts_between_a_random_sign_and_a_good_agent() -> None:
    """It solves more than reading a random sign would (1 in 6), and leaves most for GRPO to learn."""
    policy = Policy.load("pixelis-tiny", device="cpu")
    solved = evaluate(
        policy,
        lambda: ZoomReadEnv(reader="truth", max_turns=4),
        range(60),
        options={"split": "test", "difficulty": 1},
        settings=SamplingSettings(temperature=1.0, max_new_tokens=24),
    )
    assert 0.25 <= solved.success_rate <= 0.65
    assert np.isclose(solved.mean_reward, solved.success_rate)
