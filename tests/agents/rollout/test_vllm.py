"""Sampling by real vLLM servers, where `make vllm` has been; elsewhere these tests say that it has not."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
import torch
from vllm_servers import replayed

from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.lora import LoraSettings
from pixelis.agents.models.named_models import NAMED_MODELS
from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings
from pixelis.agents.rollout.vllm.answers import ServerFacts, ServerFault, checked_turn
from pixelis.agents.rollout.vllm.checks import check_context
from pixelis.agents.rollout.vllm.engine import VllmEngine
from pixelis.agents.rollout.vllm.server import PYTHON, VllmServer
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.settings.rl import TrainConfig, chosen_correction
from pixelis.errors import ConfigError, SamplerError

pytestmark = pytest.mark.timeout(900)
SETTINGS = SamplingSettings(max_new_tokens=48)
REQUESTS = [EpisodeRequest(seed, seed, member, {"difficulty": 1}) for seed in (3, 5) for member in range(3)]
CODE = {
    "env": "Pixelis/CodeProblem-v0",
    "model": "pixelis-mini",
    "difficulty": 1,
    "groups": 2,
    "group_size": 4,
    "max_new_tokens": 48,
    "eval_episodes": 0,
    "env_kwargs": {"max_turns": 2},
}


def mini_server(folder: Path) -> contextlib.closing[VllmServer]:
    """Start a server of pixelis-mini."""
    model, log = str(NAMED_MODELS["pixelis-mini"]()), folder / "vllm.log"
    return contextlib.closing(
        VllmServer(PYTHON.expanduser(), model, dtype="float32", rank=16, max_context=2048, log=log)
    )


def kill(server: VllmServer) -> None:
    """End a server as a lack of memory does."""
    (listens,) = (
        each
        for each in psutil.net_connections("tcp")
        if each.laddr.port == int(server.url.split(":")[-1]) and each.status == psutil.CONN_LISTEN
    )
    process = psutil.Process(listens.pid)
    for each in [process, *process.children(recursive=True)]:
        each.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of pixelis-mini; one that has died tells its last words."""
    folder = tmp_path_factory.mktemp("vllm")
    with mini_server(folder) as found:
        yield found
        last = (folder / "vllm.log").read_text(errors="replace").splitlines()[-40:]
        assert httpx.get(f"{found.url}/health").status_code == 200, "\n".join(last)


@pytest.fixture
def policy() -> Policy:
    """The same model here, with an adapter that does something."""
    torch.manual_seed(0)
    found = Policy.load("pixelis-mini", device="cpu", lora=LoraSettings(rank=8))
    with torch.no_grad():
        for name, each in found.model.named_parameters():
            if "lora_B" in name:
                each.normal_(std=0.02)
    return found


def collected(policy: Policy, engine, rng_seed: int = 7):
    """Return episodes of two turns that an engine has written."""
    env = TaskEnv.open("Pixelis/CodeProblem-v0", {"max_turns": 2}, {"difficulty": 1})
    collector = Collector(env.make, engine=engine)
    episodes = collector.collect(policy, REQUESTS, SETTINGS, rng_seed)
    return episodes, collector.stats


@pytest.mark.vllm
@pytest.mark.slow
def test_a_server_samples_from_the_policy_that_is_trained(server, policy, engine):
    episodes, stats = collected(policy, engine(server.url))
    assert all(each.valid_for_training and each.turns for each in episodes)
    with torch.no_grad():
        ours = policy.logprobs(episodes)
    for row, episode in enumerate(episodes):
        inside = episode.loss_mask
        own = ours.logprobs[row, : len(episode)].numpy()[inside]
        np.testing.assert_allclose(episode.logprobs[inside], own, atol=2e-3)
        for turn in (each for each in episode.segments if each.sampled):
            assert len(turn) <= 48
            is_whole = int(turn.tokens[-1]) in policy.chat.stop_ids
            assert turn.finish_reason == ("stop" if is_whole else "length")
            assert is_whole or len(turn) == 48
            assert turn.weights_version == policy.weights_version
            assert turn.text == policy.chat.decode(turn.tokens)
    assert stats.generated_tokens == sum(each.completion_length for each in episodes)
    assert len({each.text for each in episodes}) > len(REQUESTS) / 2  # members draw for themselves


