"""``correction: auto``: on where sampler and trainer differ, off elsewhere; what it does to gradients.

The gradient's truth is the float32 policy's: played by itself, trained in float32, with the same adapter,
tasks and sampling seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_env import EchoEnv

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.batch import StepBatch, make_batch
from pixelis.agents.rl.gradient import BatchGradient, UpdateSettings
from pixelis.agents.rl.parts import update_settings
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rl.update import Updater
from pixelis.agents.rollout.collector import EpisodeRequest, collect
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.settings.rl import TrainConfig, chosen_correction, sampler_gaps
from pixelis.errors import ConfigError

GROUPS, MEMBERS, TURN = 8, 8, 4
GAPS = {
    "dtype bfloat16": {"dtype": "bfloat16"},
    "dtype float16": {"dtype": "float16"},
    "quantization 4bit": {"quantization": "4bit", "device": "cuda"},
    "top_p 0.9": {"top_p": 0.9},
    "algorithm.replay.ratio 0.5": {"algorithm": {"replay": {"ratio": 0.5}}},
}
# The clip range of GSPO's paper (arXiv 2507.18071, section 5.1) is narrower than what bfloat16 rounds.
GSPO = {"ratio": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4, "aggregation": "sequence_mean"}


# ---------------------------------------------------------------------- when it is on


@pytest.mark.parametrize("reason", GAPS)
def test_it_is_on_where_they_differ(reason: str):
    config = TrainConfig(**GAPS[reason])
    assert config.loss.correction.type == "auto" and sampler_gaps(config) == [reason]
    assert chosen_correction(config) == update_settings(config).loss.correction == "truncate"
    for asked in ("none", "mask", "my_module:mine"):
        assert chosen_correction(config.with_values(loss={"correction": asked})) == asked


def test_it_is_off_where_they_are_the_same(toy_config: Callable[..., TrainConfig], tmp_path: Path):
    config = TrainConfig()
    assert sampler_gaps(config) == [] and chosen_correction(config) == "none"
    assert update_settings(config) == update_settings(config.with_values(loss={"correction": "none"}))
    rows = []
    for asked in ("auto", "none"):
        output = str(tmp_path / asked)
        with TrainingRun.start(toy_config(loss={"correction": asked}, output=output, epochs=2)) as run:
            row, _, _ = run.trainer.step()
        rows.append({key: value for key, value in row.items() if not key.startswith("time/")})
    assert rows[0] == rows[1]  # to the bit


def test_a_nucleus_by_servers_needs_a_correction():
    served = {"env": "Pixelis/CodeProblem-v0", "model": "pixelis-mini", "sampler": "vllm", "top_p": 0.9}
    with pytest.raises(ConfigError, match=r"loss.correction none needs top_p 1 with sampler vllm, got 0.9"):
        TrainConfig.from_mapping({**served, "loss": {"correction": "none"}})
    TrainConfig.from_mapping(served)
    TrainConfig.from_mapping({**served, "top_p": 1.0, "loss": {"correction": "none"}})
    TrainConfig.from_mapping({**served, "sampler": "own", "loss": {"correction": "none"}})


def test_the_log_says_what_was_chosen_and_why(toy_config: Callable[..., TrainConfig]):
    with TrainingRun.start(toy_config(steps=1, dtype="bfloat16", top_p=0.9)) as run:
        run.train()
    log = (run.folder.path / "log.txt").read_text()
    assert "correction truncate; sampler and trainer differ by dtype bfloat16, top_p 0.9" in log


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="float32"),
        pytest.param({"dtype": "bfloat16", "loss": {"correction": "none"}}, id="bfloat16 uncorrected"),
        pytest.param({"top_p": 0.8}, id="nucleus"),
        pytest.param({"algorithm": {"replay": {"ratio": 0.5}}, "epochs": 2}, id="replay"),
        pytest.param({"algorithm": "ppo"}, id="ppo"),
        pytest.param({"env_kwargs": {"prize": 0.0}}, id="nothing to train on"),
    ],
)
def test_the_mismatch_is_always_logged(toy_config: Callable[..., TrainConfig], changes: dict[str, Any]):
    rows: list[Any] = []
    with TrainingRun.start(toy_config(**changes)) as run:
        run.train(on_step=rows.append)
    assert len(rows) == 3
    for row in rows:
        assert 0 <= row["policy/mismatch"] < 1
        assert 0 < row["policy/effective_tokens"] <= 1 + 1e-6
        assert 0 < row["policy/effective_sequences"] <= 1 + 1e-6
        assert row["policy/chi_squared"] > -1
    differs = changes.keys() & {"dtype", "top_p", "algorithm"} and changes.get("algorithm") != "ppo"
    assert (max(row["policy/mismatch"] for row in rows) > 1e-4) == bool(differs)


# ---------------------------------------------------------------------- what it does to the gradient


def adapted(folder: Path, dtype: str = "float32") -> Policy:
    torch.manual_seed(0)
    policy = Policy.load(folder, device="cpu", dtype=dtype, lora=LoraSettings(rank=4, alpha=8))
    with torch.no_grad():
        for weight in policy.trainable_parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return policy


def played(policy: Policy, seed: int) -> StepBatch:
    """Play a step's groups; the reward grows with the tokens whose id is divisible by three."""
    first = 1000 * seed
    requests = [EpisodeRequest(first + g, g, m) for g in range(GROUPS) for m in range(MEMBERS)]
    episodes = collect(policy, EchoEnv, requests, SamplingSettings(max_new_tokens=TURN), seed)
    for episode in episodes:
        episode.reward += sum(token % 3 == 0 for token in episode.segments[-1].tokens.tolist()) / TURN
    return make_batch(episodes, groups=GROUPS, group_size=MEMBERS, max_completion_length=TURN)


