"""When memory runs out: half as many episodes at a time, the same gradient, and a clear end."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize, explain_out_of_memory, is_out_of_memory
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.batch import make_batch
from pixelis.agents.rl.gradient import BatchGradient, UpdateSettings
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rl.update import Updater
from pixelis.agents.rollout.decoding import SharedMemory
from pixelis.agents.run_files.checkpoint import latest_checkpoint, verify_checkpoint
from pixelis.agents.run_files.state_files import read_json
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.settings.step_size import StepSize
from pixelis.errors import TrainingError


def cpu_allocator_error():
    """Raise what torch's CPU allocator raises: it is asked for more than there can be."""
    torch.empty(2**60)


def cuda_allocator_error():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


class SmallMemory:
    """Makes the model run out of memory on more than ``rows`` rows with a gradient.

    Args:
        where: ``forward``, ``backward`` or ``reference`` (the pass without gradient).
    """

    def __init__(self, monkeypatch, rows, fault=cpu_allocator_error, where="forward"):
        self.rows, self.fault, self.where = rows, fault, where
        self.seen: list[int] = []
        original = Policy.logprobs

        def logprobs(policy, episodes, *inputs, **options):
            training = torch.is_grad_enabled()
            self.seen.append(len(episodes))
            full = len(episodes) > self.rows
            if full and self.where == ("forward" if training else "reference"):
                self.fault()
            output = original(policy, episodes, *inputs, **options)
            if full and training and self.where == "backward":
                output.logprobs.register_hook(lambda _: self.fault())
            return output

        monkeypatch.setattr(Policy, "logprobs", logprobs)


@pytest.fixture
def policy(letter_model):
    torch.manual_seed(0)
    return Policy.load(letter_model, device="cpu", lora=LoraSettings(rank=4, alpha=8))


def batch_of(play, count=8):
    episodes = [play(float(m % 3), member=m, sampled=1 + m % 4) for m in range(count)]
    return make_batch(episodes, groups=1, group_size=count, max_completion_length=8)


def updated(policy, batch, **settings):
    """Return the updater, its row and the gradient of each epoch, for an update that changes nothing."""
    optimiser = Optimiser(policy.trainable_parameters(), lr=1e-30, max_grad_norm=1e9)
    updater = Updater(optimiser, BatchGradient(policy, UpdateSettings(LossSettings(beta=0.1), **settings)))
    gradients = []
    for parameter in policy.trainable_parameters():
        parameter.grad = torch.ones_like(parameter)  # left over; must not be added to
    handle = optimiser._adamw.register_step_pre_hook(
        lambda *_: gradients.append(torch.cat([p.grad.flatten() for p in policy.trainable_parameters()]))
    )
    row = updater.update(batch, batch.episodes)
    handle.remove()
    return updater, row, gradients


