"""Loading by one path, scoring episodes, the adapter and its reference."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.lora import language_linears
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.errors import ConfigError, ModelLoadError, PixelisError


def episode(*parts: tuple[list[int], bool]) -> Episode:
    segments = [Segment.written(ids) if wrote else Segment.given(ids) for ids, wrote in parts]
    return Episode("Toy-v0", 0, 0, 0, segments)


EPISODES = [
    episode(([10, 11, 12], False), ([20, 21], True), ([30, 31, 32, 33], False), ([40], True)),
    episode(([10, 11], False), ([50, 51, 52], True)),
]


def nudge(policy: Policy) -> None:
    """Give a fresh adapter an effect: its B matrices begin at zero."""
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))


@pytest.fixture
def adapted(text_folder: Path) -> Policy:
    policy = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2, alpha=4))
    nudge(policy)
    return policy


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_are_those_of_one_plain_forward_an_episode(text_policy: Policy, temperature: float):
    scored = text_policy.logprobs(EPISODES, temperature)
    assert scored.logprobs.shape == scored.mask.shape == scored.entropy.shape == (2, 10)
    for row, played in enumerate(EPISODES):
        ids = torch.from_numpy(played.tokens)[None]
        with torch.no_grad():
            logits = text_policy.model(ids).logits[0].double() / temperature
        distribution = torch.distributions.Categorical(logits=logits[:-1])
        for position in np.flatnonzero(played.loss_mask):
            expected = distribution.log_prob(ids[0, 1:])[position - 1].item()
            assert scored.logprobs[row, position].item() == pytest.approx(expected, abs=1e-5)
            assert scored.entropy[row, position].item() == pytest.approx(
                distribution.entropy()[position - 1].item(), abs=1e-5
            )
        assert scored.mask[row, : len(played)].tolist() == played.loss_mask.tolist()
    unsampled = ~scored.mask
    assert (scored.logprobs[unsampled] == 0).all() and (scored.entropy[unsampled] == 0).all()


def test_only_the_adapter_gets_a_gradient(adapted: Policy):
    scored = adapted.logprobs(EPISODES)
    assert not scored.entropy.requires_grad
    scored.logprobs.sum().backward()
    named = dict(adapted.model.named_parameters())
    with_gradient = {name for name, parameter in named.items() if parameter.grad is not None}
    assert with_gradient and all("lora_" in name for name in with_gradient)
    assert len(with_gradient) == len(adapted.trainable_parameters())


def test_the_output_head_runs_only_where_it_is_needed(text_policy: Policy):
    rows: list[torch.Size] = []
    handle = text_policy.base.get_output_embeddings().register_forward_hook(
        lambda _m, _i, out: rows.append(out.shape)
    )
    text_policy.logprobs(EPISODES)
    rows.clear()
    text_policy.logprobs(EPISODES)
    handle.remove()
    assert [shape[0] for shape in rows] == [6]  # 3 + 3 sampled tokens


def test_a_sampled_first_token_is_refused(text_policy: Policy):
    with pytest.raises(ValueError, match="nothing precedes it"):
        text_policy.logprobs([episode(([1, 2], True))])


def test_the_reference_is_the_base_and_the_adapter_comes_back(adapted: Policy, text_policy: Policy):
    before = adapted.logprobs(EPISODES).logprobs
    with adapted.reference(), torch.no_grad():
        reference = adapted.logprobs(EPISODES).logprobs
    torch.testing.assert_close(reference, text_policy.logprobs(EPISODES).logprobs, atol=1e-6, rtol=0)
    assert (reference - before).abs().max() > 1e-3
    assert torch.equal(adapted.logprobs(EPISODES).logprobs, before)


def test_a_reference_needs_an_adapter(text_policy: Policy, tmp_path: Path):
    with pytest.raises(ConfigError, match="adapter"), text_policy.reference():
        pass
    with pytest.raises(ConfigError, match="no adapter"):
        text_policy.save_adapter(tmp_path)


def test_folding_changes_no_result_and_leaves_the_weights_as_they_were(adapted: Policy):
    before = {name: value.clone() for name, value in adapted.model.state_dict().items()}
    plain = adapted.logprobs(EPISODES).logprobs.detach()
    with adapted.folded(), torch.no_grad():
        folded = adapted.logprobs(EPISODES).logprobs
        changed = [
            name for name, value in adapted.model.state_dict().items() if not torch.equal(value, before[name])
        ]
    assert changed  # the adapter really was in the weights
    torch.testing.assert_close(folded, plain, atol=1e-5, rtol=0)
    with pytest.raises(KeyError), adapted.folded():
        raise KeyError("an env failed")
    assert all(torch.equal(value, before[name]) for name, value in adapted.model.state_dict().items())
    assert torch.equal(adapted.logprobs(EPISODES).logprobs.detach(), plain)


def test_lora_adapts_the_language_part_unless_told_otherwise(vision_folder: Path):
    model = Policy.load(vision_folder, device="cpu").model
    language = language_linears(model)
    assert len(language) == 14 and all(
        ".language_model." in name for name in language
    )  # 7 in each of 2 layers
    assert "lm_head" not in language_linears(model, include_vision=True)
    whole = Policy.load(vision_folder, device="cpu", lora=LoraSettings(rank=2, include_vision=True))
    adapted = [name for name, value in whole.model.named_parameters() if value.requires_grad]
    assert any("projector" in name for name in adapted) and any("vision_tower" in name for name in adapted)
    policy = Policy.load(vision_folder, device="cpu", lora=LoraSettings(rank=2))
    trained = {name for name, value in policy.model.named_parameters() if value.requires_grad}
    assert trained and all("language_model" in name for name in trained)


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"alpha": 0}, {"dropout": 1.0}])
def test_lora_settings_out_of_range_are_refused(wrong: dict[str, float]):
    with pytest.raises(ConfigError, match="LoRA needs"):
        LoraSettings(**wrong)


def test_an_adapter_folder_loads_on_its_base(adapted: Policy, tmp_path: Path):
    expected = adapted.logprobs(EPISODES).logprobs
    adapted.save_adapter(tmp_path)
    again = Policy.load(tmp_path, device="cpu", lora=LoraSettings(rank=7))
    assert torch.equal(again.logprobs(EPISODES).logprobs, expected)
    assert again.base_name == adapted.base_name
    assert len(again.trainable_parameters()) == len(adapted.trainable_parameters())


def test_a_saved_policy_is_an_ordinary_model_folder(adapted: Policy, tmp_path: Path):
    expected = adapted.logprobs(EPISODES).logprobs
    adapted.save(tmp_path)
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert not [name for name in plain.state_dict() if "lora" in name]
    again = Policy.load(tmp_path, device="cpu")
    torch.testing.assert_close(again.logprobs(EPISODES).logprobs, expected, atol=1e-5, rtol=0)
    assert adapted.has_adapter  # saving changed nothing


def test_both_kinds_of_model_load_by_the_same_call(text_policy: Policy, vision_policy: Policy):
    assert type(text_policy.base).__name__ == "Qwen2ForCausalLM"
    assert type(vision_policy.base).__name__ == "LlavaForConditionalGeneration"
    assert (text_policy.chat.sees_images, vision_policy.chat.sees_images) == (False, True)
    assert text_policy.max_context == vision_policy.max_context == 512
    assert Policy.load(text_policy.base_name, device="cpu", dtype="bfloat16").base.dtype == torch.bfloat16


# ---------------------------------------------------------------------- what cannot be loaded


def one_line(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text and len(text) < 400
    return text


@pytest.mark.parametrize("name", ["/no/such/folder", "./nowhere", "a/b/c", Path("missing")])
def test_a_path_without_a_model_is_told_apart_from_a_hub_id(name: str | Path):
    with pytest.raises(ModelLoadError) as caught:
        Policy.load(name)
    assert "there is none at" in one_line(caught.value)


def test_a_folder_without_a_config_is_one_clear_error(tmp_path: Path):
    with pytest.raises(ModelLoadError, match=r"config\.json"):
        Policy.load(tmp_path)


@pytest.mark.parametrize("damage", ["config", "weights", "missing weights"])
def test_a_damaged_folder_is_one_clear_error(damage: str, text_folder: Path, tmp_path: Path):
    folder = tmp_path / "model"
    shutil.copytree(text_folder, folder)
    weights = folder / "model.safetensors"
    if damage == "config":
        (folder / "config.json").write_text("{broken")
    elif damage == "weights":
        weights.write_bytes(weights.read_bytes()[:1000])
    else:
        weights.unlink()
    with pytest.raises(ModelLoadError) as caught:
        Policy.load(folder)
    assert str(folder) in one_line(caught.value)


def test_an_adapter_whose_base_is_gone_names_the_base(adapted: Policy, tmp_path: Path):
    adapted.save_adapter(tmp_path)
    file = tmp_path / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "base_model_name_or_path": "/gone/base"}))
    with pytest.raises(ModelLoadError, match="/gone/base"):
        Policy.load(tmp_path)


def test_a_hub_that_cannot_be_reached_is_one_line_and_quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    start = time.monotonic()
    with pytest.raises(ModelLoadError) as caught:
        Policy.load("pixelis-tests/does-not-exist")
    assert time.monotonic() - start < 60  # not minutes of retries
    text = one_line(caught.value)
    assert "cannot be reached" in text and "pixelis-tiny" in text


def test_a_misspelt_name_gets_a_suggestion(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelLoadError, match="did you mean 'pixelis-tiny'"):
        Policy.load("pixelis-tinny")


def test_an_adapter_of_a_relative_path_loads_from_elsewhere(
    text_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(text_folder.parent)
    policy = Policy.load(text_folder.name, device="cpu", lora=LoraSettings(rank=2))
    policy.save_adapter(tmp_path / "adapter")
    monkeypatch.chdir(tmp_path)
    assert Policy.load("adapter", device="cpu").base_name == str(text_folder.resolve())


def test_offline_mode_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelLoadError, match="HF_HUB_OFFLINE is set"):
        Policy.load("pixelis-tests/does-not-exist")


@pytest.mark.parametrize("wrong", [{"dtype": "int3"}, {"device": "quantum"}, {"device": "cuda:99"}])
def test_an_unknown_dtype_or_device_is_refused(wrong: dict[str, str], text_folder: Path):
    if wrong.get("device", "").startswith("cuda") and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ConfigError):
        Policy.load(text_folder, **wrong)


def test_load_errors_belong_to_the_package():
    assert issubclass(ModelLoadError, PixelisError)
