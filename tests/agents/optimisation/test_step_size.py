"""A learning rate that finds itself: the KL of a step, its control, what is taken back, exact resume."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.optimisation.policy_change import chosen, tokens_read
from pixelis.agents.optimisation.step_size import FAR, FASTEST, GROWTH, RateControl
from pixelis.agents.rl.batch import make_batch
from pixelis.agents.rl.gradient import BatchGradient, UpdateSettings
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.rl.update import Updater
from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.run_files.state_files import read_json, write_json
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.scoring.distributions import distributions, divergence, entropy, spread
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.settings.step_size import StepSize
from pixelis.errors import CheckpointError, ConfigError, TrainingError

PROGRAM = """
import json, sys
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.settings.rl import TrainConfig
with TrainingRun.start(TrainConfig(**json.loads(sys.argv[1]))) as run:
    run.train(lambda row: print(row["step"], flush=True))
"""


@pytest.fixture
def policy(letter_model):
    torch.manual_seed(0)
    return Policy.load(letter_model, device="cpu", lora=LoraSettings(rank=4, alpha=8))


@pytest.fixture
def episodes(play):
    return [play(float(m % 2), group=g, member=m, sampled=m + 2) for g in range(2) for m in range(4)]


def updater(policy, lr=0.01, warmup_steps=0, epochs=1, **settings):
    optimiser = Optimiser(policy.trainable_parameters(), lr=lr, warmup_steps=warmup_steps)
    step_size = StepSize(**{"share": 1.0, **settings})
    return Updater(
        optimiser, BatchGradient(policy, UpdateSettings(LossSettings(), epochs=epochs, step_size=step_size))
    )


def batch_of(episodes):
    return make_batch(episodes, groups=2, group_size=4, max_completion_length=8)


def number(row, name):
    value = row[f"policy/{name}"]
    assert value is not None
    return value


def weights(policy):
    return torch.cat([each.detach().flatten() for each in policy.trainable_parameters()])


# ------------------------------------------------------------------ the KL


def test_the_kl_of_two_distributions_by_hand():
    before = torch.tensor([[0.5, 0.5], [0.9, 0.1]]).log()
    after = torch.tensor([[0.25, 0.75], [0.9, 0.1]]).log()
    first = 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
    assert divergence(before, after) == pytest.approx(first / 2, rel=1e-5)
    assert divergence(before, before) == 0


def test_places_are_spread_and_never_more_than_there_are():
    assert spread(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert spread(9, 3).tolist() == [0, 4, 8]
    assert spread(3, 1).tolist() == [0]


@pytest.mark.parametrize("shared", [True, False])
def test_distributions_are_those_that_sampled_tokens_are_scored_by(policy, episodes, shared):
    policy.__dict__["shares_prefixes"] = shared
    found = distributions(policy, episodes, 1000, 1.3)
    scored = policy.logprobs(episodes, 1.3)
    assert found.shape == (int(scored.mask.sum()), policy.head.weight.shape[0])
    torch.testing.assert_close(found[:, 3], scored.logprobs[scored.mask].detach())  # all sampled token 3
    torch.testing.assert_close(found.exp().sum(1), torch.ones(len(found)))
    torch.testing.assert_close(distributions(policy, episodes, 4, 1.3), found[spread(len(found), 4)])


def test_rows_are_of_many_groups_within_the_budget_and_others_at_each_turn(episodes):
    # every episode is a prompt of 2 tokens and 2 to 5 sampled ones; both groups have the same prompt
    assert tokens_read(episodes) == 2 + 2 * (2 + 3 + 4 + 5)
    assert chosen(episodes, 0, 0) == [episodes[0]]  # one at least
    two = chosen(episodes, 2 + 2 + 3, 0)
    assert [(each.group, each.member) for each in two] == [(0, 0), (1, 1)]
    assert len(chosen(episodes, 1000, 3)) == len(episodes)
    first = {(chosen(episodes, 0, turn)[0].group, chosen(episodes, 0, turn)[0].member) for turn in range(8)}
    assert len(first) == 4


# ------------------------------------------------------------------ the control


REACH = 30.0  # how far one unit of rate moves the weights


def follow(start, curvature, settings, updates=60):
    control = RateControl(settings, start)
    rates = []
    for number in range(updates):
        swing = 10.0 ** (0.5 * (-1) ** number)  # tenfold from one update to the next
        control.note(curvature * swing * control.rate**2, control.rate, REACH * control.rate)
        rates.append(control.rate)
    return rates


@pytest.mark.parametrize("start", [1e-2, 1e-3, 1e-4])
def test_the_rate_finds_the_target_from_far_above_and_below(start):
    settings = StepSize(target=0.003)
    rates = follow(start, 0.003 / 1e-3**2, settings)  # 1e-3 is right
    assert all(5e-4 < rate < 2e-3 for rate in rates[20:])
    for rate, later in zip([start, *rates], rates, strict=False):
        assert later <= max(1.2001 * rate, min(2 * rate, 1e-3 / FAR))


def test_the_rate_stays_in_its_range_and_one_that_may_not_move_does_not():
    assert min(follow(1e-2, 1e9, StepSize(lowest=0.1))) == pytest.approx(1e-3)
    assert max(follow(1e-5, 1e-9, StepSize(highest=10))) == pytest.approx(1e-4)
    assert set(follow(1e-3, 1e6, StepSize(lowest=1, highest=1))) == {1e-3}


def test_the_target_follows_the_entropy_where_that_is_small():
    control = RateControl(StepSize(target=0.01, entropy_share=0.04), 1e-3)
    assert control.target == 0.01  # nothing seen yet
    control.see(1.5)
    assert control.target == 0.01
    for _ in range(60):
        control.see(0.05)
    assert control.target == pytest.approx(0.04 * 0.05, rel=1e-4)
    control.see(math.nan)
    assert control.target == pytest.approx(0.04 * 0.05, rel=1e-4)
    for _ in range(100):
        control.see(0.0)
    assert control.target == pytest.approx(0.04 * 0.002)  # it may still move
    free = RateControl(StepSize(target=0.01, entropy_share=None), 1e-3)
    free.see(0.001)
    assert free.target == 0.01


def test_an_entropy_above_the_first_one_does_not_raise_the_target():
    control = RateControl(StepSize(target=0.01, entropy_share=0.04), 1e-3)
    control.see(0.1)
    for _ in range(30):
        control.see(0.7)  # a policy that comes apart
    assert control.target == pytest.approx(0.04 * 0.1)
    resumed = RateControl(StepSize(target=0.01, entropy_share=0.04), 1e-3)
    resumed.load_state_dict(control.state_dict())
    assert resumed.target == control.target
    for _ in range(60):
        resumed.see(0.05)
    assert resumed.target == pytest.approx(0.04 * 0.05, rel=1e-4)


def test_the_rate_by_hand():
    control = RateControl(StepSize(target=0.01), 1e-3)
    control.note(0.04, 1e-3, 0.02)  # four times the target: half the rate
    assert control.rate == pytest.approx(0.5e-3)
    control.note(0.01, 0.5e-3, 0.01)  # the same curvature, KL / distance², and the same reach: on the spot
    assert control.rate == pytest.approx(0.5e-3)
    control.note(0.01, 0.5e-3, 0.02)  # twice as far for its rate, to a quarter of the curvature
    curvature = math.exp(0.2 * math.log(100) + 0.8 * math.log(100))  # nine tenths up of 25, 100, 100
    reach = math.sqrt((20**2 * 0.999**2 + 20**2 * 0.999 + 40**2) / (0.999**2 + 0.999 + 1))
    assert control.rate == pytest.approx(math.sqrt(0.01 / curvature) / reach)


def test_a_target_is_shared_among_the_episodes_that_teach():
    control = RateControl(StepSize(target=0.01), 1e-3)
    control.see(2.0, 0.5)
    assert control.target == pytest.approx((0.8 + 0.2 * 0.5) * 0.01)
    for _ in range(60):
        control.see(2.0, 0.25)
    assert control.target == pytest.approx(0.25 * 0.01, rel=1e-3)
    near, far = 0.0025 / FAR**2, 0.0025 / (2 * FAR) ** 2  # four and eight times the rate are wanted
    rises = {near: GROWTH, far: FASTEST}
    for kl, rise in rises.items():
        other = RateControl(StepSize(target=0.01), 1e-3)
        other.load_state_dict(control.state_dict())
        other.note(kl, 1e-3, 0.02)
        assert other.rate == pytest.approx(1e-3 * (1 + 0.25 * (rise - 1)), rel=1e-3)


def test_a_rate_doubles_until_it_first_comes_near_what_is_wanted():
    control = RateControl(
        StepSize(target=0.01), 1e-3
    )  # the wanted rate is 0.1 / root of the curvature / reach

    def note(curvature):
        control.note(curvature * (20 * control.rate) ** 2, control.rate, 20 * control.rate)
        return control.rate

    assert note(0.01 / (20 * 0.032) ** 2) == pytest.approx(2e-3)  # 32 times below: twofold
    assert note(0.01 / (20 * 0.012) ** 2) > 2e-3 * GROWTH
    assert control.rate < 2e-3 * FASTEST  # six times below by the larger curvature: up to a quarter
    before = control.rate
    assert note(0.01 / (20 * 0.008) ** 2) <= before * GROWTH  # near: a fifth at most from now on
    resumed = RateControl(StepSize(target=0.01), 1e-3)
    resumed.load_state_dict(control.state_dict())
    for _ in range(60):
        before = control.rate
        assert note(1e-6) <= before * GROWTH * 1.0001
    before = resumed.rate
    resumed.note(1e-12, resumed.rate, 20 * resumed.rate)
    assert resumed.rate <= before * GROWTH * 1.0001


def test_a_rate_that_had_to_be_lowered_does_not_double_again():
    control = RateControl(StepSize(target=0.01), 1e-3)
    control.lower()
    before = control.rate
    control.note(1e-9, before, 20 * before)
    assert control.rate <= before * GROWTH * 1.0001


def test_what_rounding_hides_does_not_double_the_rate():
    control = RateControl(StepSize(target=0.01), 1e-3)
    control.note(1e-3, 1e-3, 0.02, rounding=0.9e-3)
    assert control.rate == pytest.approx(1e-3 * GROWTH)


def test_updates_with_little_kl_do_not_wind_the_rate_up():
    """The rate goes by the large KL: a run of quiet updates is not followed by one that breaks the policy."""
    control = RateControl(StepSize(target=0.01), 1e-3)
    for kl in [0.01] * 20 + [1e-5] * 20:
        control.note(kl, 1e-3, 0.02)
    assert control.rate == pytest.approx(1e-3)
    control.note(0.04, 1e-3, 0.02)  # one in more than ten is an outlier
    assert control.rate == pytest.approx(1e-3)


def test_updates_that_hardly_move_the_weights_do_not_wind_the_rate_up():
    """A solved task: AdamW remembers large gradients, and the few groups with signal move next to nothing."""
    control = RateControl(StepSize(target=0.01), 1e-3)
    for _ in range(40):
        control.note(0.01, 1e-3, 0.02)
    for _ in range(40):
        control.note(0.01 * (control.rate / 1e-2) ** 2, control.rate, 2 * control.rate)  # a tenth as far
    assert 1e-3 < control.rate < 1.5e-3


def test_an_early_outlier_does_not_hold_the_rate_down():
    """AdamW's second update, by a gradient five times the first: far, with a large KL."""
    control = RateControl(StepSize(target=0.003), 2e-4)
    control.note(0.01, 2e-4, 2e-4 * 300)
    rates = []
    for _ in range(20):
        control.note(control.rate**2 * 100, control.rate, control.rate * 100)  # a curvature of 0.01, not 2.8
        rates.append(control.rate)
    assert rates[0] < 1.4e-4 and rates[-1] > 1.5e-3  # 0.003 would be right


