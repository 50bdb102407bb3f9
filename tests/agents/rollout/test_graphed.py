"""Steps of fixed shape say what ordinary steps say; on a GPU, captured as a graph."""

from __future__ import annotations

import logging
from collections.abc import Callable

import gymnasium as gym
import pytest
import torch

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout import decoding, graphed
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.graphed import FixedSteps
from pixelis.agents.rollout.sampling import SamplingSettings

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]


def play(policy: Policy, env: Callable[..., gym.Env]) -> list[Episode]:
    """Two groups of three, two or three turns each, of up to twelve tokens."""
    requests = [EpisodeRequest(g, g, m, {"turns": 2 + (g + m) % 2}) for g in range(2) for m in range(3)]
    with Collector(env) as collector:
        return collector.collect(policy, requests, SamplingSettings(max_new_tokens=12), 5)


def written(episodes: list[Episode]) -> list[list[int]]:
    return [each.tokens.tolist() for each in episodes]


@pytest.fixture(params=DEVICES)
def policy(request: pytest.FixtureRequest, text_folder) -> Policy:
    return Policy.load(text_folder, device=request.param)


@pytest.mark.parametrize("stretch", [3, 256])
def test_episodes_are_the_same(
    policy: Policy, counting_env: Callable[..., gym.Env], stretch: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decoding, "BEFORE", -1)
    expected, steps = play(policy, counting_env), []

    def fixed(*arguments: object) -> FixedSteps | None:
        steps.append(arguments)
        if policy.device.type == "cuda":
            return graphed.graphed(*arguments, stretch)  # type: ignore[arg-type]
        return FixedSteps(*arguments, stretch)  # type: ignore[arg-type]

    monkeypatch.setattr(decoding, "BEFORE", 1)
    monkeypatch.setattr(decoding, "graphed", fixed)
    monkeypatch.setattr(decoding.SharedMemory, "_graphs", lambda _: True)
    found = play(policy, counting_env)
    assert written(found) == written(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(
            torch.tensor(one.logprobs), torch.tensor(other.logprobs), atol=1e-5, rtol=0
        )
    assert len(steps) >= (6 if stretch == 3 else 2)


@CUDA
def test_a_turn_is_a_graph_on_a_gpu_and_no_longer_where_the_model_does_not_fit_one(
    text_folder, counting_env: Callable[..., gym.Env], monkeypatch: pytest.MonkeyPatch, caplog
):
    policy = Policy.load(text_folder, device="cuda")
    made: list[object] = []
    monkeypatch.setattr(graphed.GraphedSteps, "__call__", _counted(graphed.GraphedSteps.__call__, made))
    expected = play(policy, counting_env)
    assert made
    monkeypatch.setattr(Policy, "hidden", _asking(Policy.hidden))
    with caplog.at_level(logging.WARNING):
        assert written(play(policy, counting_env)) == written(expected)
    assert "decoded without a CUDA graph" in caplog.text


def _counted(method: Callable[..., object], calls: list[object]) -> Callable[..., object]:
    def wrapped(*arguments: object) -> object:
        calls.append(arguments)
        return method(*arguments)

    return wrapped


def _asking(method: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A forward that asks the device for a number on its way, as some kinds of rotary embedding do."""

    def wrapped(*arguments: object) -> torch.Tensor:
        hidden = method(*arguments)
        return hidden * (1.0 if float(hidden.sum()) < 1e30 else 0.0)

    return wrapped
