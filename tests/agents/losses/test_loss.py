"""The composed loss: by hand, by finite differences, and independent of the micro-batch split."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from pixelis.agents.losses.aggregation import AGGREGATIONS, StepCounts
from pixelis.agents.losses.correction import CORRECTIONS, LEVELS
from pixelis.agents.losses.loss import LossInputs, LossSettings, grpo_loss
from pixelis.agents.losses.ratio import RATIOS
from pixelis.agents.losses.surrogate import SURROGATES
from pixelis.errors import ConfigError

MASK = torch.tensor([[0, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 1, 1], [0, 1, 1, 0, 0]], dtype=torch.bool)
COUNTS = StepCounts(tokens=10, sequences=4, max_completion_length=6)
PENALTIES = [
    {"kl": kl, "beta": beta, "kl_ratio": weighed}
    for kl, beta, weighed in (
        ("k3", 0.0, False),
        ("k3", 0.1, False),
        ("k3", 0.1, True),
        ("k2", 0.1, False),
        ("k1", 0.1, True),
        ("k1", 0.1, False),
    )
]
CUTS = [
    {"correction": correction, "correction_level": level, "correction_cap": 1.2}
    for correction in sorted(CORRECTIONS)
    for level in LEVELS
]
CONSTANTS = {"epsilon_low": 0.1, "epsilon_high": 0.28, "dual_clip": 1.3, "sapo_negative": 1.5}
EVERY_SETTING = [
    pytest.param(LossSettings(**CONSTANTS, **changes), id="-".join(map(str, changes.values())))
    for changes in [
        {"surrogate": surrogate, "ratio": ratio, "aggregation": aggregation}
        for surrogate in sorted(SURROGATES)
        for ratio in sorted(RATIOS)
        for aggregation in sorted(AGGREGATIONS)
    ]
    + [{"aggregation": name, **penalty} for name in sorted(AGGREGATIONS) for penalty in PENALTIES[1:]]
    + [{"ratio": "sequence", **penalty} for penalty in PENALTIES[1:]]
    + [{"surrogate": name, **cut} for name in sorted(SURROGATES) for cut in CUTS]
    + [{"ratio": "sequence", "aggregation": "sequence_mean", **cut, **PENALTIES[2]} for cut in CUTS]
]


def make_inputs(logprobs=None):
    generator = torch.Generator().manual_seed(5)
    draw = torch.randn(4, 4, 5, generator=generator, dtype=torch.float64)
    base = -draw[0].abs() - 0.1
    return LossInputs(
        logprobs=(base if logprobs is None else logprobs),
        old_logprobs=base + 0.3 * draw[1],
        reference_logprobs=base + 0.3 * draw[2],
        proximal_logprobs=base + 0.15 * draw[3],
        advantages=torch.tensor([1.0, -1.5, 0.5, -0.2], dtype=torch.float64),
        mask=MASK,
    )


def rows(inputs, chosen):
    return LossInputs(
        inputs.logprobs[chosen],
        inputs.old_logprobs[chosen],
        inputs.advantages[chosen],
        inputs.mask[chosen],
        inputs.reference_logprobs[chosen],
        inputs.proximal_logprobs[chosen],
    )


def test_by_hand_on_policy():
    # ratio 1 everywhere: the loss is -(2 tokens x 1.5 - 1 token x 0.5) / 3 tokens, plus beta x k2 of d = 0.2
    logprobs = torch.tensor([[-1.0, -1.0], [-2.0, 0.0]])
    inputs = LossInputs(
        logprobs,
        logprobs,
        torch.tensor([1.5, -0.5]),
        torch.tensor([[True, True], [True, False]]),
        reference_logprobs=logprobs + 0.2,
    )
    settings = LossSettings(kl="k2", beta=0.5)
    result = grpo_loss(inputs, settings, StepCounts(tokens=3, sequences=2, max_completion_length=2))
    assert result.loss.item() == pytest.approx(-2.5 / 3 + 0.5 * 0.02, rel=1e-5)
    assert (result.tokens, result.mismatch, result.clipped_low, result.clipped_high) == (3, 0, 0, 0)
    assert result.kl == pytest.approx(3 * 0.02, rel=1e-5)


def test_clipping_is_counted():
    mask = torch.tensor([[True, True, True, False]])
    new = torch.log(torch.tensor([[1.5, 1.1, 0.5, 9.0]]))
    up = grpo_loss(LossInputs(new, torch.zeros(1, 4), torch.tensor([1.0]), mask), LossSettings(), COUNTS)
    down = grpo_loss(LossInputs(new, torch.zeros(1, 4), torch.tensor([-1.0]), mask), LossSettings(), COUNTS)
    assert (up.clipped_low, up.clipped_high) == (0, 1)
    assert (down.clipped_low, down.clipped_high) == (1, 0)


def test_without_beta_the_logged_kl_is_to_the_sampler():
    inputs = LossInputs(
        torch.tensor([[-1.0]]), torch.tensor([[-0.5]]), torch.tensor([0.0]), torch.tensor([[True]])
    )
    assert grpo_loss(inputs, LossSettings(), COUNTS).kl == pytest.approx(0.1487213, rel=1e-5)  # e^0.5 - 1.5


@pytest.mark.parametrize("settings", EVERY_SETTING)
@pytest.mark.parametrize("split", [(1, 3), (2, 2), (1, 1, 1, 1)])
def test_the_micro_batch_split_cannot_change_the_gradient(settings, split):
    def gradient(parts):
        leaf = make_inputs().logprobs.clone().requires_grad_()
        inputs, start = make_inputs(leaf), 0
        for size in parts:
            grpo_loss(rows(inputs, slice(start, start + size)), settings, COUNTS).loss.backward(
                retain_graph=True
            )
            start += size
        return leaf.grad

    torch.testing.assert_close(gradient(split), gradient((4,)), rtol=1e-6, atol=1e-12)


def test_at_this_point_every_bound_acts():
    at = make_inputs()
    clipped = grpo_loss(at, LossSettings(**CONSTANTS), COUNTS)
    assert clipped.clipped_low > 0 and clipped.clipped_high > 0
    dual = grpo_loss(at, LossSettings(**CONSTANTS, surrogate="dual_clip"), COUNTS)
    assert dual.clipped_high > clipped.clipped_high and dual.loss.item() < clipped.loss.item()
    assert grpo_loss(at, LossSettings(**CONSTANTS, surrogate="cispo"), COUNTS).clipped_high > 0
    assert grpo_loss(at, LossSettings(**CONSTANTS, ratio="sequence"), COUNTS).clipped_low > 0
    for cut in CUTS:
        assert 0 < grpo_loss(at, LossSettings(**cut), COUNTS).corrected < 10


class HeldStops:
    """Makes ``Tensor.detach`` give again, in the same order, what it gave at a base point.

    A stopped gradient means: this number stays what it is while the log-probabilities move. Finite
    differences can only see that if the number does stay.
    """

    def __init__(self, monkeypatch):
        self.plain, self.values, self.next = torch.Tensor.detach, [], None
        monkeypatch.setattr(torch.Tensor, "detach", lambda tensor: self(tensor))

    def __call__(self, tensor):
        if self.next is None:
            self.values.append(self.plain(tensor).clone())
            return self.plain(tensor)
        self.next += 1
        return self.values[self.next - 1]

    def again(self):
        self.next = 0


@pytest.mark.parametrize("settings", EVERY_SETTING)
def test_the_gradient_agrees_with_finite_differences(settings, monkeypatch):
    leaf = make_inputs().logprobs.clone().requires_grad_()
    numeric, step = torch.zeros(leaf.shape, dtype=torch.float64), 1e-6
    stops = HeldStops(monkeypatch)
    loss = grpo_loss(make_inputs(leaf), settings, COUNTS).loss
    monkeypatch.undo()
    (gradient,) = torch.autograd.grad(loss, leaf)
    stops_used = len(stops.values)
    monkeypatch.setattr(torch.Tensor, "detach", lambda tensor: stops(tensor))
    for place in MASK.nonzero().tolist():
        ends = []
        for sign in (1, -1):
            moved = leaf.data.clone()
            moved[tuple(place)] += sign * step
            stops.again()
            ends.append(float(grpo_loss(make_inputs(moved), settings, COUNTS).loss.data))
            assert stops.next == stops_used
        numeric[tuple(place)] = (ends[0] - ends[1]) / (2 * step)
    monkeypatch.undo()
    assert gradient.abs().max() > 0.01
    torch.testing.assert_close(gradient, numeric, rtol=1e-6, atol=1e-8)


def test_no_gradient_outside_the_mask():
    leaf = make_inputs().logprobs.clone().requires_grad_()
    grpo_loss(make_inputs(leaf), LossSettings(beta=0.1), COUNTS).loss.backward()
    assert leaf.grad is not None
    assert (leaf.grad[~MASK] == 0).all()
    assert (leaf.grad[MASK] != 0).any()


def test_leaving_out_an_episode_without_advantage_does_not_change_the_gradient():
    leaf = make_inputs().logprobs.clone().requires_grad_()
    inputs = replace(make_inputs(leaf), advantages=torch.tensor([1.0, 0.0, 0.5, -0.2], dtype=torch.float64))
    (all_rows,) = torch.autograd.grad(grpo_loss(inputs, LossSettings(), COUNTS).loss, leaf)
    (kept,) = torch.autograd.grad(grpo_loss(rows(inputs, [0, 2, 3]), LossSettings(), COUNTS).loss, leaf)
    torch.testing.assert_close(kept, all_rows, rtol=0, atol=0)


def test_advantages_by_token_equal_advantages_by_episode_when_repeated():
    inputs = make_inputs()
    by_token = replace(inputs, advantages=inputs.advantages[:, None].expand(4, 5))
    one, other = (grpo_loss(each, LossSettings(), COUNTS).loss.item() for each in (inputs, by_token))
    assert one == other


def test_beta_without_a_reference_is_refused():
    with pytest.raises(ValueError, match="needs reference_logprobs"):
        grpo_loss(replace(make_inputs(), reference_logprobs=None), LossSettings(beta=0.1), COUNTS)


@pytest.mark.parametrize(
    "change",
    [
        {"old_logprobs": torch.zeros(4, 4)},
        {"mask": MASK[:2]},
        {"advantages": torch.zeros(3)},
        {"reference_logprobs": torch.zeros(1, 5)},
        {"proximal_logprobs": torch.zeros(4, 1)},
    ],
)
def test_shapes_are_checked(change):
    with pytest.raises(ValueError, match="must"):
        replace(make_inputs(), **change)


def row_of(now, sampler, began=None, reference=None, advantage=1.0):
    """Return the inputs of one episode of two sampled tokens."""

    def tensor(values):
        return None if values is None else torch.tensor([values], dtype=torch.float64)

    return LossInputs(
        tensor(now),
        tensor(sampler),
        torch.tensor([advantage], dtype=torch.float64),
        torch.ones(1, 2, dtype=torch.bool),
        tensor(reference),
        tensor(began),
    )


LOG2 = math.log(2)
TWO = StepCounts(tokens=2, sequences=1, max_completion_length=4)


@pytest.mark.parametrize(
    ("correction", "level", "loss", "corrected"),
    [
        # the sampler gave the tokens 1/2 and twice the probability: weights 2 and 1/2, their product 1
        pytest.param("none", "token", -(1.2 + 0.5) / 2, 0, id="none: ratios 2 and 1/2 themselves, clipped"),
        pytest.param("truncate", "token", -(1.5 + 0.5) / 2, 1, id="min(2, 1.5) and 1/2, ratio 1"),
        pytest.param("mask", "token", -(0 + 0.5) / 2, 1, id="0 and 1/2, ratio 1"),
        pytest.param("truncate", "sequence", -(1 + 1) / 2, 0, id="1 for both, ratio 1"),
        pytest.param("mask", "sequence", -(1 + 1) / 2, 0, id="1 for both"),
    ],
)
def test_correction_by_hand(correction, level, loss, corrected):
    inputs = row_of(now=[-1.0, -2.0], sampler=[-1 - LOG2, -2 + LOG2])
    settings = LossSettings(correction=correction, correction_level=level, correction_cap=1.5)
    result = grpo_loss(inputs, settings, TWO)
    assert result.loss.item() == pytest.approx(loss)
    assert result.corrected == corrected
    assert result.mismatch == pytest.approx(2 * LOG2)


@pytest.mark.parametrize(("correction", "loss"), [("truncate", -1.5), ("mask", 0.0)])
def test_a_sequence_is_cut_as_a_whole(correction, loss):
    # weights 2 and 2, their product 4 > 1.5
    inputs = row_of(now=[-1.0, -2.0], sampler=[-1 - LOG2, -2 - LOG2])
    settings = LossSettings(correction=correction, correction_level="sequence", correction_cap=1.5)
    result = grpo_loss(inputs, settings, TWO)
    assert result.loss.item() == pytest.approx(loss)
    assert result.corrected == 2


def test_with_a_correction_the_ratio_is_against_the_beginning_of_the_update():
    # weights 2 and 1/2 of the beginning against the sampler; since then the tokens moved by 1.1 and 1.5,
    # and the second is clipped at 1.2
    began = [-1.0, -2.0]
    inputs = row_of(now=[-1 + math.log(1.1), -2 + math.log(1.5)], sampler=[-1 - LOG2, -2 + LOG2], began=began)
    result = grpo_loss(inputs, LossSettings(correction="truncate", correction_cap=3.0), TWO)
    assert result.loss.item() == pytest.approx(-(2 * 1.1 + 0.5 * 1.2) / 2)
    assert (result.clipped_high, result.corrected) == (1, 0)


def test_the_correction_leaves_the_penalty_alone():
    # mask: weight 0 for both, so the loss is beta k2 = 0.5 x 0.2^2 / 2
    inputs = row_of(now=[-1.0, -1.0], sampler=[-3.0, -3.0], reference=[-0.8, -0.8])
    settings = LossSettings(correction="mask", kl="k2", beta=0.5)
    assert grpo_loss(inputs, settings, TWO).loss.item() == pytest.approx(0.5 * 0.02)


def test_importance_is_measured_without_a_correction_too():
    result = grpo_loss(row_of(now=[-1.0, -2.0], sampler=[-1 - LOG2, -2 + LOG2]), LossSettings(), TWO)
    # weights 2 and 1/2: sum 2.5, squares 4.25
    assert result.importance.effective_tokens == pytest.approx(2.5**2 / (2 * 4.25))
    assert result.importance.chi_squared == pytest.approx(4.25 / 2 - 1)
    assert result.importance.effective_sequences == pytest.approx(1)


def test_the_kl_times_the_ratio_by_hand():
    # ratio 2 at both tokens; k1 = log pi - log ref = 0.5 and 0, k1 x ratio = 1 and 0; advantage 0
    inputs = row_of(now=[-1.0, -2.0], sampler=[-1 - LOG2, -2 - LOG2], reference=[-1.5, -2.0], advantage=0.0)
    result = grpo_loss(inputs, LossSettings(kl="k1", beta=0.1, kl_ratio=True), TWO)
    assert result.loss.item() == pytest.approx(0.1 * 1.0 / 2)
    assert result.kl == pytest.approx(1.0)


def exact_and_estimated(settings):
    """Return the gradient of KL(pi || ref), exact and as the mean over pi's own tokens, by the logits."""
    logits = torch.tensor([0.9, -0.3, 0.1], dtype=torch.float64, requires_grad=True)
    reference = torch.log_softmax(torch.tensor([0.0, 0.5, -0.5], dtype=torch.float64), -1)
    logprobs = torch.log_softmax(logits, -1)
    (exact,) = torch.autograd.grad((logprobs.exp() * (logprobs - reference)).sum(), logits, retain_graph=True)
    estimated = torch.zeros(3, dtype=torch.float64)
    for token in range(3):
        logprob = logprobs[token].view(1, 1)
        inputs = LossInputs(
            logprob,
            logprob.detach(),
            torch.zeros(1, dtype=torch.float64),
            torch.ones(1, 1, dtype=torch.bool),
            reference[token].view(1, 1),
        )
        loss = grpo_loss(inputs, settings, StepCounts(1, 1, 1)).loss
        (gradient,) = torch.autograd.grad(loss, logits, retain_graph=True)
        estimated += logprobs[token].exp().detach() * gradient
    return exact, estimated