def gradient(policy: Policy, batch: StepBatch, **loss: Any) -> tuple[torch.Tensor, Any]:
    """Return the gradient of a whole step, and the update's metrics."""
    optimiser = Optimiser(policy.trainable_parameters(), lr=1e-30, max_grad_norm=1e9)
    updater = Updater(
        optimiser, BatchGradient(policy, UpdateSettings(LossSettings(**loss), micro_batch_size=64))
    )
    row = updater.update(batch, batch.episodes)
    return torch.cat([weight.grad.flatten() for weight in policy.trainable_parameters()]), row


def test_a_narrow_clip_in_bfloat16_is_put_right(letter_model: Path):
    """Uncorrected, rounding alone carries half of the sequences over the edge: their gradient is cut off.

    The usual clip is so wide that rounding hardly reaches it: there the correction does no harm.
    """
    half, full = adapted(letter_model, "bfloat16"), adapted(letter_model)
    losses = {"narrow": GSPO, "usual": {}}
    kinds = [(name, correction) for name in losses for correction in ("none", "truncate")]
    truth, found = ({key: torch.zeros(1) for key in keys} for keys in (losses, kinds))
    for seed in range(6):
        right, batch = played(full, seed), played(half, seed)
        for name, loss in losses.items():
            truth[name] = truth[name] + gradient(full, right, **loss)[0]
        for name, correction in kinds:
            one, row = gradient(half, batch, correction=correction, **losses[name])
            found[name, correction] = found[name, correction] + one
            assert row["policy/mismatch"] > 1e-3
            clipped = row["policy/clip_low"] + row["policy/clip_high"]
            assert clipped > 0.25 if (name, correction) == ("narrow", "none") else clipped < 0.02
    error = {
        (name, correction): float((one - truth[name]).norm() / truth[name].norm())
        for (name, correction), one in found.items()
    }
    assert error["narrow", "truncate"] < 0.3 and error["narrow", "truncate"] < 0.65 * error["narrow", "none"]
    assert error["usual", "truncate"] < 1.02 * error["usual", "none"]


def test_a_nucleus_is_weighed_as_the_policy_weighs_it(letter_model: Path):
    """The expected gradient, exactly: every token that can be drawn is in the batch, by its probability.

    Corrected it is the true gradient's sum over the kept tokens; only the tail, never drawn, is missing.
    """
    policy, top_p = adapted(letter_model), 0.7
    prompt = policy.chat.first("a", None)

    def expected(tokens: torch.Tensor, drawn: torch.Tensor, old: torch.Tensor, **loss: Any) -> torch.Tensor:
        rows = zip(tokens.tolist(), old.tolist(), strict=True)
        episodes = [Episode("x", 0, 0, 0, [prompt, Segment.written([t], [o])]) for t, o in rows]
        advantages = (drawn * rewards[tokens]).numpy()
        batch = StepBatch(tuple(episodes), advantages, StepCounts(1, 1, 1), 1, 0)
        return gradient(policy, batch, **loss)[0]

    every = torch.arange(policy.vocabulary_size)
    rewards = torch.cos(every.double())
    flat = [Episode("x", 0, 0, 0, [prompt, Segment.written([t])]) for t in every.tolist()]
    log_p = policy.logprobs(flat).logprobs.detach()[:, -1].double()
    order = log_p.argsort(descending=True)
    kept = order[: int((log_p[order].exp().cumsum(0) < top_p).sum()) + 1]
    mass = log_p[kept].exp().sum()
    assert 1 < len(kept) < len(every) - 3 and mass < 0.9
    share = log_p[kept].exp() / mass

    truth_of_kept = expected(kept, log_p[kept].exp(), log_p[kept])
    corrected = expected(kept, share, log_p[kept] - mass.log(), correction="truncate")
    uncorrected = expected(kept, share, log_p[kept], correction="none")
    torch.testing.assert_close(corrected, truth_of_kept, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(uncorrected, truth_of_kept / mass.float(), atol=1e-5, rtol=1e-4)
    assert truth_of_kept.norm() > 0.05
    whole = expected(every, log_p.exp(), log_p)
    tail = torch.tensor([index for index in every.tolist() if index not in kept.tolist()])
    missing = expected(tail, log_p[tail].exp(), log_p[tail])
    torch.testing.assert_close(whole - corrected, missing, atol=1e-5, rtol=1e-4)


# ---------------------------------------------------------------------- what it does to learning


@pytest.mark.slow
def test_old_episodes_teach_more_when_they_are_corrected(
    toy_config: Callable[..., TrainConfig], tmp_path: Path
):
    """As many replayed episodes as fresh ones, up to 30 steps old; the best reward is 1."""
    means: dict[str, list[float]] = {"none": [], "auto": []}
    for correction, found in means.items():
        for seed in range(3):
            config = toy_config(
                **{"groups": 8, "group_size": 8, "max_new_tokens": 1, "lr": 0.003, "beta": 0.0, "steps": 35},
                algorithm={"replay": {"ratio": 1.0, "staleness": 30}},
                micro_batch_size=64,
                checkpoint_every=1000,
                loss={"correction": correction},
                seed=seed,
                output=str(tmp_path / f"{correction}{seed}"),
            )
            rewards: list[float] = []
            with TrainingRun.start(config) as run:
                run.train(on_step=lambda row, rewards=rewards: rewards.append(row["reward/mean"]))
            found.append(statistics.fmean(rewards[25:35]))
    assert min(means["auto"]) > 0.93 > max(means["none"])
