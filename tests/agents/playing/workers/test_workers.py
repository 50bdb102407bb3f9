"""Workers of Ray that play, on a real cluster of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from started import TOYS

from pixelis.agents.distributed.episode_messages import read_episodes
from pixelis.agents.distributed.wire import pack, unpack
from pixelis.agents.playing.player import play_order, same_everywhere
from pixelis.agents.playing.sources import policy_of
from pixelis.agents.playing.workers.cluster import Cluster, check_answers
from pixelis.agents.playing.workers.crew import MOST_LOSSES, START_SECONDS, Crew, PieceOfWork
from pixelis.agents.playing.workers.ledger import Piece
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.rollout.collector import EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.errors import ConfigError, SamplerError

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PLAYED = {
    "env": "slow_toy_env:Toy/SlowEcho-v0",
    "env_kwargs": {"turns": 2},
    "groups_at_once": 1,
    "steps": 6,
    "checkpoint_every": 2,
    "rewards": {"coherence": {"encoder": "hashed"}, "penalty": {}, "task_gap": 1.0},
}
"""Weights, rewards and levels move; every group is a piece."""


@pytest.fixture(autouse=True)
def importable(monkeypatch) -> None:
    """Let processes that Ray starts import the toys and this checkout."""
    monkeypatch.setenv("PYTHONPATH", TOYS)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def cluster(importable) -> Iterator[object]:
    """Return a cluster of a node that only leads and two that work, of one processor each."""
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    found.nodes = [found.add_node(num_cpus=1, labels=labels) for labels in ({}, {"browser": "here"})]
    yield found
    found.shutdown()


@pytest.fixture
def here(importable) -> Iterator[Cluster]:
    """Return a cluster of this process with one processor, which trainings in it use."""
    found = Cluster(None, 1)
    yield found
    found.close()


def workers_of(node) -> list[psutil.Process]:
    """Return the processes of a node's workers."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    found = []
    for each in raylet.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            found += [each] if each.cmdline()[0].startswith("ray::Worker") else []
    return found


def assert_equal(one: Path, other: Path) -> None:
    """Check that two runs have the same numbers and weights, to the last bit."""
    rows = [comparable_metrics(folder / "metrics.jsonl") for folder in (one, other)]
    for expected, found in zip(*rows, strict=True):
        assert expected == found
    weights = [
        (latest_checkpoint(folder / "checkpoints") / "adapter" / "adapter_model.safetensors").read_bytes()
        for folder in (one, other)
    ]
    assert weights[0] == weights[1]


def test_a_worker_and_a_node_are_lost_and_the_run_is_that_of_one_process(
    cluster, start, toy_config, tmp_path
):
    alone = train(toy_config(output=str(tmp_path / "alone"), **PLAYED))
    folder = tmp_path / "played"
    config = toy_config(output=str(folder), **PLAYED, workers=2, ray_address=cluster.address)
    learner = start("train", config)
    learner.wait_for_steps(folder, 2)
    workers_of(cluster.nodes[0])[0].kill()  # in an episode
    learner.wait_for_steps(folder, 4)
    cluster.remove_node(cluster.nodes[1], allow_graceful=False)
    learner.wait_for_steps(folder, 5)
    cluster.add_node(num_cpus=1)
    assert learner.wait() == 0, learner.said
    assert_equal(alone.folder.path, folder)
    last = read_metrics(folder / "metrics.jsonl")[-1]
    assert last["system/pieces_unaccounted"] == 0
    assert last["system/pieces"] == 6 * 4
    assert last["system/pieces_lost"] >= 2
    adapter = latest_checkpoint(folder / "checkpoints") / "adapter" / "adapter_model.safetensors"
    assert last["system/sent"] > 6 * 0.9 * adapter.stat().st_size / 2**20  # once a step, and the orders
    assert last["system/received"] > 0
    told = (folder / "log.txt").read_text()
    assert told.count("another is started") >= 2


def test_a_killed_learner_that_plays_ahead_goes_on_to_the_same_numbers(start, toy_config, tmp_path):
    """It has a cluster of its own, of which nothing is left."""
    ahead = {**PLAYED, "max_staleness": 2, "workers": 2}
    whole = start("train", toy_config(output=str(tmp_path / "whole"), **ahead))
    assert whole.wait() == 0, whole.said
    rows = read_metrics(tmp_path / "whole" / "metrics.jsonl")
    assert [row["rollout/staleness"] for row in rows] == [0, 1, 2, 2, 2, 2]
    killed = start("train", toy_config(output=str(tmp_path / "killed"), **ahead))
    killed.wait_for_steps(tmp_path / "killed", 5)
    family = killed.family
    killed.process.kill()
    resumed = start("train", "--resume", tmp_path / "killed")
    assert resumed.wait() == 0, resumed.said
    assert_equal(tmp_path / "whole", tmp_path / "killed")
    _, left = psutil.wait_procs(family, timeout=150)  # Ray's agents look every minute
    assert len(family) >= 4 and not left


