"""Norms and ranks of an adapter's update, by hand and against the full matrix."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.publish.lora_analysis import (
    LayerUpdate,
    compare,
    effective_rank,
    inner_product,
    layer_updates,
    report_layer,
    singular_values,
    stable_rank,
)
from pixelis.errors import ConfigError


def update(b: list[list[float]], a: list[list[float]], scale: float = 1.0, norm: float = 1.0) -> LayerUpdate:
    return LayerUpdate("layer", torch.tensor(a), torch.tensor(b), scale, norm)


def test_a_layer_by_hand():
    # ΔW = 2 · [[3, 0], [0, 0], [0, 1]] · [[1, 0, 0, 0], [0, 0, 1, 0]]: singular values 6 and 2.
    layer = update([[3.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [[1.0, 0, 0, 0], [0, 0, 1.0, 0]], 2.0, norm=20.0)
    report = report_layer(layer)
    assert report.rank == 2
    assert report.norm == pytest.approx(math.sqrt(40))
    assert report.relative_norm == pytest.approx(math.sqrt(40) / 20)
    assert report.stable_rank == pytest.approx(40 / 36)
    # p = (3/4, 1/4): exp(H) = (4/3)^(3/4) · 4^(1/4)
    assert report.effective_rank == pytest.approx((4 / 3) ** 0.75 * 4**0.25)
    assert report.cosine is None


def test_ranks_of_known_spectra():
    for rank in (effective_rank, stable_rank):
        assert rank(torch.ones(5)) == pytest.approx(5)
        assert rank(torch.tensor([7.0, 0.0, 0.0])) == pytest.approx(1)
        assert rank(torch.zeros(3)) == 0
        assert rank(torch.tensor([3.0, 1.0])) == pytest.approx(rank(torch.tensor([6.0, 2.0])))


@given(st.integers(0, 1000), st.integers(1, 9), st.integers(1, 9), st.integers(1, 6), st.floats(0.1, 4))
def test_the_core_has_the_singular_values_of_the_whole(seed: int, out: int, into: int, r: int, scale: float):
    generator = torch.Generator().manual_seed(seed)
    b, a = torch.randn(out, r, generator=generator), torch.randn(r, into, generator=generator)
    whole = scale * b.double() @ a.double()
    expected = torch.linalg.svdvals(whole)
    values = singular_values(a, b, scale)
    count = min(out, into, r)
    torch.testing.assert_close(values[:count], expected[:count], atol=1e-9, rtol=1e-9)
    layer = LayerUpdate("x", a, b, scale, 1.0)
    assert inner_product(layer, layer) == pytest.approx(float(whole.square().sum()), rel=1e-9)
    report = report_layer(layer)
    assert 1 - 1e-9 <= report.stable_rank <= report.effective_rank**2 + 1e-9
    assert report.effective_rank <= count + 1e-9


def test_the_angle_between_two_updates_by_hand():
    east = update([[1.0], [0.0]], [[1.0, 0.0]])
    diagonal = update([[1.0], [0.0]], [[3.0, 3.0]], 0.5)
    south = update([[0.0], [1.0]], [[0.0, 1.0]])
    nothing = update([[0.0], [0.0]], [[1.0, 0.0]])
    assert report_layer(diagonal, east).cosine == pytest.approx(math.sqrt(0.5))
    assert report_layer(south, east).cosine == pytest.approx(0)
    assert report_layer(update([[-2.0], [0.0]], [[1.0, 0.0]]), east).cosine == pytest.approx(-1)
    assert report_layer(nothing, east).cosine is None and report_layer(east, nothing).cosine is None


def test_adapters_of_different_rank_side_by_side():
    one, two = update([[1.0], [0.0]], [[1.0, 0.0]]), update([[1.0, 0], [0, 1.0]], [[1.0, 0], [0, 1.0]])
    reports = compare({"one": [one], "two": [two]})
    assert [report.cosine for report in reports["one"]] == [None]
    assert reports["two"][0].cosine == pytest.approx(math.sqrt(0.5))
    assert [reports[name][0].rank for name in reports] == [1, 2]


@pytest.fixture
def adapted(text_folder: Path) -> Policy:
    policy = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=4, alpha=12))
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.normal_()
    return policy


def test_a_model_is_read_layer_by_layer(adapted: Policy):
    updates = layer_updates(adapted)
    assert len(updates) == 14 and updates[0].name == "model.layers.0.self_attn.q_proj"
    for found in updates:
        module = adapted.base.get_submodule(found.name)
        whole = module.get_delta_weight("default").detach()  # peft's own
        report = report_layer(found)
        assert found.scale == 3.0
        assert report.norm == pytest.approx(float(whole.norm()), rel=1e-5)
        assert report.relative_norm == pytest.approx(
            float(whole.norm() / module.get_base_layer().weight.detach().norm()), rel=1e-5
        )


def test_a_fresh_adapter_has_learnt_nothing(text_folder: Path):
    policy = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2))
    for found in layer_updates(policy):
        report = report_layer(found)
        assert (report.norm, report.effective_rank, report.stable_rank) == (0, 0, 0)


def test_without_an_adapter_there_is_nothing_to_measure(text_policy: Policy):
    with pytest.raises(ConfigError, match="no LoRA adapter"):
        layer_updates(text_policy)
