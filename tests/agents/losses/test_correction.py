"""Off-policy weights, by hand and against exact divergences."""

from __future__ import annotations

import math

import pytest
import torch

from pixelis.agents.losses.correction import CORRECTIONS, Importance, log_weights
from pixelis.agents.rl.run import TrainingRun

LOG2 = math.log(2)
# weights of the tokens: 2, 1/2 and (not sampled) huge; 4 alone
BEGAN = torch.tensor([[-1.0, -1.0, 50.0], [-1.0, 9.0, 9.0]], dtype=torch.float64)
SAMPLER = torch.tensor([[-1 - LOG2, -1 + LOG2, -50.0], [-1 - 2 * LOG2, 0, 0]], dtype=torch.float64)
INSIDE = torch.tensor([[True, True, False], [True, False, False]])


def test_token_weights_by_hand():
    got = log_weights(BEGAN, SAMPLER, INSIDE, "token").exp()
    torch.testing.assert_close(got, torch.tensor([[2.0, 0.5, 1.0], [4.0, 1.0, 1.0]], dtype=torch.float64))


def test_sequence_weights_by_hand():
    # 2 x 1/2 = 1 at every sampled token of the first row, 4 in the second
    got = log_weights(BEGAN, SAMPLER, INSIDE, "sequence").exp()
    torch.testing.assert_close(got, torch.tensor([[1.0, 1.0, 1.0], [4.0, 1.0, 1.0]], dtype=torch.float64))


def test_weights_have_no_gradient_and_cannot_overflow():
    began = torch.tensor([[500.0]], requires_grad=True)
    got = log_weights(began, torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.bool), "token")
    assert not got.requires_grad and got.item() == 20


def test_truncate_and_mask_by_hand():
    weights = torch.tensor([0.1, 1.0, 3.0, 3.1, 1e9])
    torch.testing.assert_close(CORRECTIONS["truncate"](weights, 3.0), torch.tensor([0.1, 1.0, 3.0, 3.0, 3.0]))
    torch.testing.assert_close(CORRECTIONS["mask"](weights, 3.0), torch.tensor([0.1, 1.0, 3.0, 0.0, 0.0]))


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="level must be one of"):
        log_weights(BEGAN, SAMPLER, INSIDE, "word")


def test_importance_by_hand():
    got = Importance.of(BEGAN, SAMPLER, INSIDE)
    # tokens 2, 1/2, 4: sum 6.5, squares 4 + 0.25 + 16 = 20.25; sequences 1, 4: sum 5, squares 17
    assert (got.tokens, got.sequences) == (3, 2)
    assert got.effective_tokens == pytest.approx(6.5**2 / (3 * 20.25))
    assert got.effective_sequences == pytest.approx(25 / (2 * 17))
    assert got.chi_squared == pytest.approx(20.25 / 3 - 1)


def test_importance_adds_up_over_any_split():
    parts = [
        Importance.of(BEGAN[row : row + 1], SAMPLER[row : row + 1], INSIDE[row : row + 1]) for row in (0, 1)
    ]
    together = Importance.of(BEGAN, SAMPLER, INSIDE)
    assert (parts[0] + parts[1]).token_squares == pytest.approx(together.token_squares)
    assert (Importance() + together) == together
    assert parts[0] + parts[1] == parts[1] + parts[0]


def test_one_policy_has_full_size_and_no_divergence():
    got = Importance.of(BEGAN, BEGAN, INSIDE)
    assert (got.effective_tokens, got.effective_sequences, got.chi_squared) == (1, 1, 0)


def test_importance_of_nothing():
    got = Importance.of(BEGAN, SAMPLER, torch.zeros_like(INSIDE))
    assert got.effective_tokens is None and got.effective_sequences is None and got.chi_squared is None
    assert Importance().chi_squared is None


def test_chi_squared_estimates_the_divergence():
    # pi = (0.7, 0.2, 0.1), sampler q = (0.5, 0.25, 0.25): sum p^2 / q - 1 = 0.98 + 0.16 + 0.04 - 1 = 0.18.
    # A sample of 20 tokens in just the proportions of q: 10, 5 and 5.
    kinds = torch.tensor([0] * 10 + [1] * 5 + [2] * 5)
    policy, sampler = torch.tensor([0.7, 0.2, 0.1]).log(), torch.tensor([0.5, 0.25, 0.25]).log()
    got = Importance.of(policy[kinds][None], sampler[kinds][None], torch.ones(1, 20, dtype=torch.bool))
    assert got.chi_squared == pytest.approx(0.18, rel=1e-5)
    assert got.effective_tokens == pytest.approx(1 / 1.18, rel=1e-5)  # mean weight 1, mean square 1.18


def test_nucleus_sampling_is_a_mismatch_once_it_is_corrected(toy_config, tmp_path):
    """With top_p 0.8 the sampler gives each kept token up to 5/4 of its probability: weights of 4/5 to 1."""
    rows = {}
    for correction in ("none", "truncate"):
        changes = {"top_p": 0.8, "beta": 0.0, "groups": 16, "max_new_tokens": 1}
        config = toy_config(loss={"correction": correction}, output=str(tmp_path / correction), **changes)
        with TrainingRun.start(config) as run:
            rows[correction], _, _ = run.trainer.step()
    assert rows["none"]["policy/mismatch"] < 1e-5
    assert 0.05 < rows["truncate"]["policy/mismatch"] <= math.log(5 / 4) + 1e-5
    assert rows["truncate"]["policy/chi_squared"] < -0.05  # mean v² < 1: the tail was never drawn
    assert rows["truncate"]["policy/corrected"] == 0  # no weight is above 1
    assert 0 < rows["truncate"]["policy/grad_norm"] < 0.99 * rows["none"]["policy/grad_norm"]