def test_an_update_that_moved_nothing_says_nothing():
    control = RateControl(StepSize(target=0.01), 1e-3)
    control.note(0.0, 1e-3, 0.0)
    assert control.rate == 1e-3 and control.state_dict()["curvatures"] == []


def test_a_kl_that_rounding_alone_makes_does_not_hold_the_rate_down():
    """In bfloat16 any change of the weights, however small, has a KL of 0.001 to 0.003."""
    control = RateControl(StepSize(target=0.01), 1e-5)
    for number in range(10):
        control.note(0.002 + 0.0005 * (-1) ** number, control.rate, 100 * control.rate, rounding=0.0018)
    assert control.rate == pytest.approx(1e-5 * GROWTH**10) and control.state_dict()["curvatures"] == []
    control.note(0.042, control.rate, 100 * control.rate, rounding=0.002)  # 0.04 of the update: half the rate
    assert control.rate == pytest.approx(1e-5 * GROWTH**10 / 2)


def test_where_rounding_hides_the_target_the_rate_does_not_rise():
    control = RateControl(StepSize(target=0.001), 1e-5)
    control.note(0.003, 1e-5, 1e-3, rounding=0.002)
    assert control.rate == 1e-5
    control.note(0.006, 1e-5, 1e-3, rounding=0.002)  # and falls where the update is seen to be too large
    assert control.rate == pytest.approx(0.5e-5)