@pytest.mark.vllm
@pytest.mark.slow
def test_the_same_draws_are_the_same_turns_and_others_are_not(server, policy, engine):
    one, two = engine(server.url), engine(server.url)
    first = [each.text for each in collected(policy, one)[0]]
    assert [each.text for each in collected(policy, two)[0]] == first
    assert [each.text for each in collected(policy, one, rng_seed=8)[0]] != first


def adapters(server: VllmServer) -> list[str]:
    """Return the names of the adapters that a server has."""
    answer = httpx.get(f"{server.url}/v1/models").json()
    return [each["id"] for each in answer["data"] if each.get("parent")]


@pytest.mark.vllm
@pytest.mark.slow
def test_the_adapter_of_now_is_what_samples(server, policy, engine):
    by = engine(server.url)
    collected(policy, by)
    policy.weights_version = 1
    with torch.no_grad():
        for name, each in policy.model.named_parameters():
            if "lora_B" in name:
                each.normal_(std=0.05)
    episodes, _ = collected(policy, by)
    ours = policy.logprobs(episodes).logprobs.detach()
    apart = [
        np.abs(e.logprobs - ours[row, : len(e)].numpy())[e.loss_mask].max() for row, e in enumerate(episodes)
    ]
    assert max(apart) < 5e-3
    assert all(each.weights_versions == {1} for each in episodes)
    (name,) = (name for name in adapters(server) if "pixelis-" in name)
    assert name.endswith("-2-step1")
    by.close()
    assert not any("pixelis-" in name for name in adapters(server))


@pytest.mark.vllm
@pytest.mark.slow
def test_a_dead_address_is_left_out_and_another_model_is_refused(server, policy, engine, caplog):
    episodes, _ = collected(policy, engine("http://127.0.0.1:9", server.url))
    assert all(each.valid_for_training for each in episodes)
    assert "the server at http://127.0.0.1:9 is left out" in caplog.text and "1 left" in caplog.text
    with torch.no_grad():
        policy.base.get_input_embeddings().weight.add_(0.5 * torch.randn(1))
        policy.base.get_input_embeddings().weight.mul_(-1.0)
    before, by = adapters(server), engine(server.url)
    with pytest.raises(SamplerError, match="its model is another one"):
        collected(policy, by)
    by.close()
    assert adapters(server) == before


@pytest.mark.vllm
@pytest.mark.slow
def test_a_run_with_servers_learns_from_what_they_say(server, tmp_path):
    settings = {"type": "vllm", "urls": [server.url]}
    config = TrainConfig.from_mapping(
        {**CODE, "steps": 2, "output": str(tmp_path / "run"), "sampler": settings}
    )
    assert chosen_correction(config) == "truncate"
    run = train(config)
    rows = read_metrics(run.folder.metrics)
    assert [row["step"] for row in rows] == [1, 2]
    assert all(row["policy/mismatch"] < 0.01 for row in rows)
    assert "sampler vllm" in (run.folder.path / "log.txt").read_text()


@pytest.mark.vllm
@pytest.mark.slow
def test_processes_that_share_out_weights_learn_from_what_a_server_says(server, start, tmp_path):
    settings = {"type": "vllm", "urls": [server.url]}
    values = {**CODE, "steps": 2, "output": str(tmp_path / "run"), "sampler": settings}
    both = start("train", TrainConfig.from_mapping(values), "--shard", processes=2)
    assert both.wait() == 0, both.said
    rows = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [(row["step"], row["episodes/count"], row["episodes/invalid"]) for row in rows] == [
        (1, 8, 0),
        (2, 8, 0),
    ]
    assert all(row["policy/mismatch"] < 1e-4 for row in rows)
    assert not any("pixelis-" in name for name in adapters(server))


@pytest.mark.vllm
@pytest.mark.slow
def test_a_server_of_ones_own_that_is_killed_ends_the_run_in_one_line(tmp_path):
    values = {**CODE, "steps": 50, "checkpoint_every": 50, "output": str(tmp_path / "run")}
    config = TrainConfig.from_mapping({**values, "sampler": "vllm"})
    others = psutil.Process().children(recursive=True)  # the server that tests share may be among them
    with TrainingRun.start(config) as run:

        def kill_all(row) -> None:
            if row["step"] == 2:
                for each in set(psutil.Process().children(recursive=True)) - set(others):
                    with contextlib.suppress(psutil.Error):
                        if "vllm" in " ".join(each.cmdline()) or "VLLM" in each.name():
                            each.kill()
                time.sleep(1)

        with pytest.raises(SamplerError, match=r"no vLLM server can be used \(http://127.0.0.1:\d+: "):
            run.train(kill_all)
        assert run.trainer.finished_steps == 2  # saved, though no checkpoint was due
    assert (tmp_path / "run" / "vllm.log").stat().st_size
    with TrainingRun.resume(tmp_path / "run", config.with_values(steps=3)) as again:  # with a new server
        again.train()
        assert again.trainer.finished_steps == 3


