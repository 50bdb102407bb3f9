"""Demonstrations that begin alike: the same scores and gradients as rows of their own, with fewer tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.scoring.packing import SHORTEST_HEAD, common_head
from pixelis.agents.sft import SftLearner, SftSettings
from pixelis.agents.sft.packing import score_rows
from pixelis.agents.sft.shared_head import shared_scores

TOOLS = "Tools: " + "press the button, " * 5  # one byte a token


def chats(policy: Policy, listing: str = TOOLS) -> list[Episode]:
    """Return three demonstrations whose prompts begin with the listing, of one, two and one turns."""
    episodes = []
    for index, word in enumerate(("red", "yellow", "x")):
        prompt = policy.chat.first(f"{listing}{index} which colour?" + "?" * index)
        segments = [prompt, Segment.written(policy.chat.written(word))]
        if index == 1:
            segments.append(policy.chat.later("and?", None, int(segments[-1].tokens[-1])))
            segments.append(Segment.written(policy.chat.written(word[::-1])))
        episodes.append(Episode("", index, index, 0, segments))
    return episodes


def head_of(episodes: list[Episode]) -> int:
    return common_head([each.tokens[: each.prompt_length] for each in episodes])


def apart(policy: Policy, episodes: list[Episode]) -> tuple[torch.Tensor, torch.Tensor]:
    scores = [score_rows(policy, [[each]]) for each in episodes]
    return torch.cat([each.logprobs for each in scores]), torch.cat([each.right for each in scores])


def gradients(policy: Policy, logprobs: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(logprobs.sum(), policy.trainable_parameters()))


@pytest.fixture
def policy(text_folder: Path) -> Policy:
    torch.manual_seed(0)
    made = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2))
    for each in made.trainable_parameters():  # an adapter that is still nothing has half its gradients zero
        torch.nn.init.normal_(each, std=0.2)
    return made


def test_scores_and_gradients_are_those_of_separate_rows(policy: Policy):
    episodes = chats(policy)
    assert head_of(episodes) >= len(TOOLS)
    alone, right_alone = apart(policy, episodes)
    policy.tokens_read = 0
    shared = score_rows(policy, [[each] for each in episodes])
    head = head_of(episodes)
    assert policy.tokens_read == sum(map(len, episodes)) - 2 * head  # the head once for the three
    assert shared.width == sum(map(len, episodes))
    torch.testing.assert_close(shared.logprobs, alone, rtol=0, atol=1e-5)
    assert torch.equal(shared.right, right_alone)
    for found, expected in zip(gradients(policy, shared.logprobs), gradients(policy, alone), strict=True):
        # Sums in another order are apart by what float32 leaves of the largest terms, not of each sum.
        largest = max(float(expected.abs().max()), 1.0)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * largest)


def test_a_training_step_is_the_same_whatever_is_shared(text_folder: Path):
    after = []
    for size in (1, 3):  # micro-batches of one share nothing
        torch.manual_seed(0)
        policy = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2))
        step = SftLearner(policy, SftSettings(micro_batch_size=size)).step(chats(policy), 1e-3)
        after.append((step.loss, step.grad_norm, step.fill))
    assert after[0][:2] == pytest.approx(after[1][:2], rel=1e-4)
    assert [fill for *_, fill in after] == [1.0, 1.0]


def test_little_in_common_and_dropout_are_read_apart(policy: Policy, text_folder: Path):
    assert head_of(chats(policy, "")) < SHORTEST_HEAD
    assert shared_scores(policy, chats(policy, "")) is None
    dropping = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2, dropout=0.5))
    dropping.model.train()
    assert shared_scores(dropping, chats(dropping)) is None
    dropping.model.eval()
    assert shared_scores(dropping, chats(dropping)) is not None


def test_pictures_are_read_apart(policy: Policy):
    seen = chats(policy)
    prompt = seen[0].segments[0]
    seen[0].segments[0] = Segment.given(prompt.tokens, images={"pixel_values": torch.zeros(1, 3, 2, 2)})
    assert shared_scores(policy, seen) is None