def test_the_state_of_an_older_checkpoint_gives_its_rate_and_is_gathered_anew():
    control = RateControl(StepSize(target=0.01), 1e-3)
    older = {"rate": 3e-4, "entropy": 0.1, "curvatures": [9.0, 9.1], "gradients": [0.5, 7]}
    control.load_state_dict(older)
    assert control.rate == 3e-4 and control.state_dict()["curvatures"] == []
    control.note(1e-6, 3e-4, 0.01)
    assert control.rate == pytest.approx(3e-4 * GROWTH)


def test_the_entropy_of_distributions_by_hand():
    halves = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]).clamp(min=1e-30).log()
    assert entropy(halves) == pytest.approx(math.log(2) / 2)


def test_the_schedule_is_no_part_of_the_rate(policy, episodes):
    work = updater(policy, lr=1e-4, warmup_steps=3, target=1.0, take_back=None)
    batch = batch_of(episodes)
    rows = [work.update(batch, episodes) for _ in range(2)]
    assert work.optimiser.rate == pytest.approx(1e-4 * FASTEST**2)
    assert rows[-1]["policy/lr"] == pytest.approx(0.75 * 1e-4 * FASTEST**2)


# ------------------------------------------------------------------ updates


def test_an_update_is_measured_and_the_rate_follows(policy, episodes):
    work, batch = updater(policy, lr=1e-4, target=1e-4), batch_of(episodes)
    before = distributions(policy, episodes, 1000, 1.0)
    row = work.update(batch, episodes)
    kl = divergence(before, distributions(policy, episodes, 1000, 1.0))
    assert number(row, "step_kl") == pytest.approx(kl, rel=1e-3) and kl > 0
    assert row["policy/steps_taken_back"] == 0 and row["time/step_kl"] and row["policy/step_kl_rounding"] == 0
    kls = [number(work.update(batch, episodes), "step_kl") for _ in range(25)]
    assert 0.2e-4 < sorted(kls[-9:])[4] < 5e-4