def versions_of(episodes) -> set[int]:
    """Return the versions that all turns of episodes have; each turn has one."""
    turns = [segment for episode in episodes for segment in episode.segments if segment.sampled]
    assert turns and all(turn.finish_reason in ("stop", "length") for turn in turns)
    return {turn.weights_version for turn in turns}


def test_episodes_carry_the_version_of_the_weights_that_sampled_them(here, toy_config, tmp_path):
    seen: dict[int, tuple[set[int], float | None]] = {}

    def take(run: TrainingRun, steps: int) -> None:
        for _ in range(steps):
            row, episodes, _ = run.trainer.step()
            seen[row["step"]] = versions_of(episodes), row.get("rollout/staleness")
            assert run.trainer.policy.weights_version == row["step"]
        run.trainer.save()

    played = {**PLAYED, "workers": 1}
    with TrainingRun.start(toy_config(output=str(tmp_path / "in_step"), **played)) as run:
        take(run, 2)
    assert seen == {1: ({0}, None), 2: ({1}, None)}
    seen.clear()
    ahead = toy_config(output=str(tmp_path / "ahead"), **played, max_staleness=2)
    with TrainingRun.start(ahead) as run:
        take(run, 4)
    with TrainingRun.resume(tmp_path / "ahead", ahead) as again:  # by older weights, from the checkpoint
        assert again.trainer.policy.weights_version == 4
        take(again, 2)
    assert seen == {1: ({0}, 0), 2: ({0}, 1), 3: ({0}, 2), 4: ({1}, 2), 5: ({2}, 2), 6: ({3}, 2)}


def test_what_was_played_by_other_weights_is_not_kept_but_played_again(here, toy_config, caplog):
    played = {name: value for name, value in PLAYED.items() if name != "rewards"}
    config = toy_config(**played, workers=1)
    requests = [EpisodeRequest(3, 0, 0)]
    order = pack(play_order(requests, SamplingSettings(max_new_tokens=2), 0, None))
    policy = policy_of(config, None)
    parameters = {str(number): each for number, each in enumerate(policy.trainable_parameters())}
    right, wrong = (here.put(pack({"version": version}, parameters)) for version in (5, 4))
    about = same_everywhere(policy)
    crew = Crew(here, config, about)
    try:
        crew.plan({Piece(0, 0): PieceOfWork(order, right, 5)})
        (reply,) = crew.take(0)
        value, tensors = unpack(reply)
        assert versions_of(read_episodes(value["played"], tensors)) == {5}
        crew.plan({Piece(1, 0): PieceOfWork(order, wrong, 5)})
        with pytest.raises(SamplerError, match=r"it played by the weights of steps \[4\], not of 5"):
            crew.take(1)
        assert (crew.ledger.kept, crew.ledger.lost, crew.ledger.balance) == (1, MOST_LOSSES + 1, 0)
        assert "1 pieces are played again" in caplog.text
    finally:
        crew.close()


def test_who_dies_while_nobody_waits_is_replaced_and_all_close_what_they_have_open(
    here, toy_config, tmp_path
):
    notes = tmp_path / "notes"
    played = {**PLAYED, "env_kwargs": {"notes": str(notes)}, "rewards": {}}
    config = toy_config(**played, workers=1)
    order = pack(play_order([EpisodeRequest(3, 0, 0)], SamplingSettings(max_new_tokens=2), 0, None))
    policy = policy_of(config, None)
    parameters = {str(number): each for number, each in enumerate(policy.trainable_parameters())}
    weights = here.put(pack({"version": 0}, parameters))
    about = same_everywhere(policy)
    crew = Crew(here, config, about)
    try:
        for rollout in range(2):
            crew.plan({Piece(rollout, 0): PieceOfWork(order, weights, 0)})
            (reply,) = crew.take(rollout)
            assert "error" not in unpack(reply)[0]
            if rollout == 0:
                here.ray.kill(crew.ready[0].actor)
                crew._ready_last -= 2 * START_SECONDS  # of learning and evaluating
        assert crew.ledger.lost == 1
        before = notes.read_text().count("closed")  # those that only showed what the environment is
    finally:
        crew.close()
    assert notes.read_text().count("closed") == before + 1


@pytest.mark.parametrize("staleness", [0, 1])
def test_where_nobody_plays_any_more_the_finished_steps_are_saved(
    here, toy_config, tmp_path, monkeypatch, staleness
):
    changes = {"env_kwargs": {"turns": 1}, "groups": 2, "steps": 4, "checkpoint_every": 99}
    played = {**PLAYED, **changes, "workers": 1, "max_staleness": staleness}
    whole = train(toy_config(output=str(tmp_path / "whole"), **played))
    lost = toy_config(output=str(tmp_path / "lost"), **played)
    with TrainingRun.start(lost) as run, monkeypatch.context() as patched:

        def strike(row) -> None:
            if row["step"] == 2:
                patched.setattr("pixelis.agents.playing.workers.crew.START_SECONDS", 0.1)
                here.ray.kill(run.trainer.collector._crew.ready[0].actor)

        with pytest.raises(SamplerError, match=r"no worker plays .* step 2, the last one, has been saved"):
            run.train(strike)
    with TrainingRun.resume(tmp_path / "lost", lost) as again:
        assert again.trainer.finished_steps == 2
        again.train()
    assert_equal(whole.folder.path, tmp_path / "lost")


