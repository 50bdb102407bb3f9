"""Which number type the weights are held in: asked for, or found by what the device multiplies faster."""

import logging
import math

import pytest
import torch

from pixelis.agents.models.policy import Policy
from pixelis.agents.models.weight_types import SLOW, slowdown, type_name, weight_type
from pixelis.errors import ConfigError

CPU = torch.device("cpu")


def test_a_type_takes_as_long_as_itself():
    assert 0.3 < slowdown(torch.float32, CPU) < 3
    assert math.isfinite(slowdown(torch.bfloat16, CPU)) and slowdown(torch.bfloat16, CPU) > 0


@pytest.mark.parametrize(
    ("times", "chosen"), [(0.5, torch.bfloat16), (1.5, torch.float32), (70, torch.float32)]
)
def test_auto_is_what_is_faster(times, chosen):
    assert weight_type("auto", CPU, lambda dtype, device: times) == chosen
    assert weight_type("float32", CPU, lambda dtype, device: times) == torch.float32
    assert weight_type(type_name(chosen), CPU, lambda dtype, device: times) == chosen


@pytest.mark.parametrize(("times", "warned"), [(SLOW - 0.1, False), (70.0, True)])
def test_a_type_that_is_emulated_is_taken_and_warned_of(caplog, times, warned):
    with caplog.at_level(logging.WARNING, "pixelis"):
        assert weight_type("bfloat16", CPU, lambda dtype, device: times) == torch.bfloat16
    assert ("70 times slower than float32 on this processor" in caplog.text) == warned


def test_another_name_is_refused():
    with pytest.raises(
        ConfigError, match="dtype must be one of auto, float32, bfloat16, float16, got 'int8'"
    ):
        weight_type("int8", CPU)


def test_a_policy_of_its_own_choice_has_the_faster_type():
    policy = Policy.load("pixelis-mini", device="cpu", dtype="auto")
    expected = torch.bfloat16 if slowdown(torch.bfloat16, CPU) < 1 else torch.float32
    assert policy.base.dtype == expected
