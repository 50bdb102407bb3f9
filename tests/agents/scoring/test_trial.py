"""What is tried out on a model leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from packaging.version import Version

from pixelis.agents import LoraSettings, Policy
from pixelis.agents.scoring.logprobs import takes_positions
from pixelis.agents.scoring.support import fits
from pixelis.agents.scoring.trial import trial
from pixelis.agents.sft.packing import can_pack


@pytest.fixture
def policy(text_folder: Path) -> Policy:
    policy = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2, dropout=0.5))
    policy.model.train()
    policy.tokens_read = 7
    return policy


@pytest.mark.parametrize("tried", [takes_positions, fits, can_pack])
def test_trials_draw_nothing_and_count_nothing(tried, policy: Policy):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    # Models of transformers before 5.21, which Python 3.10 has, take none.
    old = tried is takes_positions and Version(transformers.__version__) < Version("5.21")
    assert bool(tried(policy)) is not old
    assert torch.equal(torch.get_rng_state(), before)
    assert policy.model.training and policy.tokens_read == 7


def test_a_trial_that_fails_leaves_no_trace_either(policy: Policy):
    with pytest.raises(RuntimeError, match="no memory"), trial(policy):
        policy.tokens_read += 5
        assert not policy.model.training
        raise RuntimeError("no memory")
    assert policy.model.training and policy.tokens_read == 7