def test_workers_live_where_labels_say(cluster, start, toy_config, tmp_path):
    where = {"ray_address": cluster.address, "worker_labels": {"browser": "here"}}
    learner = start("train", toy_config(output=str(tmp_path / "labelled"), **PLAYED, workers=1, **where))
    learner.wait_for_steps(tmp_path / "labelled", 1)
    assert [len(workers_of(node)) for node in cluster.nodes] == [0, 1]
    learner.interrupt()
    assert "interrupted; resume with:" in learner.said


def test_a_worker_with_other_code_is_refused(toy_config):
    script = (
        "import json, sys\n"
        "from pixelis.agents.playing.workers.cluster import Cluster\n"
        "from pixelis.agents.playing.workers.crew import Crew\n"
        "from pixelis.agents.settings.rl import TrainConfig\n"
        "config = TrainConfig.from_mapping(json.loads(sys.argv[1]))\n"
        "Crew(Cluster(None, 1), config, {'code of Pixelis': 'another', 'base model': ''})\n"
    )
    settings = json.dumps(toy_config(**PLAYED, workers=1).to_mapping())
    done = subprocess.run(
        [sys.executable, "-c", script, settings], capture_output=True, text=True, timeout=240, check=False
    )
    told = done.stderr.splitlines()[-1]
    assert "cannot play: it has another code of Pixelis than the trainer" in told, done.stderr


def test_one_process_uses_a_cluster_of_others_and_then_its_own_ones(cluster, monkeypatch):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):  # whoever runs the tests may have them
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    for address in (cluster.address, None, None):
        connected = Cluster(address, 1)
        assert connected.ray.get(connected.put(b"weights")) == b"weights"
        assert ("RAY_AUTH_TOKEN" in os.environ) == (address is None)
        connected.close()
        assert "RAY_AUTH_TOKEN" not in os.environ
    assert {name for name in os.environ if "AUTH" in name} == {name for name in before if "AUTH" in name}


@pytest.mark.parametrize("mode", ["disabled", "token"])
def test_a_cluster_of_ones_own_is_closed_whatever_the_environment_asks_for(mode):
    """In a process of its own: what Ray has read of the environment it keeps."""
    script = (
        "import os\n"
        "from pixelis.agents.playing.workers.cluster import Cluster\n"
        "connected = Cluster(None, 1)\n"
        "print(os.environ['RAY_AUTH_MODE'], len(os.environ['RAY_AUTH_TOKEN']))\n"
        "assert connected.ray.get(connected.put(b'weights')) == b'weights'\n"
        "connected.close()\n"
        "print(os.environ['RAY_AUTH_MODE'], 'RAY_AUTH_TOKEN' in os.environ)\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, "RAY_AUTH_MODE": mode},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.split() == ["token", "64", mode, "False"], done.stderr


def test_what_workers_cannot_play_is_told_in_one_line(cluster, start, toy_config, tmp_path, monkeypatch):
    def refused(name: str, **changes: object) -> str:
        config = toy_config(output=str(tmp_path / name), **{**PLAYED, **changes}, workers=1)
        learner = start("train", config)
        assert learner.wait() != 0, learner.said
        (told,) = learner.told
        return told

    # Another server than Ray's.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert "no cluster that can be used" in refused("other", ray_address=f"127.0.0.1:{port}")
    # The machine of the learner has what the env needs, that of the worker has not.
    monkeypatch.setenv("PIXELIS_TEST_BROWSER", "1")
    lacking = {"needs": "PIXELIS_TEST_BROWSER"}
    told = refused("lacking", ray_address=cluster.address, env_kwargs=lacking)
    assert "the worker on " in told and "cannot play: " in told
    assert "this machine has no PIXELIS_TEST_BROWSER" in told


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1", "127.0.0.1:x", ":7", "127.0.0.1:1"])
def test_addresses_where_no_cluster_can_be_are_refused_at_once(address):
    with pytest.raises(ConfigError, match=r"ray_address must be auto, or HOST:PORT .*ray start --head"):
        check_answers(address)


def python_elsewhere(folder: Path) -> str:
    """Return a Python beside which there is no ``ray``, though it has the module."""
    found = folder / "python"
    found.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    found.chmod(0o755)
    return str(found)


def test_ray_is_asked_whatever_lies_beside_python(cluster, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", python_elsewhere(tmp_path))
    check_answers(cluster.address)


def test_a_ray_that_cannot_be_asked_is_told_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConfigError, match=r"no process can be started with '.*nowhere'"):
            check_answers(address)
