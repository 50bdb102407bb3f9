"""Curiosity's model: the formula, bounded and reproducible learning, and what its gates keep."""

from __future__ import annotations

import pytest
import torch

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.curiosity.experience import EncodedRows
from pixelis.rewards.curiosity.model import CuriosityModel
from pixelis.rewards.curiosity.settings import CuriositySettings


def random_rows(count: int, seed: int = 0) -> EncodedRows:
    generator = torch.Generator().manual_seed(seed)
    return EncodedRows(*(torch.randn(count, size, generator=generator) for size in (768, 128, 768)))


def silent(settings: CuriositySettings) -> CuriosityModel:
    """Return a model whose prediction is always zero."""
    model = CuriosityModel(settings)
    with torch.no_grad():
        for part in model.forward_model.parameters():
            part.zero_()
    return model


@pytest.mark.parametrize(("eta", "expected"), [(0.5, 0.25 * 4), (1.0, 0.5 * 4), (0.0, 0.0)])
def test_reward_is_half_eta_times_the_mean_square(eta: float, expected: float):
    model = silent(CuriositySettings(eta=eta))
    rows = EncodedRows(torch.ones(1, 768), torch.ones(1, 128), torch.full((1, 768), 2.0))
    assert model.rewards(rows).tolist() == pytest.approx([expected])


def test_reward_counts_gates_and_mean():
    model = silent(CuriositySettings())
    model.features.mean.fill_(1.0)
    model.features.log_gates[:384] = torch.tensor(0.5).log()
    rows = EncodedRows(torch.ones(1, 768), torch.ones(1, 128), torch.full((1, 768), 3.0))
    # Half of the dimensions are 0.5 * (3 - 1) = 1, the others 2: a mean square of 2.5.
    assert model.rewards(rows).tolist() == pytest.approx([0.25 * 2.5])


def test_reward_is_the_error_of_the_forward_model():
    model, rows = CuriosityModel(CuriositySettings()), random_rows(5)
    for seed in range(4):
        model.learn(random_rows(16, seed).packed())
    before, after = model.features(rows.states), model.features(rows.next_states)
    errors = (model.forward_model(before, rows.actions) - after).square().mean(1)
    assert model.features.gates.min() < 1
    assert torch.allclose(model.rewards(rows), 0.25 * errors, rtol=1e-4)


def test_learning_makes_predictions_better_and_leaves_the_base():
    model, rows = CuriosityModel(CuriositySettings()), random_rows(16)
    base = [part.clone() for part in model.forward_model.parameters() if not part.requires_grad]
    reports = [model.learn(rows.packed()) for _ in range(30)]
    assert reports[-1]["forward_loss"] < 0.6 * reports[0]["forward_loss"]
    assert reports[-1]["inverse_loss"] < 0.3 * reports[0]["inverse_loss"]
    frozen = [part for part in model.forward_model.parameters() if not part.requires_grad]
    assert all(torch.equal(a, b) for a, b in zip(frozen, base, strict=True))


@pytest.mark.parametrize(("new", "updates"), [(0, 0), (15, 0), (16, 3), (40, 6), (64, 9), (2000, 9)])
def test_updates_are_bounded(new: int, updates: int):
    model = CuriosityModel(CuriositySettings())
    assert model.learn(random_rows(new).packed())["updates"] == updates
    assert model.updates == updates


def test_transitions_wait_until_there_are_enough():
    model, rows = CuriosityModel(CuriositySettings()), random_rows(16).packed()
    assert model.learn(rows[:10])["updates"] == 0
    assert model.learn(rows[10:])["updates"] == 3
    at_once = CuriosityModel(CuriositySettings())
    at_once.learn(rows)
    assert torch.equal(model.rewards(random_rows(3)), at_once.rewards(random_rows(3)))


def learnt_bits(seed: int = 0) -> torch.Tensor:
    model = CuriosityModel(CuriositySettings(seed=seed))
    for index in range(3):
        model.learn(random_rows(20, index).packed())
    return model.rewards(random_rows(6, 9))


def test_same_calls_give_the_same_bits():
    first = learnt_bits()
    torch.manual_seed(99)
    before = torch.get_rng_state()
    assert torch.equal(learnt_bits(), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(learnt_bits(seed=1), first)


def test_restored_model_goes_on_to_the_same_bits():
    model = CuriosityModel(CuriositySettings())
    model.learn(random_rows(40).packed())
    other = CuriosityModel(CuriositySettings())
    other.load_state_dict(model.state_dict())
    state = model.state_dict()
    for each in (model, other):
        each.learn(random_rows(40, 1).packed())
    assert torch.equal(model.rewards(random_rows(4)), other.rewards(random_rows(4)))
    late = CuriosityModel(CuriositySettings())
    late.load_state_dict(state)  # a state is a copy: what was learnt after it is not in it
    assert late.updates == 6 and not torch.equal(late.rewards(random_rows(4)), model.rewards(random_rows(4)))


def tell_tale(count: int, seed: int) -> EncodedRows:
    """Return rows where 128 dimensions change with the action, 128 are noise, and the rest never change."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.zeros(count, 768)
    nexts = torch.zeros(count, 768)
    actions = torch.randn(count, 128, generator=generator)
    nexts[:, :128] = actions
    for side in (states, nexts):
        side[:, 128:256] = torch.randn(count, 128, generator=generator)
    return EncodedRows(states, actions, nexts)


def test_gates_close_on_noise_and_stay_open_elsewhere():
    model = CuriosityModel(CuriositySettings())
    for seed in range(40):
        model.learn(tell_tale(16, seed).packed())
    telling, noise, still = (*model.features.gates[:256].split(128), model.features.gates[256:])
    assert noise.mean() < 0.3
    assert telling.mean() > 0.8
    assert (still == 1).all()


def test_no_gate_learning_leaves_every_gate_open():
    model = CuriosityModel(CuriositySettings(gate_learning_rate=0.0))
    model.learn(tell_tale(64, 0).packed())
    assert (model.features.gates == 1).all()


def test_loss_that_is_not_finite():
    model, rows = CuriosityModel(CuriositySettings()), random_rows(16)
    with torch.no_grad():
        model.inverse_model.out.bias.fill_(float("inf"))
    with pytest.raises(RewardError, match="curiosity: the loss is not finite"):
        model.learn(rows.packed())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eta", -0.1),
        ("eta", float("nan")),
        ("beta", 1.1),
        ("beta", "0.2"),
        ("rank", 0),
        ("rank", 8.0),
        ("cache_size", 0),
        ("cache_max_age", -1),
        ("gate_recovery", 2),
        ("learning_rate", float("inf")),
        ("seed", -1),
        ("max_updates", True),
    ],
)
def test_settings_out_of_range(name: str, value: object):
    with pytest.raises(ConfigError, match=f"curiosity: {name} must be .* got {value!r}"):
        CuriositySettings(**{name: value})  # type: ignore[arg-type]
