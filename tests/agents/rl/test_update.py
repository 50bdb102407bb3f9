"""The update phase on a real, tiny model."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.batch import StepBatch, make_batch
from pixelis.agents.rl.gradient import BatchGradient, UpdateSettings
from pixelis.agents.rl.update import Updater


@pytest.fixture
def policy(letter_model):
    torch.manual_seed(0)
    return Policy.load(letter_model, device="cpu", lora=LoraSettings(rank=4, alpha=8))


def sampled(policy, episodes):
    """Give episodes the log-probabilities that the policy would have recorded."""
    for episode in episodes:
        with torch.no_grad():
            logprobs = policy.logprobs([episode]).logprobs[0]
        start = 0
        for segment in episode.segments:
            segment.logprobs[:] = logprobs[start : start + len(segment)].numpy()
            start += len(segment)
    return episodes


def group(policy, play):
    return sampled(policy, [play(float(m % 2), member=m, sampled=m + 1) for m in range(4)])


def batch_of(episodes):
    return make_batch(episodes, groups=1, group_size=len(episodes), max_completion_length=8)


def updater(policy, **settings):
    loss = settings.pop("loss", LossSettings(beta=0.1))
    optimiser = Optimiser(policy.trainable_parameters(), lr=0.01, max_grad_norm=1e9)
    return Updater(optimiser, BatchGradient(policy, UpdateSettings(loss, **settings)))


def weights(policy):
    return torch.cat([parameter.detach().flatten() for parameter in policy.trainable_parameters()])


def gradient_of(policy, batch, size, loss):
    """Return the gradient of one epoch in micro-batches of a size, with the optimiser's own step left out."""
    work = updater(policy, micro_batch_size=size, loss=loss)
    work.optimiser.step = lambda value: 0.0  # type: ignore[method-assign]
    work.update(batch, batch.episodes)
    return torch.cat([p.grad.flatten() for p in policy.trainable_parameters() if p.grad is not None])


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean", "constant"])
@pytest.mark.parametrize("size", [1, 3])
def test_the_micro_batch_size_cannot_change_the_gradient(policy, play, aggregation, size):
    loss = LossSettings(aggregation=aggregation, beta=0.1)
    batch = batch_of(group(policy, play))
    whole = gradient_of(policy, batch, 8, loss)
    assert whole.abs().max() > 1e-2
    torch.testing.assert_close(gradient_of(policy, batch, size, loss), whole, rtol=1e-5, atol=1e-6)


def test_dropping_flat_groups_cannot_change_the_gradient(policy, play):
    episodes = group(policy, play)
    flat = sampled(policy, [play(1.0, group=1, member=m, sampled=5) for m in range(4)])
    batch = make_batch([*episodes, *flat], groups=2, group_size=4, max_completion_length=8)
    assert batch.dropped == 1 and len(batch.episodes) == 4
    everything = StepBatch(
        (*batch.episodes, *flat), np.concatenate([batch.advantages, np.zeros(4)]), batch.counts, 2, 0
    )
    loss = LossSettings(beta=0.0)
    torch.testing.assert_close(
        gradient_of(policy, batch, 8, loss), gradient_of(policy, everything, 8, loss), rtol=1e-5, atol=1e-8
    )


def test_an_update_makes_good_episodes_likelier(policy, play):
    episodes = group(policy, play)
    before = policy.logprobs(episodes).logprobs.sum(1)
    row = updater(policy, epochs=3).update(batch_of(episodes), episodes)
    change = policy.logprobs(episodes).logprobs.sum(1) - before
    assert change[[1, 3]].sum() > change[[0, 2]].sum()
    assert row["policy/grad_norm"] > 0 and row["policy/kl_reference"] > 0


def test_the_reference_is_the_base_without_its_adapter(policy, play):
    episodes = group(policy, play)
    work = updater(policy, epochs=1)
    assert work.update(batch_of(episodes), episodes)["policy/kl_reference"] == pytest.approx(0, abs=1e-9)
    assert work.update(batch_of(episodes), episodes)["policy/kl_reference"] > 1e-6


def test_on_policy_numbers(policy, play):
    episodes = group(policy, play)
    row = updater(policy, loss=LossSettings()).update(batch_of(episodes), episodes)
    assert row["policy/mismatch"] == pytest.approx(0, abs=1e-6)
    assert row["policy/kl_sampler"] == pytest.approx(0, abs=1e-9)
    assert row["policy/clip_low"] == row["policy/clip_high"] == 0
    with torch.no_grad():
        before = policy.logprobs(episodes)
    assert 0 < row["policy/entropy"] < math.log(before.logprobs.shape[1] + 13)


def test_nothing_to_train_on_still_measures_but_changes_nothing(policy, play):
    flat = sampled(policy, [play(1.0, member=m) for m in range(4)])
    before = weights(policy)
    row = updater(policy).update(batch_of(flat), flat)
    assert torch.equal(weights(policy), before)
    assert row["policy/grad_norm"] is None and row["policy/loss"] is None
    assert row["policy/mismatch"] == pytest.approx(0, abs=1e-6)
    assert row["policy/entropy"] > 0


