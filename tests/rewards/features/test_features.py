"""Encoders of states: what they see, what they take, and what they refuse."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

from pixelis.errors import ConfigError, MissingDependencyError, RewardError
from pixelis.rewards.features.encoder import HashedEncoder, make_encoder
from pixelis.rewards.features.function_encoder import FunctionEncoder

IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
ENCODER = HashedEncoder()


def halves(observation: Any) -> tuple[bool, bool]:
    """Return whether the text half and the picture half of the features hold anything."""
    features = ENCODER(observation)
    assert features.shape == (768,) and features.dtype == np.float32
    return bool(features[:384].any()), bool(features[384:].any())


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        ({"text": "a sign", "image": IMAGE}, (True, True)),
        ({"text": "a sign"}, (True, False)),
        ({"text": ""}, (True, False)),
        ({"image": IMAGE}, (False, True)),
        ({"value": IMAGE}, (False, True)),
        ({"value": np.array([0.1, -2.0])}, (False, True)),
        ({"text": "at", "value": 3.5}, (True, True)),
        ({"value": 7}, (True, False)),
        ("a sign", (True, False)),
        (IMAGE, (False, True)),
        (np.int64(7), (True, False)),
        ([0.5, 0.25], (False, True)),
    ],
)
def test_observations_of_every_kind(observation: Any, expected: tuple[bool, bool]):
    assert halves(observation) == expected


def test_plain_observation_is_that_of_a_dict():
    assert np.array_equal(ENCODER("a sign"), ENCODER({"text": "a sign"}))
    assert np.array_equal(ENCODER(IMAGE), ENCODER({"image": IMAGE}))


def test_many_at_once_are_as_one_by_one():
    observations: list[Any] = [
        {"text": "a"},
        {"image": IMAGE},
        {"text": "b", "image": IMAGE},
        {"value": [1.0]},
    ]
    together = ENCODER.encode([ENCODER.look(one) for one in observations])
    alone = np.stack([ENCODER(one) for one in observations])
    assert np.array_equal(together, alone)  # to the bit: a feature may be kept, or computed in other company


def test_digest_tells_what_the_features_tell():
    looks = [
        ENCODER.look(one)
        for one in (
            {"text": "a"},
            {"text": "b"},
            {"text": "a", "image": IMAGE},
            {"image": IMAGE},
            {"text": ""},
            {"value": [1.0, 2.0]},
            {"value": [1.0, 2.0, 0.0]},
        )
    ]
    assert len({look.digest for look in looks}) == len(looks)
    assert ENCODER.look({"text": "a", "image": IMAGE.copy()}).digest == looks[2].digest


def test_seeds_differ():
    assert not np.array_equal(HashedEncoder(0)({"text": "a"}), HashedEncoder(1)({"text": "a"}))
    assert not np.array_equal(HashedEncoder(0)(IMAGE), HashedEncoder(1)(IMAGE))


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ({"value": [1.0, float("nan")]}, "curiosity: the observation holds NaN or infinity"),
        ({"image": np.full((4, 4), np.inf)}, "curiosity: the observation holds NaN or infinity"),
        ({"agent": 1, "target": 2}, r"curiosity: .* got the keys \['agent', 'target'\]"),
        ({}, r"got the keys \[\]"),
        ({"value": {"nested": 1}}, "curiosity: .* got dict"),
    ],
)
def test_what_cannot_be_encoded(observation: Any, message: str):
    with pytest.raises(RewardError, match=message):
        ENCODER.look(observation)


def constant(observation: Any) -> np.ndarray:
    """Return an embedding that says how long the text is."""
    return np.full(768, len(observation["text"]), np.float32)


def test_function_of_ones_own():
    encoder = make_encoder(constant)
    features = encoder.encode([encoder.look({"text": "four"}), encoder.look({"text": "to"})])
    assert features.shape == (2, 768)
    assert list(features[:, 0]) == [4.0, 2.0]
    assert encoder.name.endswith(":constant")


def test_function_sees_all_of_the_observation():
    encoder = FunctionEncoder(constant)
    changed = IMAGE.copy()
    changed[0, 0, 0] ^= 1
    observations: list[dict[str, Any]] = [
        {"text": "a", "image": IMAGE},
        {"text": "a", "image": changed},
        {"text": "b", "image": IMAGE},
        {"text": "a", "image": IMAGE.reshape(-1)},
        {"text": "a", "other": IMAGE},
        {"text": "a", "image": {"left": IMAGE, "right": changed}},
        {"text": "a", "image": {"left": IMAGE, "right": IMAGE}},
        {"text": "a", "image": [IMAGE, changed]},
        {"text": "a", "image": [IMAGE]},
        {"text": "a", "image": torch.from_numpy(IMAGE)},
        {"text": "a", "image": torch.from_numpy(changed)},
        {"text": "a", "image": 1},
        {"text": "a", "image": "1"},
        {"text": "a", "image": np.array(1)},
        {"text": "a", "image": np.zeros((0, 3))},
        {"text": "a", "image": np.array(["x", None], dtype=object)},
    ]
    assert len({encoder.look(one).digest for one in observations}) == len(observations)
    assert encoder.look(dict(observations[0])).digest == encoder.look(observations[0]).digest


def test_embedding_of_another_size():
    encoder = make_encoder(lambda observation: np.zeros(512), component="novelty")
    with pytest.raises(RewardError, match=r"novelty: expected .* \(768,\), got \(512,\)"):
        encoder.encode([encoder.look({"text": "a"})])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_embedding_that_is_not_finite(bad: float):
    encoder = make_encoder(lambda observation: np.full(768, bad))
    with pytest.raises(RewardError, match=r"curiosity: .* finite, got NaN or infinity"):
        encoder.encode([encoder.look({"text": "a"})])


@pytest.mark.parametrize("name", ["sentence-transformer", "clip", "clip:clip-ViT-B-32"])
def test_pretrained_encoder_names_its_extra(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as where it is not installed
    with pytest.raises(MissingDependencyError, match=r"pixelis\[text\]"):
        make_encoder(name)


@pytest.mark.parametrize("encoder", ["bert", "", 7, None, "hashed:1"])
def test_unknown_encoder(encoder: Any):
    with pytest.raises(ConfigError, match="curiosity: unknown encoder"):
        make_encoder(encoder)


def test_ready_made_encoder_stays_itself():
    assert make_encoder(ENCODER) is ENCODER
    assert make_encoder("hashed", seed=3).name == "hashed:3"