@pytest.mark.parametrize(("kl", "weighed"), [("k1", True), ("k3", True), ("k2", False)])
def test_these_penalties_have_the_gradient_of_the_divergence(kl, weighed):
    exact, estimated = exact_and_estimated(LossSettings(kl=kl, beta=1.0, kl_ratio=weighed))
    torch.testing.assert_close(estimated, exact, rtol=1e-10, atol=1e-12)


def test_k1_in_the_loss_alone_pulls_nowhere():
    _, estimated = exact_and_estimated(LossSettings(kl="k1", beta=1.0))
    torch.testing.assert_close(estimated, torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-12)


def gspo(logprobs, inputs, low, high):
    """The published objective, written out: the mean over sequences of the clipped ratio of each."""
    total = torch.zeros((), dtype=torch.float64)
    for row, inside in enumerate(inputs.mask):
        difference = (logprobs[row] - inputs.old_logprobs[row])[inside]
        ratio = torch.exp(difference.sum() / len(difference))
        advantage = inputs.advantages[row]
        total = total - torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)
    return total / len(inputs.mask)


@pytest.mark.parametrize("high", [0.02, 0.28])
def test_the_sequence_ratio_is_gspo(high):
    leaf = make_inputs().logprobs.clone().requires_grad_()
    inputs = make_inputs(leaf)
    settings = LossSettings(
        ratio="sequence", aggregation="sequence_mean", epsilon_low=0.02, epsilon_high=high
    )
    ours, theirs = grpo_loss(inputs, settings, COUNTS).loss, gspo(leaf, inputs, 0.02, high)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-12)
    (got,), (expected,) = (torch.autograd.grad(each, leaf, retain_graph=True) for each in (ours, theirs))
    torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-15)


def test_a_sequence_ratio_moves_each_token_by_its_own_advantage():
    logprobs = torch.tensor([[-1.0, -1.0]], requires_grad=True)
    inputs = LossInputs(
        logprobs, logprobs.detach(), torch.tensor([[3.0, -1.0]]), torch.ones(1, 2, dtype=torch.bool)
    )
    grpo_loss(inputs, LossSettings(ratio="sequence"), TWO).loss.backward()
    assert logprobs.grad is not None and logprobs.grad.tolist() == [[-1.5, 0.5]]


@pytest.mark.parametrize("choice", ["ratio", "surrogate", "aggregation", "kl", "correction"])
def test_an_unknown_name_is_told_when_the_settings_are_made(choice):
    with pytest.raises(ConfigError, match="is registered as 'no_such_thing'"):
        LossSettings(**{choice: "no_such_thing"})


def test_an_unknown_level_is_told_when_the_settings_are_made():
    with pytest.raises(ConfigError, match="correction_level must be one of"):
        LossSettings(correction_level="word")
