"""Every model family, tiny and random: pictures become the tokens and tensors the family's processor makes.

The oracle is transformers itself: its processor on the whole conversation at once, its model on one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_models import FAMILIES, TEXT_FAMILIES, VISION_FAMILIES, build

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import LoraSettings, Policy

TURNS = ["<answer>seven</answer>", "a longer turn, ZOOM", "ok"]
# Sides of pictures; those models that tile or keep proportions give each its own number of tokens.
SHAPES = [(32, 32), (64, 32), (60, 100), (32, 64)]


@pytest.fixture(scope="module")
def policy_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Policy]:
    made: dict[str, Policy] = {}

    def get(family: str) -> Policy:
        if family not in made:
            made[family] = Policy.load(build(family, tmp_path_factory.mktemp(family)), device="cpu")
        return made[family]

    return get


def picture(index: int) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (*SHAPES[index % len(SHAPES)], 3), dtype=np.uint8)


def conversation(policy: Policy, pictures: list[int | None]) -> Episode:
    """Return an episode whose turns are given; ``pictures`` says which picture each observation shows."""
    segments: list[Any] = []
    for turn, index in enumerate(pictures):
        image = picture(index) if index is not None else None
        last = int(segments[-1].tokens[-1]) if segments else None
        chat = policy.chat
        segments.append(chat.later(f"view {turn}", image, last) if segments else chat.first("Which?", image))
        written = chat.written(TURNS[turn % len(TURNS)])
        segments.append(type(segments[0]).written(written))
    return Episode("Toy-v0", 0, 0, 0, segments)


def whole(policy: Policy, pictures: list[int | None]) -> dict[str, torch.Tensor]:
    """Return what the model's own processor makes of the whole conversation at once."""
    messages: list[dict[str, Any]] = []
    for turn, index in enumerate(pictures):
        words = [{"type": "text", "text": f"view {turn}" if turn else "Which?"}]
        content = [{"type": "image"}, *words] if index is not None else words
        messages.append({"role": "user", "content": content})
        said = [{"type": "text", "text": TURNS[turn % len(TURNS)]}]
        messages.append({"role": "assistant", "content": said})
    text = policy.processor.apply_chat_template(messages, tokenize=False)
    images = [Image.fromarray(picture(index)) for index in pictures if index is not None]
    options = {"add_special_tokens": False, "return_tensors": "pt"}
    return dict(policy.processor(text=[text], images=images, **options) if images else {}) or dict(
        policy.tokenizer([text], **options)
    )


MIXES = [[0], [1, None, 2], [None, 3], [0, 1, 2], [None]]


@pytest.mark.parametrize("family", VISION_FAMILIES)
@pytest.mark.parametrize("pictures", MIXES, ids=str)
def test_growing_turn_by_turn_equals_the_processor_on_the_whole(policy_of, family, pictures):
    policy = policy_of(family)
    episode, expected = conversation(policy, pictures), whole(policy, pictures)
    ids = expected["input_ids"][0].numpy()
    assert episode.tokens.tolist() == ids[: len(episode)].tolist()  # a line break may follow the last turn
    assert len(ids) - len(episode) <= 1
    images = episode.images
    for key, value in images.items():
        assert torch.equal(value.reshape(-1), expected[key].reshape(-1)), key
    assert set(images) == {key for key in expected if key.startswith(("pixel", "image"))}


@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_every_picture_has_its_placeholders(policy_of, family):
    """Whatever a model does with tiles, its features fill exactly the placeholders of each segment."""
    policy = policy_of(family)
    token = policy.processor.image_token_id if hasattr(policy.processor, "image_token_id") else None
    assert token in policy.chat.placeholder_ids
    for index in range(len(SHAPES)):
        first = policy.chat.first("Which?", picture(index))
        with torch.no_grad():
            images = {key: value for key, value in first.images.items()}
            features = policy.base.model.get_image_features(**images).pooler_output
        rows = features if isinstance(features, torch.Tensor) else torch.cat(list(features))
        assert rows.reshape(-1, rows.shape[-1]).shape[0] == int((first.tokens == token).sum())


@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_a_batch_of_mixed_picture_counts_scores_like_each_row_alone(policy_of, family):
    policy = policy_of(family)
    episodes = [conversation(policy, pictures) for pictures in MIXES]
    with torch.no_grad():
        together = policy.logprobs(episodes).logprobs
        for row, (episode, pictures) in enumerate(zip(episodes, MIXES, strict=True)):
            inputs = whole(policy, pictures)
            if policy.position_axes == 3 and "mm_token_type_ids" not in inputs:
                inputs["mm_token_type_ids"] = torch.zeros_like(inputs["input_ids"])
            logits = policy.base(**inputs).logits[0].double()
            logits[:, list(policy.chat.placeholder_ids)] = -torch.inf
            ids = inputs["input_ids"][0]
            scores = torch.log_softmax(logits[:-1], -1).gather(-1, ids[1:, None])[:, 0].numpy()
            mask = episode.loss_mask
            expected = np.concatenate([[0.0], scores])[: len(episode)]
            found = together[row, : len(episode)].numpy()
            assert np.abs(found - expected)[mask].max() < 1e-4


@pytest.mark.parametrize("family", TEXT_FAMILIES)
def test_text_families_score_like_their_own_forward(policy_of, family):
    policy = policy_of(family)
    episodes = [conversation(policy, [None] * turns) for turns in (1, 3)]
    with torch.no_grad():
        together = policy.logprobs(episodes).logprobs
        for row, episode in enumerate(episodes):
            ids = torch.from_numpy(episode.tokens)[None]
            scores = torch.log_softmax(policy.base(ids).logits[0, :-1].double(), -1)
            expected = scores.gather(-1, ids[0, 1:, None])[:, 0].numpy()
            found = together[row, 1 : len(episode)].numpy()
            assert np.abs(found - expected)[episode.loss_mask[1:]].max() < 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_the_adapter_sits_in_the_language_part_under_plain_names(policy_of, family):
    base = policy_of(family).base_name
    policy = Policy.load(base, device="cpu", lora=LoraSettings(rank=2))
    trained = [name for name, value in policy.model.named_parameters() if value.requires_grad]
    layers = {name.split(".lora_")[0].rsplit(".", 1)[-1] for name in trained}
    assert layers == {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    assert not [name for name in trained if "visi" in name or "visual" in name]
