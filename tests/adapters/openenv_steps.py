"""Real sessions of OpenEnv's client with our server; run in OpenEnv's own environment (`make openenv`)."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import hypothesis
import numpy as np
import pytest
import uvicorn
from doc_pages import Page
from hypothesis import strategies as st
from openenv import GenericEnvClient
from PIL import Image
from recorded_episodes import ENVS, HOSTILE, PLAYERS, TURNS, generated, natively

from pixelis.adapters.chat_env import OVER
from pixelis.adapters.openenv import server
from pixelis.errors import ConfigError, UnknownEnvError

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]  # what OpenEnv, FastAPI and websockets have to say


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application of OpenEnv's from a thread, at the address that is yielded."""
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("env_id", ENVS)
def test_the_client_is_paid_what_the_environment_pays(env_id: str):
    with served(server(env_id, ENVS[env_id])) as url, GenericEnvClient(base_url=url).sync() as env:
        for seed, player in [(seed, player) for seed in range(2) for player in PLAYERS]:
            first, played = natively(env_id, player, seed)
            result = env.reset(seed=seed)
            assert (result.observation["text"], result.observation["image"]) == (first, None)
            assert result.reward is None and not result.done
            for said, back, reward, done in played:
                result = env.step({"text": said})
                assert (result.observation["text"], result.reward, result.done) == (back, reward, done)
            assert result.metadata["success"] in (True, False)
            assert player != "oracle" or result.metadata == {"success": True}
            state = env.state()
            assert state["step_count"] == len(played) and state["seed"] == seed
            assert state["total"] == sum(turn[2] for turn in played)
            after = env.step({"text": HOSTILE[-1]})
            assert (after.observation["text"], after.reward, after.done) == (OVER, 0.0, True)
            assert env.state() == state


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A client that stays in a session, of web sites."""
    with served(server("Pixelis/WebBrowse-v0")) as url, GenericEnvClient(base_url=url).sync() as env:
        yield env


@hypothesis.settings(max_examples=40)
@hypothesis.given(turns=TURNS, seed=st.integers(0, 99))
def test_any_turns_are_paid_the_same(session: Any, turns: list[str], seed: int):
    first, played = generated("Pixelis/WebBrowse-v0", turns, seed)
    assert session.reset(seed=seed).observation["text"] == first
    for said, back, reward, done in played:
        result = session.step({"text": said})
        assert (result.observation["text"], result.reward, result.done) == (back, reward, done)


def picture(observation: dict[str, Any]) -> np.ndarray:
    """Return the picture of an observation: uint8 of shape [height, width, 3]."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(observation["image"]))))


def test_pictures_are_the_environment_s():
    env_id = "Pixelis/ZoomRead-v0"
    beside: Any = gym.make(env_id, **ENVS[env_id])
    app = server(env_id, ENVS[env_id], images=True)
    with served(app) as url, GenericEnvClient(base_url=url).sync() as env:
        seen, _ = beside.reset(seed=1)
        assert np.array_equal(picture(env.reset(seed=1).observation), seen["image"])
        for said in natively(env_id, "oracle", 1)[1]:
            result, seen = env.step({"text": said[0]}), beside.step(said[0])[0]
            assert np.array_equal(picture(result.observation), seen["image"])


def test_clients_play_beside_each_other():
    env_id = "Pixelis/CodeProblem-v0"
    episodes = [natively(env_id, "random", seed) for seed in range(3)]
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(served(server(env_id)))
        envs = [stack.enter_context(GenericEnvClient(base_url=url).sync()) for _ in episodes]
        for seed, (env, (first, _)) in enumerate(zip(envs, episodes, strict=True)):
            assert env.reset(seed=seed).observation["text"] == first
        for turn in range(max(len(played) for _, played in episodes)):
            for env, (_, played) in zip(envs, episodes, strict=True):
                if turn < len(played):
                    said, back, reward, done = played[turn]
                    result = env.step({"text": said})
                    assert (result.observation["text"], result.reward, result.done) == (back, reward, done)


def test_options_tools_and_seeds():
    env_id = "Pixelis/WebBrowse-v0"
    with served(server(env_id)) as url, GenericEnvClient(base_url=url).sync() as env:
        assert env.step({"text": "hello"}).observation["text"] == OVER  # before the first reset
        beside = gym.make(env_id)
        seen = beside.reset(seed=5, options={"split": "test", "difficulty": 2})[0]
        said = env.reset(seed=5, split="test", difficulty=2, episode_id="mine")
        assert said.observation["text"] == seen["text"]
        state = env.state()
        assert state["episode_id"] == "mine" and state["env_id"] == env_id
        names = {tool["function"]["name"] for tool in state["tools"]}
        assert names == {tool["function"]["name"] for tool in beside.unwrapped.toolset.schemas()}
        assert all(name in state["system"] for name in names)
        unseeded = env.reset()
        again = env.state()["seed"]
        assert env.reset(seed=again).observation["text"] == unseeded.observation["text"]


def test_mistakes_of_callers_are_told_and_the_session_goes_on():
    with pytest.raises(UnknownEnvError, match="Did you mean"):
        server("Pixelis/ZoomReed-v0")
    with pytest.raises(ConfigError):
        server("Pixelis/WebBrowse-v0", {"nonsense": 1})
    with served(server("Pixelis/WebBrowse-v0")) as url, GenericEnvClient(base_url=url).sync() as env:
        with pytest.raises(RuntimeError, match="tets"):
            env.reset(seed=0, split="tets")
        assert not env.reset(seed=0).done
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            env.step({"txt": "<answer>1</answer>"})
        assert env.step({"text": "<answer>1</answer>"}).done


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def started(words: list[str], folder: Path) -> Iterator[str]:
    """Start a command with a port as its last word, and yield its address once it is healthy."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, *words, str(port)], cwd=folder, env=environment) as process:
        url, ends = f"http://127.0.0.1:{port}", time.monotonic() + 120
        try:
            while True:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{url}/health", timeout=5).close()
                    break
                assert process.poll() is None and time.monotonic() < ends
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()


def test_the_example_serves_and_openenv_s_own_checks_pass():
    env_id, checks = "Pixelis/ZoomRead-v0", ["openenv", "validate", "--level", "runtime", "--url"]
    words = ["--env", env_id, "--env-kwargs", json.dumps(ENVS[env_id]), "--images", "--port"]
    with (
        started(["examples/openenv_server.py", *words], ROOT) as url,
        GenericEnvClient(base_url=url).sync() as env,
    ):
        assert picture(env.reset(seed=0).observation).shape[2] == 3
        assert sum(env.step({"text": turn[0]}).reward for turn in natively(env_id, "oracle", 0)[1]) == 1.0
        command = [Path(sys.executable).with_name(checks[0]), *checks[1:], url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and "Verdict: PASS" in done.stdout, done.stdout + done.stderr


def test_the_page_s_server_and_client_run(tmp_path: Path):
    page = Page("guide/other_trainers.md")
    page.write_modules(tmp_path, "page.py")
    with started(["-m", "uvicorn", "pixelis_server:app", "--port"], tmp_path) as url:
        client = (tmp_path / "client.py").read_text().replace("http://127.0.0.1:8000", url)
        done = subprocess.run([sys.executable, "-c", client], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0.0 True {'success': False}"
