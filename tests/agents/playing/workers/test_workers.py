"""Workers of Ray that play, on a real cluster of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from pixelis.agents.playing.workers.cluster import Cluster, check_answers
from pixelis.agents.rl.run import train
from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.errors import ConfigError

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[4]
PATHS = os.pathsep.join([str(ROOT / "tests" / "agents" / "rl"), str(ROOT)])
"""Of the toys and of this checkout."""
PLAYED = {
    "env": "slow_toy_env:Toy/SlowEcho-v0",
    "env_kwargs": {"turns": 2},
    "groups_at_once": 1,
    "steps": 6,
    "checkpoint_every": 2,
    "rewards": {"coherence": {"encoder": "hashed"}, "penalty": {}, "task_gap": 1.0},
}
"""Weights, rewards and levels move; every group is a piece."""


class Learner:
    """A training in a process of its own, with what it prints in a file."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.log = folder / f"{len(list(folder.glob('*.said')))}.said"
        environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pixelis", "train", *map(str, words)],
                cwd=folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    def wait_for_steps(self, folder: Path, count: int) -> None:
        """Wait until so many steps are written down."""
        until = time.monotonic() + 240
        metrics = folder / "metrics.jsonl"
        while not metrics.exists() or metrics.read_text().count("\n") < count:
            assert self.process.poll() is None and time.monotonic() < until, self.said
            time.sleep(0.02)

    def wait(self) -> int:
        """Return its exit code."""
        return self.process.wait(300)


@pytest.fixture(autouse=True)
def importable(monkeypatch) -> None:
    """Let processes that Ray starts import the toys and this checkout."""
    monkeypatch.setenv("PYTHONPATH", PATHS)
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
def learn(tmp_path) -> Iterator[Callable[..., Learner]]:
    """Return a starter of learners; none is left at the end."""
    started: list[Learner] = []

    def start(config, **changes: object) -> Learner:
        file = tmp_path / f"{Path(config.output).name}.yaml"
        file.write_text(yaml.safe_dump(config.with_values(**changes).to_mapping()))
        started.append(Learner(tmp_path, "--config", file))
        return started[-1]

    yield start
    for each in started:
        with contextlib.suppress(psutil.Error):
            family = psutil.Process(each.process.pid).children(recursive=True)
            for process in [*family, each.process]:
                process.kill()
        each.process.wait()


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
    cluster, learn, toy_config, tmp_path
):
    alone = train(toy_config(output=str(tmp_path / "alone"), **PLAYED))
    config = toy_config(output=str(tmp_path / "played"), **PLAYED)
    learner = learn(config, workers=2, ray_address=cluster.address)
    folder = Path(str(config.output))
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
    told = (folder / "log.txt").read_text()
    assert told.count("another is started") >= 2


def test_a_killed_learner_that_plays_ahead_goes_on_to_the_same_numbers(learn, toy_config, tmp_path):
    """It has a cluster of its own, of which nothing is left."""
    ahead = {**PLAYED, "max_staleness": 2, "workers": 2}
    whole = learn(toy_config(output=str(tmp_path / "whole"), **ahead))
    assert whole.wait() == 0, whole.said
    rows = read_metrics(tmp_path / "whole" / "metrics.jsonl")
    assert [row["rollout/staleness"] for row in rows] == [0, 1, 2, 2, 2, 2]
    killed = learn(toy_config(output=str(tmp_path / "killed"), **ahead))
    killed.wait_for_steps(tmp_path / "killed", 5)
    family = psutil.Process(killed.process.pid).children(recursive=True)
    killed.process.send_signal(signal.SIGKILL)
    killed.wait()
    _, left = psutil.wait_procs(family, timeout=150)  # Ray's agents look every minute
    assert len(family) >= 4 and not left
    resumed = Learner(tmp_path, "--resume", tmp_path / "killed")
    assert resumed.wait() == 0, resumed.said
    assert_equal(tmp_path / "whole", tmp_path / "killed")


def test_workers_live_where_labels_say(cluster, learn, toy_config, tmp_path):
    config = toy_config(output=str(tmp_path / "labelled"), **PLAYED, workers=1)
    learner = learn(config, ray_address=cluster.address, worker_labels={"browser": "here"})
    learner.wait_for_steps(tmp_path / "labelled", 1)
    assert [len(workers_of(node)) for node in cluster.nodes] == [0, 1]
    learner.process.send_signal(signal.SIGINT)
    learner.wait()
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


def test_what_workers_cannot_play_is_told_in_one_line(cluster, learn, toy_config, tmp_path, monkeypatch):
    def refused(name: str, **changes: object) -> str:
        config = toy_config(output=str(tmp_path / name), **{**PLAYED, **changes}, workers=1)
        learner = learn(config)
        assert learner.wait() != 0, learner.said
        (told,) = [line for line in learner.said.splitlines() if line.startswith("error: ")]
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