@pytest.mark.vllm
@pytest.mark.slow
def test_a_server_is_killed_while_it_writes(server, tmp_path):
    """Its turns are written by the other: no episode is missing or broken."""
    with mini_server(tmp_path) as other:
        settings = {"type": "vllm", "urls": [other.url, server.url]}
        values = {**CODE, "groups": 4, "steps": 50, "checkpoint_every": 50, "output": str(tmp_path / "run")}
        config = TrainConfig.from_mapping({**values, "sampler": settings})
        in_the_second_step = threading.Timer(1.0, kill, [other])
        with TrainingRun.start(config) as run:

            def on_step(row) -> None:
                if row["step"] == 1:
                    in_the_second_step.start()

            run.train(on_step, lambda: run.trainer.finished_steps == 3)
    log = (tmp_path / "run" / "log.txt").read_text()
    assert f"the server at {other.url} is left out" in log and "1 left" in log
    rows = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [(row["step"], row["episodes/count"], row["episodes/invalid"]) for row in rows] == [
        (step, 16, 0) for step in (1, 2, 3)
    ]


# ---------------------------------------------------------------------- without a server


@contextlib.contextmanager
def something_else():
    """Serve files, as a web server does that is no vLLM."""
    handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_what_is_no_vllm_server_is_told_with_its_address(policy, engine):
    with something_else() as url, pytest.raises(SamplerError) as caught:
        collected(policy, engine(url, "http://127.0.0.1:9", "no address"))
    told = str(caught.value)
    assert f"{url}: it answers 404" in told and "http://127.0.0.1:9: ConnectError" in told
    assert "no address: " in told and "go on from the last checkpoint with --resume" in told


def ended(reason: str, count: int) -> dict:
    """Return a completion of so many tokens that has ended so."""
    return {
        "token_ids": [4] * count,
        "logprobs": {"token_logprobs": [-0.5] * count},
        "finish_reason": reason,
    }


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({}, "no token ids"),
        ({"token_ids": [1], "logprobs": None}, "no token ids, or no log-probabilities"),
        ({"token_ids": [], "logprobs": {"token_logprobs": []}}, "no turn of 1 to 3 tokens"),
        ({"token_ids": [1, 2, 3, 4], "logprobs": {"token_logprobs": [-1.0] * 4}}, "no turn of 1 to 3"),
        ({"token_ids": [1, 2], "logprobs": {"token_logprobs": [-1.0]}}, "2 ids, 1 logprobs"),
        ({"token_ids": [-1], "logprobs": {"token_logprobs": [-1.0]}}, "no turn of 1 to 3"),
        ({"token_ids": ["a"], "logprobs": {"token_logprobs": [-1.0]}}, "no turn of 1 to 3"),
        ({"token_ids": [1], "logprobs": {"token_logprobs": [None]}}, "log-probability that is none"),
        ({"token_ids": [1], "logprobs": {"token_logprobs": [0.5]}}, "log-probability that is none"),
        ({"token_ids": [1], "logprobs": {"token_logprobs": [-1.0]}}, "broken off: None after 1 of 3 tokens"),
        (ended("abort", 1), "broken off: 'abort' after 1 of 3 tokens"),
        (ended("length", 2), "broken off: 'length' after 2 of 3 tokens"),
        (ended("stop", 2), "broken off: 'stop' after token 4, which ends no turn"),
        ({**ended("stop", 1), "finish_reason": {}}, "broken off: dict after 1 of 3"),
        ({"token_ids": [True, 5], "logprobs": {"token_logprobs": [-1.0] * 2}}, "no turn of 1 to 3"),
        ({"token_ids": [10**30], "logprobs": {"token_logprobs": [-1.0]}}, "no turn of 1 to 3"),
        ({"token_ids": "ab", "logprobs": {"token_logprobs": "ab"}}, "no token ids, or no log-probabilities"),
        *(
            ({"token_ids": [5], "logprobs": {"token_logprobs": [each]}}, "log-probability that is none")
            for each in ("-0.5", True, False, -(10**400), -1e300, float("nan"), [-0.5])
        ),
    ],
)
def test_an_answer_that_is_no_turn_is_a_fault(choice, words):
    with pytest.raises(ServerFault, match=words):
        checked_turn(choice, 3, {5})