def test_a_step_that_is_far_too_large_is_done_again_smaller(policy, episodes):
    work = updater(policy, lr=1.0, target=1e-3, retries=9)
    row = work.update(batch_of(episodes), episodes)
    assert number(row, "step_kl") <= 4e-3
    assert 1 <= number(row, "steps_taken_back") <= 9
    assert work.optimiser.rate < 0.5


def test_doing_it_again_is_the_same_as_having_begun_smaller(policy, episodes):
    """Weights after a retry are those of a first step at that rate; moments are so to the bit."""
    batch, start = batch_of(episodes), weights(policy)
    work = updater(policy, lr=1.0, target=1e-3, retries=9)
    work.update(batch, episodes)
    retried, moments = weights(policy), work.optimiser.state_dict()["adamw"]["state"]
    assert not torch.equal(retried, start)
    with torch.no_grad():
        place = 0
        for each in policy.trainable_parameters():
            each.copy_(start[place : place + each.numel()].view_as(each))
            place += each.numel()
    lr = float((retried - start).abs().max())  # Adam's first step is the rate in every weight
    plain = Optimiser(policy.trainable_parameters(), lr=lr)
    Updater(plain, BatchGradient(policy, UpdateSettings(LossSettings()))).update(batch, episodes)
    torch.testing.assert_close(weights(policy), retried, rtol=1e-4, atol=1e-6)
    for one, two in zip(plain.state_dict()["adamw"]["state"].values(), moments.values(), strict=True):
        assert all(torch.equal(one[name], two[name]) for name in ("step", "exp_avg", "exp_avg_sq"))


def test_a_step_that_no_try_makes_small_enough_is_left_out(policy, episodes):
    before, work = weights(policy), updater(policy, lr=1.0, target=1e-12, retries=1, lowest=1e-9)
    work.update(batch_of(episodes), episodes)
    state = work.optimiser.state_dict()
    assert torch.equal(weights(policy), before)
    assert state["adamw"]["state"] == {} and state["schedule"]["last_epoch"] == 0
    assert work.optimiser.rate < 0.2 and work.state_dict()["step_size"]["taken_back"] == 2