def test_no_valid_episode_at_all(policy, play):
    lost = [play(valid_for_training=False, member=m) for m in range(4)]
    row = updater(policy).update(batch_of(lost), lost)
    assert row["policy/mismatch"] is None and row["policy/entropy"] is None


def test_a_gradient_that_is_not_finite_is_skipped_and_told(policy, play, caplog):
    episodes = group(policy, play)
    batch = batch_of(episodes)
    broken = StepBatch(batch.episodes, np.full(4, np.nan), StepCounts(10, 4, 8), 1, 0)
    before, work = weights(policy), updater(policy)
    row = work.update(broken, episodes)
    assert torch.equal(weights(policy), before)
    assert row["policy/skipped_updates"] == 1
    assert "update skipped: loss nan" in caplog.text
    work.update(batch, episodes)
    assert not torch.equal(weights(policy), before)


CORRECTED = LossSettings(correction="truncate", correction_cap=1.5)


def off_policy(policy, play):
    """A group whose sampler made some tokens half as likely as the policy does, others twice as likely."""
    episodes = group(policy, play)
    for episode in episodes:
        for segment in episode.segments:
            segment.logprobs[segment.loss_mask] += math.log(2) * (-1) ** episode.member
    return episodes


def test_the_mismatch_is_always_logged(policy, play):
    episodes = off_policy(policy, play)  # weights 1/2 for 1 + 3 tokens, 2 for 2 + 4
    row = updater(policy, loss=LossSettings()).update(batch_of(episodes), episodes)
    assert row["policy/mismatch"] == pytest.approx(math.log(2), rel=1e-5)
    assert row["policy/chi_squared"] == pytest.approx((4 * 0.25 + 6 * 4) / 10 - 1, rel=1e-4)
    assert row["policy/effective_tokens"] == pytest.approx((2 + 12) ** 2 / (10 * 25), rel=1e-4)
    # whole episodes: 1/2, 4, 1/8, 16
    total, squares = 0.5 + 4 + 0.125 + 16, 0.25 + 16 + 1 / 64 + 256
    assert row["policy/effective_sequences"] == pytest.approx(total**2 / (4 * squares), rel=1e-4)
    assert row["policy/corrected"] == 0


def test_a_correction_is_counted(policy, play):
    episodes = off_policy(policy, play)
    row = updater(policy, loss=CORRECTED).update(batch_of(episodes), episodes)
    assert row["policy/corrected"] == pytest.approx(0.6)  # the 6 tokens of weight 2 > 1.5
    assert row["policy/clip_low"] == row["policy/clip_high"] == 0  # one epoch: the ratio is 1


def test_on_policy_a_correction_changes_nothing(policy, play):
    batch = batch_of(group(policy, play))
    plain, corrected = (gradient_of(policy, batch, 8, loss) for loss in (LossSettings(), CORRECTED))
    torch.testing.assert_close(corrected, plain, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_the_micro_batch_size_cannot_change_a_corrected_gradient(policy, play, level):
    batch = batch_of(off_policy(policy, play))
    loss = LossSettings(correction="mask", correction_level=level, correction_cap=5.0, ratio="sequence")
    whole = gradient_of(policy, batch, 8, loss)
    assert whole.abs().max() > 1e-2
    torch.testing.assert_close(gradient_of(policy, batch, 1, loss), whole, rtol=1e-5, atol=1e-6)


def test_later_epochs_are_measured_from_the_beginning_of_the_update(policy, play):
    """Two epochs of one update differ from two updates: only in the second does the beginning move along."""

    def clipped(updates, epochs, size=16):
        torch.manual_seed(0)
        fresh = Policy.load(policy.base.name_or_path, device="cpu", lora=LoraSettings(rank=4, alpha=8))
        episodes = off_policy(fresh, play)
        loss = LossSettings(correction="truncate", epsilon_low=1e-4, epsilon_high=1e-4)
        work = updater(fresh, epochs=epochs, loss=loss, micro_batch_size=size)
        rows = [work.update(batch_of(episodes), episodes) for _ in range(updates)]
        return rows[-1]["policy/clip_low"] + rows[-1]["policy/clip_high"]

    assert clipped(updates=2, epochs=1) == 0  # the ratio of a first epoch is 1
    assert clipped(updates=1, epochs=2) > 0.5  # the second sees what the first did
    assert clipped(updates=1, epochs=2, size=1) == clipped(updates=1, epochs=2)


def test_the_beginning_is_kept_when_later_epochs_are_split_otherwise(policy, play):
    episodes = off_policy(policy, play)
    start = policy.logprobs(episodes)
    work = updater(policy, loss=CORRECTED)
    work.update(batch_of(episodes), episodes)
    moved = policy.logprobs(episodes).logprobs.detach()
    assert (moved - start.logprobs).abs().max() > 1e-3
    for rows in ([3], [0, 2], [1, 3, 0]):
        chosen = [episodes[row] for row in rows]
        longest = max(len(each) for each in chosen)
        began = work.gradient._began_logprobs(chosen, moved[rows, :longest])
        torch.testing.assert_close(began, start.logprobs.detach()[rows, :longest], rtol=1e-5, atol=1e-6)