def test_a_turn():
    choice = {
        **{"token_ids": [4, 5], "logprobs": {"token_logprobs": [-0.5, 1e-6]}, "finish_reason": "stop"},
    }
    tokens, logprobs, reason = checked_turn(choice, 3, {5})
    assert tokens.tolist() == [4, 5] and tokens.dtype == np.int64
    assert logprobs.tolist() == [-0.5, 0.0] and logprobs.dtype == np.float32
    assert reason == "stop"
    assert checked_turn(ended("length", 3), 3, {5}).finish_reason == "length"


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_turns_say_why_they_ended_and_by_which_weights(policy, engine, reason):
    with replayed(policy, finish_reason=reason) as server:
        by = engine(server.url)
        for version in (3, 4):
            policy.weights_version = version
            episodes, _ = collected(policy, by)
            turns = [each for episode in episodes for each in episode.segments if each.sampled]
            assert {(each.finish_reason, each.weights_version) for each in turns} == {(reason, version)}
            assert [e.cut_turns for e in episodes] == [e.turns * (reason == "length") for e in episodes]
            assert len(turns) == len(server.wrote) and all(f"-step{version}" in each for each in server.wrote)
            server.wrote.clear()


@pytest.mark.parametrize("wrong", [{"answers_by": "pixelis-0-1-step2"}, {"finish_reason": "abort"}])
def test_turns_of_other_weights_or_broken_off_are_written_by_another_server(policy, engine, caplog, wrong):
    policy.weights_version = 3
    with replayed(policy, **wrong) as bad, replayed(policy) as good:
        by = engine(bad.url, good.url)
        episodes, _ = collected(policy, by)
        turns = [each for episode in episodes for each in episode.segments if each.sampled]
        assert bad.wrote and len(good.wrote) == len(turns)
        assert bad.adapters and good.adapters
        by.close()
        assert not bad.adapters and not good.adapters
    assert all(each.valid_for_training for each in episodes)
    assert {(each.finish_reason, each.weights_version) for each in turns} == {("stop", 3)}
    told = {"answers_by": "by other weights: 'pixelis-0-1-step2'", "finish_reason": "broken off: 'abort'"}
    assert f"the server at {bad.url} is left out: it" in caplog.text
    assert all(told[name] in caplog.text for name in wrong)


def test_where_all_answer_by_other_weights_the_run_ends(policy, engine):
    with replayed(policy, answers_by="mini") as bad, pytest.raises(SamplerError) as caught:
        collected(policy, engine(bad.url))
    assert "it answers by other weights: 'mini', asked for was 'pixelis-" in str(caught.value)


def open_rows(by: VllmEngine, policy: Policy) -> None:
    """Open rows and leave them."""
    with by.open(policy, RolloutStats(), 0):
        pass


def test_what_cannot_be_served_is_refused(engine):
    with pytest.raises(ConfigError, match="needs an adapter"):
        TrainConfig.from_mapping({**CODE, "sampler": "vllm", "train": "full"})
    with pytest.raises(ConfigError, match="needs an adapter"):
        open_rows(engine("http://127.0.0.1:9"), Policy.load("pixelis-mini", device="cpu"))


def test_a_server_with_a_shorter_context_is_left_out(policy):
    assert policy.max_context == 2048
    check_context(ServerFacts("0.32", "mini", 2048), policy)
    check_context(ServerFacts("0.32", "mini", None), policy)
    with pytest.raises(ServerFault, match=r"takes 1024 tokens.*start it with --max-model-len 2048"):
        check_context(ServerFacts("0.32", "mini", 1024), policy)


def test_a_python_that_is_not_there_is_told_with_what_to_do(policy, engine, tmp_path):
    with pytest.raises(ConfigError, match=r"there is no Python at .*nowhere.*make vllm"):
        open_rows(engine(python=str(tmp_path / "nowhere")), policy)


def test_a_server_that_does_not_start_is_told_with_its_last_words(policy, engine, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho ValueError: no such model\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(SamplerError, match=r"did not start \(exit code 3\): ValueError: no such model"):
        open_rows(engine(python=str(python)), policy)
    assert Path(tmp_path / "vllm.log").read_text() == "ValueError: no such model\n"