def test_without_taking_back_the_step_stays(policy, episodes):
    before, work = weights(policy), updater(policy, lr=1.0, target=1e-6, take_back=None)
    row = work.update(batch_of(episodes), episodes)
    assert not torch.equal(weights(policy), before)
    assert number(row, "step_kl") > 1e-3 and row["policy/steps_taken_back"] == 0


def test_the_steps_of_several_epochs_are_measured_from_the_beginning_of_the_update(policy, episodes):
    before = distributions(policy, episodes, 1000, 1.0)
    row = updater(policy, lr=1e-3, epochs=3, take_back=None).update(batch_of(episodes), episodes)
    kl = divergence(before, distributions(policy, episodes, 1000, 1.0))
    assert row["policy/step_kl"] == pytest.approx(kl, rel=1e-3)


def test_measuring_changes_nothing(policy, episodes, letter_model):
    """A rate that may not move gives the weights of a fixed one, to the bit."""
    torch.manual_seed(0)
    other = Policy.load(letter_model, device="cpu", lora=LoraSettings(rank=4, alpha=8))
    steered = updater(policy, lr=1e-2, lowest=1, highest=1, take_back=1e9)
    fixed = Updater(
        Optimiser(other.trainable_parameters(), lr=1e-2), BatchGradient(other, UpdateSettings(LossSettings()))
    )
    for work in (steered, fixed):
        state = torch.get_rng_state()
        for _ in range(3):
            work.update(batch_of(episodes), episodes)
        assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(weights(policy), weights(other))


def test_in_half_precision_what_rounding_makes_is_measured_and_nothing_is_left_of_it(letter_model, episodes):
    torch.manual_seed(0)
    half = Policy.load(letter_model, device="cpu", dtype="bfloat16", lora=LoraSettings(rank=4, alpha=8))
    work, before = updater(half, lr=1e-2), weights(half)
    assert work.sizer is not None
    work.sizer.begin(episodes, episodes)
    assert torch.equal(weights(half), before)
    row = work.update(batch_of(episodes), episodes)
    assert 0 < number(row, "step_kl_rounding") < number(row, "step_kl")


def test_nudged_weights_come_back_to_the_bit(policy):
    optimiser, before = Optimiser(policy.trainable_parameters(), lr=1e-3), weights(policy)
    with pytest.raises(KeyError), optimiser.nudged(0.5):
        assert torch.equal(weights(policy), before + 0.5)
        raise KeyError
    assert torch.equal(weights(policy), before)


def test_no_update_is_no_measurement(policy, play):
    flat = [play(1.0, group=m // 4, member=m % 4) for m in range(8)]
    work = updater(policy)
    row = work.update(batch_of(flat), flat)
    assert row["policy/step_kl"] is None and work.optimiser.rate == 0.01


def test_a_kl_that_is_not_finite_is_taken_back_told_and_ends_the_training_the_third_time(
    policy, episodes, caplog
):
    work, batch = updater(policy, lr=1e30, lowest=1e-9, retries=1), batch_of(episodes)
    before = weights(policy)
    row = work.update(batch, episodes)
    assert row["policy/step_kl"] is None and row["policy/steps_taken_back"] == 2
    assert torch.equal(weights(policy), before)
    assert "not finite after an update (KL nan); it is left out" in caplog.text
    assert work.optimiser.rate == pytest.approx(1e29)
    work.update(batch, episodes)
    with pytest.raises(TrainingError, match="not finite after 3 updates in a row; resume from an earlier"):
        work.update(batch, episodes)


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf, "much", None])
def test_a_target_is_a_number_above_zero(wrong):
    with pytest.raises(ConfigError, match=r"step_size\.target must be a finite number above 0, got"):
        TrainConfig.from_mapping({"step_size": {"target": wrong}})


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, "fast", "Auto", True])
def test_a_rate_is_a_number_above_zero_or_auto(wrong):
    with pytest.raises(ConfigError, match="lr must be a finite number above 0 or 'auto' or null, got"):
        TrainConfig.from_mapping({"lr": wrong})


def test_what_is_not_read_is_refused():
    with pytest.raises(ConfigError, match=r"step_size is read with lr auto only; leave it out, or lr 0\.01"):
        TrainConfig(lr=0.01, step_size=StepSize(target=0.1))
    for kind in (SftConfig, ExpertConfig):  # their optimiser's rate has a schedule of its own
        with pytest.raises(ConfigError, match="lr must be a finite number above 0 or null, got 'auto'"):
            kind.from_mapping({"env": "toy_env:Toy/Echo-v0", "lr": "auto"})


