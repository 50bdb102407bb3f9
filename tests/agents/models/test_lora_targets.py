"""Which layers get an adapter, and dropout on what goes into it."""

from __future__ import annotations

import pytest
import torch

from pixelis.agents.models.lora import REFERENCE, chosen_linears, freeze_copy
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.saved_run import newest_adapter
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError

LAYERS = [f"model.layers.{number}." for number in (0, 1)]


def adapted(policy: Policy) -> set[str]:
    return {
        name.split(".lora_A")[0].split("model.", 2)[-1]
        for name, _ in policy.model.named_parameters()
        if "lora_A" in name
    }


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("q_proj", {"self_attn.q_proj"}),
        ("q_proj, v_proj", {"self_attn.q_proj", "self_attn.v_proj"}),
        ("mlp.up_proj,o_proj", {"mlp.up_proj", "self_attn.o_proj"}),
        (r".*\.(gate|up)_proj", {"mlp.gate_proj", "mlp.up_proj"}),
    ],
)
def test_names_and_expressions_choose_layers(text_policy, text, leaves):
    assert set(chosen_linears(text_policy.base, text)) == {
        f"{layer}{leaf}" for layer in LAYERS for leaf in leaves
    }


def test_an_expression_can_choose_single_layers_and_all_linear_means_vision_too(text_policy, vision_policy):
    assert chosen_linears(text_policy.base, r"model\.layers\.1\.mlp\.down_proj") == [
        "model.layers.1.mlp.down_proj"
    ]
    assert len(chosen_linears(text_policy.base, "all-linear")) == 14
    everywhere = chosen_linears(vision_policy.base, "all-linear")
    assert any("vision" in name for name in everywhere) and any("projector" in name for name in everywhere)
    assert not any("lm_head" in name for name in everywhere)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q_porj", "'q_porj' chooses no linear layer of Qwen2ForCausalLM.*Did you mean 'q_proj'"),
        ("q_proj,nothing", "'nothing' chooses no linear layer"),
        ("lm_head", "the output head cannot be chosen"),
        ("proj", "chooses no linear layer"),
        ("(q_proj", "no list of names and no regular expression"),
    ],
)
def test_what_chooses_nothing_is_refused(text_folder, text, message):
    with pytest.raises(ConfigError, match=message):
        Policy.load(text_folder, device="cpu", lora=LoraSettings(target_modules=text))


def test_a_run_trains_the_chosen_layers_only(toy_config, letter_model):
    run = train(toy_config(lora={"targets": "q_proj,down_proj"}))
    names = {
        name.split(".lora_")[0].rsplit(".", 1)[-1]
        for name, p in run.policy.model.named_parameters()
        if p.requires_grad
    }
    assert names == {"q_proj", "down_proj"}
    again = Policy.load(newest_adapter(run.folder.path)[0], device="cpu")
    assert adapted(again) == adapted(run.policy) and len(adapted(again)) == 4


# ------------------------------------------------------------------ dropout


def test_dropout_acts_in_gradient_passes_only_and_the_ratio_stays_one(toy_config):
    """Nothing is clipped and no KL to the sampler is measured on the first step, however much is dropped."""
    config = toy_config(
        lora={"dropout": 0.5},
        steps=4,
        beta=0.0,
        loss={"surrogate": {"epsilon_low": 1e-6, "epsilon_high": 1e-6}},
        lr=0.003,
    )
    with TrainingRun.start(config) as run:
        run.train()
        episodes = run.trainer._last[0]
        first, second = (run.policy.logprobs(episodes).logprobs for _ in range(2))
    assert torch.equal(first, second)  # scoring outside the gradient pass is without dropout
    rows = read_metrics(run.folder.metrics)
    trained = [row for row in rows if row["policy/grad_norm"] is not None]
    assert trained and all(row["policy/clip_low"] == row["policy/clip_high"] == 0 for row in trained)
    assert all(row["policy/kl_sampler"] == 0 and row["policy/mismatch"] is None for row in trained)
    without = train(config.with_values(lora={"dropout": 0.0}, output=config.output + "-2"))
    norms = [
        [row["policy/grad_norm"] for row in read_metrics(each.folder.metrics)] for each in (run, without)
    ]
    assert norms[0] != norms[1]


def test_a_run_with_dropout_resumes_to_the_same_numbers(toy_config):
    config = toy_config(lora={"dropout": 0.3}, steps=4)
    whole = train(config)
    part = config.with_values(output=config.output + "-2")
    train(part.with_values(steps=2))
    with TrainingRun.resume(part.output, part) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)


@pytest.mark.parametrize(
    "given",
    [
        {"epochs": 2},
        {"algorithm": {"replay": {"ratio": 0.5}}},
        {"dtype": "bfloat16"},
        {"loss": {"correction": "truncate"}},
    ],
)
def test_dropout_is_refused_where_the_ratio_would_not_be_known(given):
    with pytest.raises(ConfigError, match=r"lora\.dropout must be 0"):
        TrainConfig(lora={"dropout": 0.1}, **given)


def test_a_frozen_copy_asks_no_hub_for_a_base_that_is_known_by_name(text_folder):
    """PEFT would look up the base's vocabulary to decide on embeddings, and warn where it cannot."""
    model = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2, alpha=4)).model
    model.peft_config[model.active_adapter].base_model_name_or_path = "pixelis-mini"
    freeze_copy(model)  # a warning is an error here
    assert REFERENCE in model.peft_config