@pytest.mark.parametrize(
    ("where", "rows", "fault"),
    [
        ("forward", 4, cpu_allocator_error),
        ("forward", 1, cuda_allocator_error),
        ("backward", 2, cpu_allocator_error),
        ("backward", 1, cuda_allocator_error),
        ("reference", 2, cpu_allocator_error),
    ],
)
def test_less_memory_gives_the_same_gradient(policy, play, monkeypatch, caplog, fault, where, rows):
    batch = batch_of(play)
    _, plain, expected = updated(policy, batch, epochs=2)
    small = SmallMemory(monkeypatch, rows, fault, where)
    updater, row, gradients = updated(policy, batch, epochs=2)
    assert updater.micro_batch.value == rows
    assert expected[0].abs().max() > 1e-3 and len(gradients) == 2
    for one, other in zip(gradients, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
    for name in ("policy/loss", "policy/entropy", "policy/kl_reference", "policy/grad_norm"):
        assert row[name] == pytest.approx(plain[name], abs=1e-6)
    assert caplog.text.count("out of memory: at most") == {4: 1, 2: 2, 1: 3}[rows]
    caplog.clear()
    small.seen.clear()
    updater.update(batch, batch.episodes)
    assert max(small.seen) == rows and not caplog.text  # kept: it does not run into it again


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_rate_that_finds_itself_goes_on_with_less_memory(letter_model, play, monkeypatch, dtype):
    """Memory runs out in the gradient, between what is kept of the policy before the update and after it."""
    changed = {}
    for rows in (8, 2):
        torch.manual_seed(0)
        policy = Policy.load(letter_model, device="cpu", dtype=dtype, lora=LoraSettings(rank=4, alpha=8))
        batch = batch_of(play)
        optimiser = Optimiser(policy.trainable_parameters(), lr=1e-3)
        sized = UpdateSettings(LossSettings(), step_size=StepSize(share=1.0))
        updater = Updater(optimiser, BatchGradient(policy, sized))
        with monkeypatch.context() as patched:
            SmallMemory(patched, rows)
            row = updater.update(batch, batch.episodes)
        assert updater.micro_batch.value == rows
        changed[rows] = row["policy/step_kl"]
        assert updater.update(batch, batch.episodes)["policy/step_kl"] > 0
    assert changed[8] > 0
    assert changed[2] == pytest.approx(changed[8], rel=1e-3 if dtype == "float32" else 0.5)


def test_memory_that_runs_out_in_the_middle_of_an_epoch(policy, play):
    batch = batch_of(play)
    _, _, expected = updated(policy, batch, micro_batch_size=2)
    calls = []

    def third_is_too_much(gradient):
        calls.append(gradient)
        if len(calls) == 3:
            cpu_allocator_error()

    hook = policy.trainable_parameters()[-1].register_hook(third_is_too_much)
    updater, _, gradients = updated(policy, batch, micro_batch_size=2)
    hook.remove()
    assert len(calls) == 3 + 8 and updater.micro_batch.value == 1  # all of it again, one by one
    torch.testing.assert_close(gradients[0], expected[0], rtol=0, atol=1e-6)


def test_an_empty_batch_is_measured_with_less_memory(policy, play, monkeypatch):
    episodes = [play(1.0, member=m) for m in range(4)]
    batch = make_batch(episodes, groups=1, group_size=4, max_completion_length=8)
    optimiser = Optimiser(policy.trainable_parameters(), lr=1.0)
    updater = Updater(optimiser, BatchGradient(policy, UpdateSettings(LossSettings(beta=0.1))))
    expected = updater.update(batch, episodes)["policy/entropy"]
    SmallMemory(monkeypatch, 2, where="reference")
    assert updater.update(batch, episodes)["policy/entropy"] == pytest.approx(expected, abs=1e-6)
    assert updater.micro_batch.value == 2


def test_one_episode_that_does_not_fit_ends_the_training_with_a_good_checkpoint(toy_config, monkeypatch):
    config = toy_config(steps=9, checkpoint_every=1)
    with TrainingRun.start(config) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps == 2)
        SmallMemory(monkeypatch, 0)
        with pytest.raises(TrainingError, match="out of memory with a micro-batch of one episode") as caught:
            run.train()
    assert "\n" not in str(caught.value) and "smaller --max-new-tokens" in str(caught.value)
    checkpoint = latest_checkpoint(run.folder.checkpoints)
    assert checkpoint.name == "step-00000002"
    log = (run.folder.path / "log.txt").read_text()
    assert "at most 2 episodes in a micro-batch" in log and "at most 1 episodes" in log
    monkeypatch.undo()
    with TrainingRun.resume(config.output, config.with_values(steps=3)) as resumed:
        resumed.train()
    assert [row["step"] for row in read_metrics(run.folder.metrics)] == [1, 2, 3]


def test_the_smaller_micro_batch_is_kept_over_a_resume(toy_config, monkeypatch):
    config = toy_config(steps=2)
    with TrainingRun.start(config) as run:
        SmallMemory(monkeypatch, 1)
        run.train()
        monkeypatch.undo()
    checkpoint = latest_checkpoint(run.folder.checkpoints)
    verify_checkpoint(checkpoint)
    assert read_json(checkpoint / "progress.json")["micro_batch_size"] == 1
    with TrainingRun.resume(config.output, config) as resumed:
        assert resumed.trainer._learner.micro_batch.value == 1
    smaller = config.with_values(micro_batch_size=2)  # somebody chose it: it changes memory only
    with TrainingRun.resume(config.output, smaller) as resumed:
        assert resumed.trainer._learner.micro_batch.value == 2