# ------------------------------------------------------------------ runs


@pytest.mark.parametrize("changes", [{}, {"algorithm": "ppo"}, {"train": "full"}, {"groups": 1}])
def test_every_run_that_names_no_rate_steers_it(toy_config, changes):
    values = {key: value for key, value in toy_config(steps=6, **changes).to_mapping().items() if key != "lr"}
    if "train" in changes:
        del values["lora"]
    run = train(TrainConfig.from_mapping(values))
    rows = [row for row in read_metrics(run.folder.metrics) if row["policy/step_kl"] is not None]
    assert rows and all(number(row, "step_kl") >= 0 for row in rows)
    assert len({row["policy/lr"] for row in rows}) == len(rows)
    assert settings_of(run.folder.path)["lr"] == "auto"
    assert "to begin with, steered by the KL of updates" in (run.folder.path / "log.txt").read_text()


def large_steps(toy_config, **changes):
    """Settings under which steps are taken back."""
    step_size = {"start": 0.2, "target": 0.001, "retries": 1}
    base = {"steps": 14, "checkpoint_every": 3, "env_kwargs": {"turns": 3}}
    return toy_config(**{"lr": "auto", "step_size": step_size, **base, **changes})


def test_a_run_goes_on_to_the_same_numbers(toy_config, tmp_path):
    whole = train(large_steps(toy_config, output=str(tmp_path / "whole"), steps=6))
    halves = large_steps(toy_config, output=str(tmp_path / "halves"), steps=6)
    with TrainingRun.start(halves) as run:
        run.trainer.train(should_stop=lambda: run.trainer.finished_steps >= 4)
    with TrainingRun.resume(halves.output, halves) as resumed:
        resumed.train()
    rows = comparable_metrics(whole.folder.metrics)
    assert comparable_metrics(resumed.folder.metrics) == rows
    assert (rows[3]["policy/steps_taken_back"] or 0) > 0
    assert rows[3]["policy/lr"] != rows[5]["policy/lr"]


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_numbers(toy_config, tmp_path):
    whole = train(large_steps(toy_config, output=str(tmp_path / "whole")))
    config = large_steps(toy_config, output=str(tmp_path / "killed"))
    here = Path(__file__).parents[1] / "rl"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[2])])}
    words = [sys.executable, "-c", PROGRAM, json.dumps(config.to_mapping())]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 7:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    with TrainingRun.resume(config.output, config) as resumed:
        assert 6 <= resumed.trainer.finished_steps < 14
        resumed.train()
    rows = comparable_metrics(whole.folder.metrics)
    assert comparable_metrics(resumed.folder.metrics) == rows
    assert (rows[5]["policy/steps_taken_back"] or 0) > 0  # before the kill
    for one, two in zip(
        whole.policy.trainable_parameters(), resumed.policy.trainable_parameters(), strict=True
    ):
        assert torch.equal(one, two)


def test_a_run_of_before_there_was_auto_goes_on_as_it_was(toy_config):
    """Its checkpoint has a rate, and neither the settings of steps nor their state."""
    config = toy_config(steps=4, lr=0.02)
    with TrainingRun.start(config) as run:
        run.trainer.train(should_stop=lambda: run.trainer.finished_steps >= 2)
    progress = latest_checkpoint(run.folder.checkpoints) / "progress.json"
    saved = read_json(progress)
    del saved["update"], saved["identity"]["step_size"]
    manifest = progress.with_name("manifest.json")
    write_json(progress, saved)
    seal = read_json(manifest)
    seal["sha256"]["progress.json"] = hashlib.sha256(progress.read_bytes()).hexdigest()
    write_json(manifest, seal)
    left = {key: value for key, value in config.to_mapping().items() if key not in ("lr", "step_size")}
    with TrainingRun.resume(config.output, TrainConfig.from_mapping(left)) as resumed:
        resumed.train()
    assert resumed.config.lr == 0.02 and resumed.trainer.finished_steps == 4
    assert "policy/step_kl" not in resumed.metrics[-1]
    with pytest.raises(CheckpointError, match=r"lr was 0\.02 and is 'auto'"):
        TrainingRun.resume(config.output, config.with_values(lr="auto"))


def test_a_step_that_is_taken_back_is_in_the_log(toy_config, caplog):
    with caplog.at_level(logging.INFO):
        run = train(large_steps(toy_config))
    assert "update taken back: KL" in (run.folder.path / "log.txt").read_text()
