"""The fast path is the same function: its log-probabilities against transformers' and PEFT's own forward.

The oracle shares no code with the package. The model is loaded again by transformers' Auto class, the saved
adapter by `peft.PeftModel`; every episode is one full sequence of its token ids, no cache, no padding.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import torch
from peft import PeftModel
from tiny_models import FAMILIES, VISION_FAMILIES, build
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.loading import find_folder
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.decoding import SharedMemory
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.scoring import logprobs as scoring

EXACT = 1e-5
GROUPS, MEMBERS, TEMPERATURE = 3, 3, 1.25
# Qwen2.5 is Qwen2's architecture: without tied embeddings from 7B on, and with another base of its rotations.
QWEN2_5 = {
    "tie_word_embeddings": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
}
CASES = [*FAMILIES, "qwen2_5", "pixelis-tiny"]


def make(case: str, folder: Path) -> Path:
    """Return the folder of a model whose turns end at random: a third of its tokens are ends of a turn."""
    if case == "pixelis-tiny":
        found = find_folder(case)
        assert found is not None
        return found
    made = build("qwen2", folder, **QWEN2_5) if case == "qwen2_5" else build(case, folder)
    ends = {"eos_token_id": list(range(0, 256, 3))}
    (made / "generation_config.json").write_text(json.dumps(ends))
    return made


def adapted(folder: Path) -> Policy:
    """Return a policy whose adapter does something."""
    policy = Policy.load(folder, device="cpu", lora=LoraSettings(rank=3, alpha=6))
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in policy.trainable_parameters():
            weight.copy_(0.08 * torch.randn_like(weight))
    return policy


def play(policy: Policy, env: Any, *, turns: int = 2) -> tuple[list[Episode], int]:
    """Play groups that begin differently and go on for different numbers of turns; count what was read."""
    requests = [
        EpisodeRequest(group, group, member, {"turns": turns + (group + member) % 2})
        for group in range(GROUPS)
        for member in range(MEMBERS)
    ]
    settings = SamplingSettings(temperature=TEMPERATURE, max_new_tokens=9)
    with Collector(env) as collector:
        episodes = collector.collect(policy, requests, settings, 7)
        return episodes, collector.stats.prefilled_tokens


def plain_forward(
    folder: Path, adapter: Path | None, episodes: Sequence[Episode], forbidden: Sequence[int]
) -> list[torch.Tensor]:
    """Return the log-probabilities of each episode's sampled tokens as transformers and PEFT compute them."""
    sees = "vision_config" in json.loads((folder / "config.json").read_text())
    auto = AutoModelForImageTextToText if sees else AutoModelForCausalLM
    model: Any = auto.from_pretrained(folder, dtype=torch.float32).eval()
    keywords = inspect.signature(model.forward).parameters
    if adapter is not None:
        model = PeftModel.from_pretrained(model, str(adapter)).eval()
    found = []
    for episode in episodes:
        ids = torch.tensor(episode.tokens)[None]
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **episode.images}
        if sees and "mm_token_type_ids" in keywords:
            inputs["mm_token_type_ids"] = torch.isin(ids, torch.tensor(forbidden)).int()
        with torch.no_grad():
            logits = model(**inputs, use_cache=False).logits[0, :-1].float() / TEMPERATURE
        logits[:, list(forbidden)] = -torch.inf  # a picture's place is nothing that can be said
        scores = torch.log_softmax(logits, -1).gather(-1, ids[0, 1:, None])[:, 0]
        found.append(scores[torch.tensor(episode.loss_mask)[1:]])
    return found


def recorded(episode: Episode) -> torch.Tensor:
    return torch.tensor(episode.logprobs[episode.loss_mask])


def check_variety(episodes: Sequence[Episode], expected: Sequence[torch.Tensor], sees: bool) -> None:
    """The comparison says something: lengths, turns and pictures differ, tokens are not all alike."""
    for group in range(GROUPS):
        members = [each for each in episodes if each.group == group]
        assert len({each.segments[0].content for each in members}) == 1  # their prompt is shared
        assert len({tuple(map(len, each.segments)) for each in members}) > 1
        assert len({each.turns for each in members}) == 2
    assert len({len(each.segments[0]) for each in episodes}) > 1
    pictures = {sum(bool(segment.images) for segment in each.segments) for each in episodes}
    assert pictures == ({1, 2} if sees else {0})
    assert torch.cat(list(expected)).std() > 0.5


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
@pytest.mark.parametrize("case", CASES)
def test_the_fast_path_is_the_same_function(
    case: str, counting_env: Callable[..., gym.Env], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = make(case, tmp_path / "model")
    policy = adapted(folder)
    sees = case in VISION_FAMILIES or case == "pixelis-tiny"
    assert policy.shares_prefixes
    reads = []
    monkeypatch.setattr(SharedMemory, "read", _counted(SharedMemory.read, reads))
    episodes, read = play(policy, lambda: counting_env(pictures=sees))
    assert len(reads) == 2  # after the first and the second turn, on keys and values that were kept
    given = sum(len(each) - each.completion_length for each in episodes)
    shared = sum(len(each.segments[0]) * (MEMBERS - 1) for each in episodes) // MEMBERS
    assert read <= given - shared + sum(each.turns - 1 for each in episodes)

    policy.save_adapter(tmp_path / "adapter")
    forbidden = policy.chat.placeholder_ids
    expected = plain_forward(folder, tmp_path / "adapter", episodes, forbidden)
    check_variety(episodes, expected, sees)
    without = plain_forward(folder, None, episodes, forbidden)
    assert (torch.cat(expected) - torch.cat(without)).abs().max() > 0.1  # the adapter matters

    scored = policy.logprobs(episodes, TEMPERATURE)
    monkeypatch.setattr(scoring, "CHUNK_ELEMENTS", 4 * policy.vocabulary_size)  # four positions at a time
    in_chunks = policy.logprobs(episodes, TEMPERATURE)
    for row, (episode, truth) in enumerate(zip(episodes, expected, strict=True)):
        assert (recorded(episode) - truth).abs().max() < EXACT, "while decoding"
        mask = scored.mask[row]
        assert (scored.logprobs[row][mask].cpu() - truth).abs().max() < EXACT, "in scoring"
        assert (in_chunks.logprobs[row][mask].cpu() - truth).abs().max() < EXACT, "in scoring, by chunks"


def _counted(method: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(self: Any, *inputs: Any) -> Any:
        calls.append(len(inputs[0]))
        return method(self, *inputs)

    return counted
