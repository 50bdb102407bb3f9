"""Pictures for vLLM servers: what is sent, what servers make of it, and where there is one, that it sees."""

from __future__ import annotations

import base64
import contextlib
import io
import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from PIL import Image
from tiny_models import VISION_FAMILIES, build
from vllm_servers import answering

from pixelis.agents.episodes.episode import Segment, Shown
from pixelis.agents.models.lora import LoraSettings
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.rollout.vllm.answers import Completion, ServerFault, checked_generated
from pixelis.agents.rollout.vllm.checks import check_tokens
from pixelis.agents.rollout.vllm.client import VllmClient
from pixelis.agents.rollout.vllm.prompts import Prompt
from pixelis.agents.rollout.vllm.server import PICTURES, PYTHON, VllmServer, flags
from pixelis.errors import SamplerError

pytestmark = pytest.mark.timeout(900)
HEAD_DIM = 32  # the least that vLLM's attention has on a CPU
REQUESTS = [EpisodeRequest(seed, seed, member) for seed in (3, 5) for member in range(3)]


class Looking(gym.Env):
    """Shows another picture of another size after each of three turns."""

    observation_space = gym.spaces.Dict(
        {"text": gym.spaces.Text(20), "image": gym.spaces.Box(0, 255, (200, 200, 3), np.uint8)}
    )
    action_space = gym.spaces.Text(1000)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 3
        return self._seen(), {}

    def step(self, action):
        self.left -= 1
        return self._seen(), 1.0, self.left == 0, False, {}

    def _seen(self):
        size = self.np_random.integers(20, 200, 2)
        return {"text": "Look.", "image": self.np_random.integers(0, 256, (*size, 3), dtype=np.uint8)}


def loaded(folder: Path) -> Policy:
    """Return a model with an adapter that does something."""
    torch.manual_seed(0)
    policy = Policy.load(str(folder), device="cpu", lora=LoraSettings(rank=8))
    with torch.no_grad():
        for name, each in policy.model.named_parameters():
            if "lora_B" in name:
                each.normal_(std=0.05)
    return policy


def picture(height: int = 40, width: int = 56) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


# ---------------------------------------------------------------------- what is sent


@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_a_picture_is_one_placeholder_for_who_has_an_image_processor(family, tmp_path):
    chat = Policy.load(str(build(family, tmp_path)), device="cpu").chat
    seen = picture()
    end = chat.end_of_turn_id
    for segment in (chat.first("What?", seen), chat.later("What?", seen), chat.later("What?", seen, end)):
        assert np.isin(segment.tokens, chat.placeholder_ids).sum() > 1
        assert np.isin(segment.shown.tokens, chat.placeholder_ids).sum() == 1
        assert chat.decode(segment.shown.tokens) == segment.text
        assert segment.shown.picture is seen
    assert chat.later("What?", seen, end).shown.tokens[0] != end
    assert chat.first("What?").shown is None


def test_a_prompt_holds_the_tokens_that_are_read_and_those_that_are_sent():
    seen, images = picture(), {"pixel_values": torch.zeros(1)}
    opening = Segment.given([7, 9, 9, 9, 8], images=images, shown=Shown(np.array([7, 9, 8]), seen))
    one = Prompt([opening])
    other = one.copy()
    one.add(Segment.written([4, 5]))
    one.add(Segment.given([6, 9, 9], images=images, shown=Shown(np.array([6, 9]), seen[:20])))
    assert (one.tokens, one.shown) == ([7, 9, 9, 9, 8, 4, 5, 6, 9, 9], [7, 9, 8, 4, 5, 6, 9])
    assert (other.tokens, other.shown, len(other.pictures)) == ([7, 9, 9, 9, 8], [7, 9, 8], 1)
    assert len(one) == 10
    kinds = {each.partition(",")[0] for each in one.pictures}
    assert kinds == {"data:image/png;base64"}
    files = [base64.b64decode(each.partition(",")[2]) for each in one.pictures]
    for file, expected in zip(files, [seen, seen[:20]], strict=True):
        np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(file))), expected)


