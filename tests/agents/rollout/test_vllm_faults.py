"""What servers of vLLM may do wrong, and what the trainer's client and engine make of it."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
import torch
from vllm_servers import answering, choice_of, replayed

from pixelis.agents.episodes.episode import Segment
from pixelis.agents.models.lora import LoraSettings
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings
from pixelis.agents.rollout.vllm.answers import Completion, ServerFault
from pixelis.agents.rollout.vllm.client import VllmClient
from pixelis.agents.rollout.vllm.engine import VllmEngine
from pixelis.agents.rollout.vllm.prompts import Prompt
from pixelis.agents.rollout.vllm.server import flags
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError, SamplerError

SAMPLING = SamplingSettings(max_new_tokens=4)
NEUTRAL = {
    "top_k": 0,
    "min_p": 0,
    "repetition_penalty": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
}


@pytest.fixture(scope="module")
def policy() -> Policy:
    torch.manual_seed(0)
    return Policy.load("pixelis-mini", device="cpu", lora=LoraSettings(rank=2))


def push(by: VllmEngine, policy: Policy) -> None:
    """Give the servers the adapter, as the beginning of a rollout does."""
    with by.open(policy, RolloutStats(), 0):
        pass


def turn(by: VllmEngine, policy: Policy) -> Completion:
    """Return a turn of the first row."""
    return by.write(policy, 0, prompt_of(5, 6, 7), 4, SAMPLING, 0)


def prompt_of(*tokens: int) -> Prompt:
    """Return a prompt without pictures."""
    return Prompt([Segment.given(tokens)])


@contextlib.contextmanager
def client_of(url: str, seconds: float = 5.0):
    """Open a client."""
    with contextlib.closing(VllmClient(url, seconds)) as client:
        yield client


def says(body: bytes):
    """Return what answers with these bytes."""

    def answer(handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


# ---------------------------------------------------------------------- nonsense


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"[" * 200_000, "no JSON"),
        (b"\xff\xfe{", "no JSON"),
        (b'{"model": "it", "choices": ["x"]}', "holds no completion"),
        (b'{"model": "it", "choices": "x"}', "holds no completion"),
        (b'{"model": 3, "choices": [{}]}', "holds no completion, or not by which model"),
        (b'{"model": "it", "choices": [{"prompt_logprobs": "none"}]}', "does not say the log-probabilities"),
        (b'{"model": "it", "choices": [{"prompt_logprobs": [null, {"6": {"logprob": "-1"}}]}]}', "is none"),
        (b'{"model": "it", "choices": [{"prompt_logprobs": [null, {"6": {"logprob": 7}}]}]}', "is none"),
    ],
)
def test_nonsense_in_the_place_of_scores_is_a_fault(answer, words):
    with answering(says(answer)) as url, client_of(url) as client, pytest.raises(ServerFault, match=words):
        client.score("it", [5, 6])


@pytest.mark.parametrize("logprob", [-(10**400), -9999.0])  # the latter stands for NaN and -inf
def test_a_log_probability_that_is_none_is_a_fault(logprob):
    wrong = json.dumps({"model": "it", "choices": [choice_of([2], [logprob], "stop")]}).encode()
    with answering(says(wrong)) as url, client_of(url) as client, pytest.raises(ServerFault, match="is none"):
        client.complete("it", prompt_of(5), 4, SAMPLING, 0, [2])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"id": "mini", "max_model_len": "2048"}, "max_model_len is no number of tokens: '2048'"),
        ({"id": "mini", "max_model_len": True}, "no number of tokens"),
        ({"id": ["mini"]}, "no vLLM server"),
        ("mini", "no vLLM server"),
    ],
)
def test_facts_that_are_none_are_a_fault(model, words):
    answer = says(json.dumps({"version": "0.32", "data": [model]}).encode())
    with answering(answer) as url, client_of(url) as client, pytest.raises(ServerFault, match=words):
        client.facts()


# ---------------------------------------------------------------------- late and long answers


def drips_its_body(handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(60):
        handler.wfile.write(b" ")
        time.sleep(0.05)


def drips_its_head(handler) -> None:
    for _ in range(60):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.05)


def is_silent(handler) -> None:
    time.sleep(3)


@pytest.mark.parametrize("answer", [drips_its_body, drips_its_head, is_silent])
def test_an_answer_that_is_not_whole_in_time_is_a_fault(answer):
    with answering(answer) as url, client_of(url, 0.3) as client:
        started = time.monotonic()
        with pytest.raises(ServerFault, match=r"no whole answer in 0.3 s|ReadTimeout"):
            client.score("it", [5, 6])
        assert time.monotonic() - started < 1


def test_an_endless_answer_is_a_fault():
    def answer(handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 65536)

    words = r"longer than 1\d{6} bytes"
    with answering(answer) as url, client_of(url) as client, pytest.raises(ServerFault, match=words):
        client.score("it", [5, 6])


# ---------------------------------------------------------------------- who is lost, and who is not


def test_a_server_that_was_restarted_between_steps_is_checked_anew_and_used(policy, engine, caplog):
    with replayed(policy) as server:
        by = engine(server.url)
        push(by, policy)
        server.adapters.clear()  # it was restarted, so that it cannot unload the old one
        server.asked.clear()
        push(by, policy)
        assert [client.url for client in by.living] == [server.url] and "left out" not in caplog.text
        assert any("prompt_logprobs" in body for _, body in server.asked)
        server.asked.clear()
        push(by, policy)  # and then it is known
        assert not any("prompt_logprobs" in body for _, body in server.asked)


def test_one_that_was_restarted_in_another_mode_is_refused(policy, engine):
    with replayed(policy) as server:
        by = engine(server.url)
        push(by, policy)
        server.adapters.clear()
        server.is_raw = True
        with pytest.raises(SamplerError, match="--logprobs-mode processed_logprobs"):
            push(by, policy)


def test_the_only_server_is_asked_once_more_and_not_twice(policy, engine, caplog):
    with replayed(policy) as server:
        by = engine(server.url)
        push(by, policy)
        server.bad_answers = [{"oh": "dear"}]
        assert turn(by, policy).finish_reason == "stop" and len(server.wrote) == 2
        assert f"the server at {server.url} is asked once more: its answer holds no completion" in caplog.text
        server.bad_answers = ["no JSON", "again none"]
        with pytest.raises(SamplerError, match="no vLLM server can be used"):
            turn(by, policy)
        assert len(server.wrote) == 4


def test_where_there_are_others_one_bad_answer_is_enough(policy, engine):
    with replayed(policy) as bad, replayed(policy) as good:
        by = engine(bad.url, good.url)
        push(by, policy)
        bad.bad_answers = ["no JSON"]
        turn(by, policy)
        assert [client.url for client in by.living] == [good.url] and len(bad.wrote) == 1


# ---------------------------------------------------------------------- what is asked


def test_what_a_models_own_file_would_set_is_said(policy, engine):
    with replayed(policy) as server:
        by = engine(server.url)
        push(by, policy)
        turn(by, policy)
        (asked,) = (body for _, body in server.asked if body.get("max_tokens") == 4)
    assert asked.items() >= NEUTRAL.items() and asked["ignore_eos"] is False
    words = flags("mini", 8000, "float32", 16, 2048)
    assert words[words.index("--generation-config") + 1] == "vllm"


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_a_server_that_says_raw_log_probabilities_is_refused(policy, engine, temperature):
    with replayed(policy, is_raw=True) as server, pytest.raises(SamplerError) as caught:
        push(engine(server.url), policy)
    assert "start it with --logprobs-mode processed_logprobs" in str(caught.value)
    assert "before temperature and top_p" in str(caught.value)


# ---------------------------------------------------------------------- addresses


def test_this_machine_is_not_asked_through_a_proxy(monkeypatch):
    with answering(says(b"")) as url, answering(lambda proxy: proxy.send_error(502)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        for address in (url, url.replace("127.0.0.1", "localhost")):
            with client_of(address) as client:
                assert client.is_up()
        with client_of("http://far.example") as client, pytest.raises(ServerFault, match="it answers 502"):
            client.facts()  # by the proxy, which knows it not


def test_passwords_are_sent_and_not_shown(policy, engine, caplog):
    caplog.set_level("DEBUG")
    came = []

    def answer(handler) -> None:
        came.append(handler.headers.get("Authorization"))
        handler.send_error(401)

    with answering(answer) as url:
        secret = url.replace("//", "//me:se%3Fcret@")
        with pytest.raises(SamplerError) as caught:
            push(engine(secret, "http://you:hidden@127.0.0.1:9"), policy)
    assert came[0] == "Basic bWU6c2U/Y3JldA=="
    told = str(caught.value) + caplog.text
    assert f"{url}: it answers 401" in told and "http://127.0.0.1:9: ConnectError" in told
    assert not any(each in told for each in ("cret", "hidden", "you", "me:"))


@pytest.mark.parametrize(
    "url", ["http://me:se#cret@host:80", "http://me:se?cret@host:80", "http://host:port"]
)
def test_an_address_that_is_none_is_told_without_its_password(url):
    with pytest.raises(ConfigError, match=r"sampler.urls: 'http://host:\w+' is no address") as caught:
        VllmClient(url, 1.0)
    assert "se" not in str(caught.value).replace("server", "")


def test_one_server_that_is_named_twice_is_one(policy, engine):
    with replayed(policy) as server:
        by = engine(server.url, f"{server.url}/")
        push(by, policy)
        assert len(turn(by, policy).tokens) == 1
        loaded = [body for path, body in server.asked if path == "/v1/load_lora_adapter"]
        assert len(loaded) == 1  # vLLM refuses a second time
        by.close()


@pytest.mark.parametrize("temperature", [0.005, 2.5])
def test_a_temperature_that_servers_do_not_take_is_told_before_any_is_asked(temperature):
    values = {"env": "Pixelis/CodeProblem-v0", "model": "pixelis-mini", "temperature": temperature}
    TrainConfig.from_mapping(values)
    with pytest.raises(ConfigError, match=r"must be from 0\.01 to 2 with sampler vllm"):
        TrainConfig.from_mapping({**values, "sampler": "vllm"})
