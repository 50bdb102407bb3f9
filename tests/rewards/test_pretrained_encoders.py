"""The encoders of the sentence-transformers library, with real models of random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from embedding_models import save_clip_model, save_text_model

from pixelis.errors import ModelLoadError, RewardError
from pixelis.rewards.curiosity.term import CuriosityTerm
from pixelis.rewards.features.encoder import make_encoder
from pixelis.rewards.terms.term import Transition

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)
OTHER = RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def text_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_text_model(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def clip_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clip_model(tmp_path_factory.mktemp("clip"))


def features(name: str, *observations: dict) -> np.ndarray:
    encoder = make_encoder(name)
    assert encoder.name == name
    return encoder.encode([encoder.look(one) for one in observations])


def test_texts_alone_have_unit_mean_square(text_model: Path):
    name = f"sentence-transformer:{text_model}"
    found = features(name, {"text": "a sign"}, {"text": "a wall"}, {"text": "a sign", "image": IMAGE})
    assert found.shape == (3, 768) and found.dtype == np.float32
    assert (found**2).mean(1) == pytest.approx([1, 1, 1], rel=1e-5)
    assert not np.allclose(found[0], found[1])
    assert np.array_equal(found[0], found[2])  # such a model takes no pictures


def test_texts_are_what_the_library_says(text_model: Path):
    from sentence_transformers import SentenceTransformer

    (found,) = features(f"sentence-transformer:{text_model}", {"text": "a sign"})
    expected = SentenceTransformer(str(text_model)).encode("a sign")
    assert found == pytest.approx(expected / np.linalg.norm(expected) * 768**0.5, abs=1e-5)


def test_clip_averages_text_and_picture(clip_model: Path):
    rows = [{"text": "a"}, {"image": IMAGE}, {"text": "a", "image": IMAGE}, {"text": "a", "image": OTHER}]
    text, picture, both, other = features(f"clip:{clip_model}", *rows)
    assert both == pytest.approx((text + picture) / 2, abs=1e-5)
    assert (text**2).mean() == pytest.approx(1, rel=1e-5) == (picture**2).mean()
    assert not np.allclose(both, other)


def test_a_text_longer_than_the_model_reads_is_cut(clip_model: Path):
    long, cut = features(f"clip:{clip_model}", {"text": "a " * 500}, {"text": "a " * 100})
    assert np.array_equal(long, cut)


def test_without_its_input(text_model: Path):
    encoder = make_encoder(f"sentence-transformer:{text_model}", component="novelty")
    with pytest.raises(RewardError, match=r"novelty: expected an observation with text, .* \['image'\]"):
        encoder.encode([encoder.look({"image": IMAGE})])


def test_a_model_of_another_size(tmp_path: Path):
    encoder = make_encoder(f"sentence-transformer:{save_text_model(tmp_path, dims=64)}")
    with pytest.raises(RewardError, match=r"expected .* \(768,\), got \(64,\)"):
        encoder.encode([encoder.look({"text": "a"})])


def test_a_model_that_is_not_there(tmp_path: Path):
    with pytest.raises(ModelLoadError, match=r"curiosity: the encoder .* cannot be loaded"):
        make_encoder(f"clip:{tmp_path / 'missing'}")


def test_curiosity_of_a_pretrained_encoder_fades(text_model: Path):
    term = CuriosityTerm(encoder=f"sentence-transformer:{text_model}", cache_max_age=0)
    step = Transition({"text": "a street"}, "ZOOM", {"text": "a sign"})
    first = term.measure([step])[0]
    for _ in range(100):
        term.score([(term.begin(), step)])
        term.learn()
    assert 0 <= term.measure([step])[0] < 0.2 * first
