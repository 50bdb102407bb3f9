"""The networks of curiosity: their sizes, their adapters, and that nothing global is drawn from."""

from __future__ import annotations

import pytest
import torch

from pixelis.rewards.curiosity.dynamics import InverseModel, LoRADynamicsModel, LoRALinear, seeded_linear


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_trains_21504_of_514304_parameters():
    model = LoRADynamicsModel(8, generator())
    assert model.trainable_parameters == 8 * (896 + 256) + 8 * (256 + 256) + 8 * (256 + 768) == 21_504
    base = 896 * 256 + 256 + 256 * 256 + 256 + 256 * 768 + 768
    assert base == 492_800
    assert sum(part.numel() for part in model.parameters()) == base + 21_504 == 514_304


@pytest.mark.parametrize(("rank", "expected"), [(1, 2_688), (4, 10_752), (16, 43_008)])
def test_other_ranks(rank: int, expected: int):
    assert LoRADynamicsModel(rank, generator()).trainable_parameters == expected


def test_only_adapters_get_gradients():
    model = LoRADynamicsModel(8, generator())
    model(torch.ones(2, 768), torch.ones(2, 128)).sum().backward()
    named = {name: part.grad is not None for name, part in model.named_parameters()}
    assert {name for name, has in named.items() if has} == {
        f"layers.{layer}.{part}" for layer in range(3) for part in ("down", "up")
    }


def test_adapter_changes_nothing_at_first():
    layer = LoRALinear(5, 3, 2, generator())
    x = torch.randn(4, 5, generator=generator(1))
    assert torch.equal(layer(x), layer.base(x))


def test_adapter_adds_twice_its_product():
    layer = LoRALinear(2, 2, 1, generator())
    with torch.no_grad():
        layer.base.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        layer.base.bias.copy_(torch.tensor([0.5, 0.0]))
        layer.down.copy_(torch.tensor([[1.0, 2.0]]))
        layer.up.copy_(torch.tensor([[1.0], [-1.0]]))
    # x = (3, 1): down gives 5, up gives (5, -5), twice that is (10, -10).
    assert layer(torch.tensor([[3.0, 1.0]])).tolist() == [[13.5, -9.0]]
    weight, bias = layer.folded()
    assert weight.tolist() == [[3.0, 4.0], [-2.0, -3.0]]
    assert bias.tolist() == [0.5, 0.0]


def test_folded_layers_predict_the_same():
    model = LoRADynamicsModel(8, generator())
    with torch.no_grad():
        for layer in model.layers:
            layer.up.normal_(generator=generator(2))  # type: ignore[union-attr]
    states, actions = torch.randn(3, 768, generator=generator(3)), torch.randn(3, 128, generator=generator(4))
    x = torch.cat([states, actions], 1)
    (w1, b1), (w2, b2), (w3, b3) = model.folded()
    by_hand = torch.relu(torch.relu(x @ w1.t() + b1) @ w2.t() + b2) @ w3.t() + b3
    assert torch.allclose(model(states, actions), by_hand, atol=1e-3, rtol=1e-4)


def test_inverse_model_has_its_shape():
    model = InverseModel(generator())
    assert model(torch.zeros(2, 768), torch.zeros(2, 768)).shape == (2, 128)
    assert sum(part.numel() for part in model.parameters()) == 1536 * 256 + 256 + 256 * 128 + 128


def test_start_is_seeded_and_bounded():
    layer = seeded_linear(100, 50, generator(7))
    assert layer.weight.abs().max() <= 0.1
    assert layer.weight.std().item() == pytest.approx(0.2 / 12**0.5, rel=0.05)
    assert torch.equal(layer.weight, seeded_linear(100, 50, generator(7)).weight)
    assert not torch.equal(layer.weight, seeded_linear(100, 50, generator(8)).weight)


def test_global_generator_is_left_alone():
    before = torch.get_rng_state()
    LoRADynamicsModel(8, generator())
    InverseModel(generator())
    assert torch.equal(torch.get_rng_state(), before)