def test_memory_that_runs_out_while_sampling_is_one_clear_error(toy_config, monkeypatch):
    with TrainingRun.start(toy_config()) as run:
        monkeypatch.setattr(SharedMemory, "step", lambda *_: cpu_allocator_error())
        message = r"out of memory while sampling 16 episodes at once .*fewer --groups"
        with pytest.raises(TrainingError, match=message):
            run.train()


@given(size=st.integers(1, 100), batch=st.integers(1, 100), room=st.integers(0, 100))
@settings(max_examples=8)  # each halving collects garbage, which is slow
def test_the_size_that_is_found_fits_and_is_more_than_half_of_what_would(size, batch, room):
    tried = []

    def work(rows):
        tried.append(min(rows, batch))
        if min(rows, batch) > room:
            raise MemoryError
        return "done"

    micro_batch = MicroBatchSize(size)
    if room == 0:
        with pytest.raises(TrainingError, match="one episode"):
            micro_batch.fit(work, batch)
        assert tried[-1] == 1
    else:
        assert micro_batch.fit(work, batch) == "done"
        assert tried[-1] <= room and tried == sorted(set(tried), reverse=True)
        assert min(size, batch) <= room or 2 * micro_batch.value + 1 > room


@pytest.mark.parametrize("error", [ValueError("out of memory"), RuntimeError("shapes differ"), KeyError("x")])
def test_other_errors_are_left_as_they_are(error):
    def work(_=None):
        raise error

    assert not is_out_of_memory(error)
    with pytest.raises(type(error)):
        MicroBatchSize(8).fit(work, 8)
    with pytest.raises(type(error)), explain_out_of_memory("testing", "stop"):
        work()


ADDRESS_SPACE = """
    import os, resource, sys
    import torch

    sys.path.insert(0, sys.argv[1])
    from letter_model import build_letter_model
    from pathlib import Path
    from pixelis.agents.episodes.episode import Episode, Segment
    from pixelis.agents.rl.batch import make_batch
    from pixelis.agents.losses.loss import LossSettings
    from pixelis.agents.optimisation.optimiser import Optimiser
    from pixelis.agents.rl.gradient import BatchGradient, UpdateSettings
    from pixelis.agents.rl.update import Updater
    from pixelis.agents.models.policy import LoraSettings, Policy

    torch.manual_seed(0)
    policy = Policy.load(build_letter_model(Path(sys.argv[2])), device="cpu", lora=LoraSettings(rank=4))
    parts = [Segment.given([1, 2]), Segment.written([3] * 240, [-0.5] * 240)]
    episodes = [Episode("x", 0, 0, m, list(parts), reward=float(m % 2)) for m in range(64)]
    batch = make_batch(episodes, groups=1, group_size=64, max_completion_length=240)

    def gradient(size):
        optimiser = Optimiser(policy.trainable_parameters(), lr=1e-30, max_grad_norm=1e9)
        settings = UpdateSettings(LossSettings(beta=0.1), micro_batch_size=size)
        updater = Updater(optimiser, BatchGradient(policy, settings))
        updater.update(batch, episodes)
        return updater, torch.cat([p.grad.flatten() for p in policy.trainable_parameters()])

    _, expected = gradient(4)
    pages = int(open("/proc/self/statm").read().split()[0])
    room = int(sys.argv[3]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + room,) * 2)
    updater, found = gradient(64)
    print(updater.micro_batch.value, float((found - expected).abs().max()), float(expected.abs().max()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_an_address_space_that_is_really_too_small(tmp_path):
    toys = Path(__file__).parents[1] / "rl"
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ADDRESS_SPACE), toys, str(tmp_path), "30"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stderr
    size, difference, largest = result.stdout.split()
    assert 1 <= int(size) < 64
    assert float(difference) < 1e-6 < float(largest)