def test_images_of_no_known_picture_are_not_sent_as_if_there_were_none():
    with pytest.raises(ValueError, match="no picture that a server could be sent"):
        Prompt([Segment.given([9, 9], images={"pixel_values": torch.zeros(1)})])


SENT = Prompt(
    [Segment.given([7, 9, 9, 8], images={"x": torch.zeros(1)}, shown=Shown(np.array([7, 9, 8]), picture()))]
)


def answered(**changes) -> dict:
    """Return what vLLM 0.32 has answered, with other values."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "token_ids": [5, 2],
        "logprobs": {"content": [{"token_id": 5, "logprob": -0.5}, {"token_id": 2, "logprob": -0.25}]},
    }
    return {
        "model": "it",
        "prompt_token_ids": [7, 9, 9, 8],
        "choices": [choice | changes.pop("choice", {})],
    } | changes


def test_a_turn_behind_a_picture_is_asked_by_its_tokens_and_the_picture():
    asked = []

    def answer(handler) -> None:
        asked.append((handler.path, handler.body))
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(json.dumps(answered()).encode())

    settings = SamplingSettings(0.5, top_p=0.9, max_new_tokens=4)
    with answering(answer) as url, contextlib.closing(VllmClient(url, 5.0)) as client:
        turn = client.complete("it", SENT, 4, settings, 11, [2], [9])
    np.testing.assert_array_equal(turn.tokens, [5, 2])
    np.testing.assert_array_equal(turn.logprobs, np.array([-0.5, -0.25], np.float32))
    assert turn.finish_reason == "stop"
    ((path, body),) = asked
    sent = json.loads(body)
    assert path == "/inference/v1/generate"
    assert sent["token_ids"] == [7, 9, 8]
    assert sent["content_parts"] == [{"type": "image_url", "url": SENT.pictures[0]}]
    drawn = sent["sampling_params"]
    assert (drawn["max_tokens"], drawn["temperature"], drawn["top_p"], drawn["seed"]) == (4, 0.5, 0.9, 11)
    assert drawn["stop_token_ids"] == [2]
    assert drawn["logit_bias"] == {"9": -100.0}


# ---------------------------------------------------------------------- what a server may make of it


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (answered(prompt_token_ids=[7, 9, 8]), r"other tokens \(3 with the words, the model here 4\)"),
        (answered(prompt_token_ids=None), "does not say which tokens it has read"),
        (answered(model="another"), "by other weights"),
        (answered(choice={"logprobs": None}), "no log-probabilities"),
        (answered(choice={"logprobs": {"content": [{}]}}), "no log-probabilities"),
        ([], "holds no completion"),
    ],
)
def test_what_is_no_answer_to_a_picture_is_a_fault(answer, words):
    with pytest.raises(ServerFault, match=words):
        checked_generated(answer, "it", SENT.tokens)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, b'{"error": {"message": "Scale-out endpoints are disabled."}}'),  # without the flag
        (404, b'{"detail":"Not Found"}'),  # a vLLM that does not know it
    ],
)
def test_a_server_that_takes_no_pictures_is_told_what_it_lacks(status, body):
    def answer(handler) -> None:
        handler.send_response(status)
        handler.end_headers()
        handler.wfile.write(body)

    with (
        answering(answer) as url,
        contextlib.closing(VllmClient(url, 5.0)) as client,
        pytest.raises(ServerFault, match=r"start vLLM, 0\.32 or later, with --enable-scale-out"),
    ):
        client.complete("it", SENT, 4, SamplingSettings(), 0, [2])


def test_a_turn_with_a_placeholder_is_a_fault():
    policy = Policy.load("pixelis-tiny", device="cpu", lora=LoraSettings(rank=2))
    (image,) = policy.chat.placeholder_ids
    turn = Completion(np.array([5, image]), np.zeros(2, np.float32), "length")
    with pytest.raises(ServerFault, match="stands for a picture"):
        check_tokens(turn, policy)
    check_tokens(turn._replace(tokens=np.array([5, 6])), policy)


def test_a_server_for_text_is_not_asked_to_take_pictures():
    assert PICTURES == ["--enable-scale-out"]
    assert PICTURES[0] not in flags("folder", 1, "float32", 8, None)


# ---------------------------------------------------------------------- with a real server


def seeing(folder: Path) -> Path:
    """Write a small model that sees and that vLLM serves without torchvision."""
    return build("idefics3", folder, head_dim=HEAD_DIM, max_position_embeddings=2048)


def server_of(folder: Path, log: Path, *, sees_images: bool = True) -> contextlib.closing[VllmServer]:
    python = PYTHON.expanduser()
    options = {"dtype": "float32", "rank": 8, "max_context": 2048, "sees_images": sees_images}
    return contextlib.closing(VllmServer(python, str(folder), log=log, **options))


@pytest.mark.vllm
@pytest.mark.slow
def test_a_server_sees_what_the_policy_sees(engine, tmp_path):
    policy, by = loaded(seeing(tmp_path / "model")), engine()
    settings = SamplingSettings(max_new_tokens=24)
    with Collector(Looking, engine=by) as collector:
        episodes = collector.collect(policy, REQUESTS, settings, 7)
        again = collector.collect(policy, REQUESTS, settings, 7)
    assert [each.text for each in again] == [each.text for each in episodes]
    assert len({each.text for each in episodes}) == len(episodes)
    with torch.no_grad():
        ours = policy.logprobs(episodes).logprobs.numpy()
        for episode in episodes:
            for segment in (each for each in episode.segments if each.images):
                seen = segment.images["pixel_values"]  # another tensor: encodings are kept for each
                segment.images["pixel_values"] = torch.full_like(seen, 0.5)
        blind = policy.logprobs(episodes).logprobs.numpy()
    apart = []
    for row, episode in enumerate(episodes):
        assert episode.valid_for_training and episode.turns == 3
        assert sum(bool(each.images) for each in episode.segments) == 3
        inside = episode.loss_mask
        np.testing.assert_allclose(episode.logprobs[inside], ours[row, : len(episode)][inside], atol=2e-3)
        apart.append(np.abs(episode.logprobs - blind[row, : len(episode)])[inside].max())
    assert min(apart) > 0.01  # what it says depends on what is to be seen


@pytest.mark.vllm
@pytest.mark.slow
def test_a_server_with_another_image_processor_is_refused(engine, tmp_path):
    policy, other = loaded(seeing(tmp_path / "model")), seeing(tmp_path / "other")
    file = other / "processor_config.json"
    settings = json.loads(file.read_text())
    settings["image_processor"]["size"]["longest_edge"] *= 2  # more tiles
    file.write_text(json.dumps(settings))
    with (
        server_of(other, tmp_path / "log.txt") as server,
        Collector(Looking, engine=engine(server.url)) as by,
        pytest.raises(SamplerError, match="its image processor has other settings"),
    ):
        by.collect(policy, REQUESTS[:1], SamplingSettings(max_new_tokens=8), 0)


@pytest.mark.vllm
@pytest.mark.slow
def test_a_server_started_without_what_pictures_need_is_refused(engine, tmp_path):
    policy = loaded(seeing(tmp_path / "model"))
    with (
        server_of(tmp_path / "model", tmp_path / "log.txt", sees_images=False) as server,
        Collector(Looking, engine=engine(server.url)) as by,
        pytest.raises(SamplerError, match="with --enable-scale-out"),
    ):
        by.collect(policy, REQUESTS[:1], SamplingSettings(max_new_tokens=8), 0)


@pytest.mark.vllm
@pytest.mark.slow
def test_a_model_that_vllm_cannot_serve_is_refused_with_its_reason(engine):
    policy = Policy.load("pixelis-tiny", device="cpu", lora=LoraSettings(rank=2))
    with (
        Collector(Looking, engine=engine()) as by,
        pytest.raises(SamplerError, match=r"did not start \(exit code 1\): \S+Error: .*its log is "),
    ):
        by.collect(policy, REQUESTS[:1], SamplingSettings(max_new_tokens=8), 0)
