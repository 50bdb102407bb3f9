"""Real episodes of verifiers in our taskset; run in verifiers' own environment (`make verifiers`).

The model is a server of this file that says what was recorded; all else is verifiers': its loaders, the
server of environments and the client by which prime-rl plays, the chat program of its harness, ``vf-eval``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium as gym
import hypothesis
import numpy as np
import pytest
import tomllib
import verifiers.v1 as vf
from doc_pages import Page
from PIL import Image
from recorded_episodes import ENVS, PLAYERS, TURNS, Played, generated, natively
from verifiers.v1.serve import EnvClient, EnvServer

from pixelis.adapters.chat_env import ChatEnv
from pixelis.adapters.verifiers import REWARD
from pixelis.errors import ConfigError, UnknownEnvError

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "verifiers_env"
sys.path.insert(0, str(PACKAGE))
USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")
FAST = {"agent": {"harness": {"id": "in_process_chat"}}}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]  # what verifiers and its packages have to say


def _uv_fetches() -> bool:
    """Whether uv reaches an index of packages here; verifiers' chat program has it fetch its own."""
    words = [str(Path(sys.executable).with_name("uv")), "run", "--isolated", "--no-project", "--no-config"]
    words += ["--with", "openai", "python", "-c", ""]
    try:
        return subprocess.run(words, capture_output=True, timeout=120, cwd="/").returncode == 0
    except subprocess.TimeoutExpired:
        return False


fetches = pytest.mark.skipif(not _uv_fetches(), reason="uv cannot fetch packages here")


class Recorded:
    """A model that says what was recorded; its name tells of whom.

    Attributes:
        episodes: by the model's name and what the episode began with.
        differing: what it was told, and what was recorded in its place.
        pictures: all that it was shown, in order.
        systems: the system messages that it got.
    """

    def __init__(self) -> None:
        self.episodes: dict[tuple[str, str], Played] = {}
        self.differing: list[tuple[str, str]] = []
        self.pictures: list[np.ndarray] = []
        self.systems: set[str] = set()

    def reply(self, model: str, messages: Sequence[Mapping[str, Any]]) -> str:
        told = [self._text(message) for message in messages if message["role"] == "user"]
        self.systems |= {message["content"] for message in messages if message["role"] == "system"}
        played = self.episodes[model, told[0]]
        turn = len(told) - 1
        expected = [told[0], *(back for _, back, *_ in played[:turn])]
        self.differing += [pair for pair in zip(told, expected, strict=True) if pair[0] != pair[1]]
        said = [message["content"] or "" for message in messages if message["role"] == "assistant"]
        answered = zip(said, [one[0] for one in played[:turn]], strict=True)
        self.differing += [pair for pair in answered if pair[0] != pair[1]]
        if isinstance(messages[-1]["content"], list):
            url = messages[-1]["content"][0]["image_url"]["url"]
            file = io.BytesIO(base64.b64decode(url.removeprefix("data:image/png;base64,")))
            self.pictures.append(np.asarray(Image.open(file)))
        return played[turn][0]

    @staticmethod
    def _text(message: Mapping[str, Any]) -> str:
        content = message["content"]
        return content if isinstance(content, str) else content[1]["text"]


@pytest.fixture
def model() -> Iterator[tuple[Recorded, str]]:
    """A recorded model, and the address of its OpenAI-compatible server."""
    recorded = Recorded()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = recorded.reply(body["model"], body["messages"])
            about = {"id": "1", "created": 1, "model": body["model"]}
            spoken, used = {"role": "assistant", "content": said}, dict.fromkeys(USAGE, 1)
            self.send_response(200)
            if not body.get("stream"):
                choice = {"index": 0, "message": spoken, "finish_reason": "stop"}
                whole = {**about, "object": "chat.completion", "choices": [choice], "usage": used}
                self._say("application/json", json.dumps(whole))
                return
            choices = [
                [{"index": 0, "delta": spoken, "finish_reason": None}],
                [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            ]
            parts = [{"choices": choices[0]}, {"choices": choices[1]}, {"choices": [], "usage": used}]
            chunks = [json.dumps({**about, "object": "chat.completion.chunk", **part}) for part in parts]
            self._say("text/event-stream", "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]))

        def _say(self, kind: str, text: str) -> None:
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield recorded, f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


async def played(url: str, models: Mapping[str, int], settings: dict[str, Any], **env: Any) -> dict[str, Any]:
    """Play as prime-rl does: tasks of the loaded taskset are sent to a server of environments.

    Args:
        url: of the models.
        models: the seed that each plays.
        settings: of the taskset.
        env: other settings of the environment.
    """
    config = vf.resolve_env_config({"taskset": {"id": "pixelis_env", **settings}, **env})
    server = EnvServer(config, "tcp://127.0.0.1:0")
    serving, client = asyncio.create_task(server.run()), EnvClient(server.address)
    try:
        await client.wait_for_server_startup()
        where, sampling = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY"), vf.SamplingConfig()
        tasks = list(islice(vf.load_taskset(config.taskset), 1 + max(models.values())))
        runs = [
            client.run(where, model, sampling, tasks[seed].data.model_dump(mode="json"))
            for model, seed in models.items()
        ]
        return dict(zip(models, await asyncio.gather(*runs), strict=True))
    finally:
        await client.close()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving


@pytest.mark.parametrize("env_id", ENVS)
def test_prime_rl_s_way_is_paid_what_the_environment_pays(env_id: str, model: tuple[Recorded, str]):
    recorded, url = model
    seeds = {f"{player}-{seed}": seed for player in PLAYERS for seed in range(2)}
    expected: dict[str, Played] = {}
    for name, seed in seeds.items():
        first, expected[name] = natively(env_id, name.partition("-")[0], seed)
        recorded.episodes[name, first] = expected[name]
    settings = {"env_id": env_id, "env_kwargs": dict(ENVS[env_id])}
    episodes = asyncio.run(played(url, seeds, settings, **FAST))
    assert recorded.differing == []
    for name, turns in expected.items():
        (trace,) = episodes[name].traces
        assert episodes[name].ok and set(trace.rewards) == {REWARD}, episodes[name].errors
        assert trace.reward == sum(turn[2] for turn in turns) and trace.num_turns == len(turns)
        assert not name.startswith("oracle") or trace.metrics["success"] == 1.0
    chat = ChatEnv(env_id, ENVS[env_id])
    assert recorded.systems == {message["content"] for message in chat.system()}


def test_any_turns_are_paid_the_same(model: tuple[Recorded, str]):
    """Turns that hypothesis found, all in one run, as a server of environments takes its time to start."""
    (recorded, url), env_id = model, "Pixelis/WebBrowse-v0"
    found: list[list[str]] = []

    @hypothesis.settings(max_examples=40)
    @hypothesis.given(TURNS)
    def collect(turns: list[str]) -> None:
        found.append(turns)

    collect()
    seeds = {f"any-{at}": at % 10 for at in range(len(found))}
    expected: dict[str, Played] = {}
    for turns, (name, seed) in zip(found, seeds.items(), strict=True):
        first, expected[name] = generated(env_id, turns, seed)
        recorded.episodes[name, first] = expected[name]
    episodes = asyncio.run(played(url, seeds, {"env_id": env_id}, **FAST))
    assert recorded.differing == [] and len(found) > 20
    paid = {name: sum(turn[2] for turn in turns) for name, turns in expected.items()}
    assert {name: episode.traces[0].reward for name, episode in episodes.items()} == paid


@fetches
def test_pictures_are_the_environment_s(model: tuple[Recorded, str]):
    (recorded, url), env_id = model, "Pixelis/ZoomRead-v0"
    first, turns = natively(env_id, "oracle", 0)
    recorded.episodes["oracle", first] = turns
    settings = {"env_id": env_id, "env_kwargs": dict(ENVS[env_id]), "images": True}
    episodes = asyncio.run(played(url, {"oracle": 0}, settings))
    assert episodes["oracle"].traces[0].reward == sum(turn[2] for turn in turns)
    beside: Any = gym.make(env_id, **ENVS[env_id])
    seen = [beside.reset(seed=0)[0], *(beside.step(turn[0])[0] for turn in turns[:-1])]
    pairs = zip(recorded.pictures, [one["image"] for one in seen], strict=True)
    assert len(seen) > 1 and all(np.array_equal(*pair) for pair in pairs)


@fetches
def test_a_limit_of_the_run_ends_an_episode_with_what_was_paid(model: tuple[Recorded, str]):
    (recorded, url), env_id = model, "Pixelis/ZoomRead-v0"
    first, turns = natively(env_id, "oracle", 0)
    assert len(turns) > 1
    recorded.episodes["oracle", first] = turns
    settings = {"env_id": env_id, "env_kwargs": dict(ENVS[env_id])}
    episodes = asyncio.run(played(url, {"oracle": 0}, settings, agent={"max_turns": 1}))
    (trace,) = episodes["oracle"].traces
    assert episodes["oracle"].ok and trace.num_turns == 1 and trace.reward == turns[0][2]
    assert "success" not in trace.metrics


class Broken(gym.Env[Any, Any]):
    """An environment that fails by itself in its first turn."""

    observation_space = action_space = gym.spaces.Text(99)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        return {"text": "Begin."}, {}

    def step(self, action: Any):
        told = {"valid_for_training": False, "failure_reason": "the browser is gone"}
        return {"text": ""}, 0.0, False, True, told


def test_what_failed_by_itself_is_no_episode_to_learn_from(model: tuple[Recorded, str]):
    recorded, url = model
    gym.register("Toy/Broken-v0", entry_point=Broken)
    recorded.episodes["oracle", "Begin."] = [("anything", "", 0.0, True)]
    episodes = asyncio.run(played(url, {"oracle": 0}, {"env_id": "Toy/Broken-v0"}, **FAST))
    (error,) = episodes["oracle"].errors
    assert not episodes["oracle"].ok and "Toy/Broken-v0 failed: the browser is gone" in error.message


def test_mistakes_are_told_before_anything_is_played():
    def first(**settings: Any) -> Any:
        config = vf.resolve_env_config({"taskset": {"id": "pixelis-env", **settings}})
        return next(iter(vf.load_taskset(config.taskset)))

    assert first(first_seed=7).data.seed == 7
    with pytest.raises(UnknownEnvError, match="Did you mean"):
        first(env_id="Pixelis/ZoomReed-v0")
    with pytest.raises(ConfigError):
        first(env_kwargs={"nonsense": 1})
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        first(first_seed=-1)


def evaluated(words: list[str], url: str, folder: Path, path: Path) -> list[dict[str, Any]]:
    """Run ``vf-eval`` with a package on the path, and return the rows of its results."""
    bin_ = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(path), str(ROOT)]),
    }
    general = [
        "--model",
        "oracle",
        "--client.base-url",
        url,
        "--no-push",
        "--no-rich",
        "--output-dir",
        str(folder),
    ]
    done = subprocess.run(
        [str(bin_ / "vf-eval"), *words, *general],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (results,) = folder.rglob("traces.jsonl")
    return [json.loads(line) for line in results.read_text().splitlines()]


@fetches
def test_vf_eval_plays_the_installed_package(model: tuple[Recorded, str], tmp_path: Path):
    (recorded, url), env_id, paid = model, "Pixelis/CodeProblem-v0", []
    for seed in range(3, 6):
        first, turns = natively(env_id, "oracle", seed)
        recorded.episodes["oracle", first] = turns
        paid.append(sum(turn[2] for turn in turns))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    source = tmp_path / "source"
    source.mkdir()
    for file in PACKAGE.iterdir():
        if file.is_file():
            (source / file.name).write_bytes(file.read_bytes())
    subprocess.run([*pip, "--target", str(tmp_path / "installed"), str(source)], check=True, timeout=120)
    words = ["pixelis_env", "--env.taskset.env-id", env_id, "--env.taskset.first-seed", "3", "-n", "3"]
    rows = evaluated(words, url, tmp_path / "out", tmp_path / "installed")
    assert sorted(row["traces"][0]["rewards"][REWARD]["score"] for row in rows) == sorted(paid)
    assert recorded.differing == []


@fetches
def test_the_page_s_package_runs(model: tuple[Recorded, str], tmp_path: Path):
    recorded, url = model
    page = Page("guide/other_trainers.md")
    page.write_modules(tmp_path, "page.py")
    env_id, kwargs = "Pixelis/WebBrowse-v0", {"difficulty": 0}
    env: Any = gym.make(env_id, **kwargs)
    seen, info = env.reset(seed=0)
    who, first = env.unwrapped.players()["oracle"](env.unwrapped), seen["text"]
    turns: Played = []
    while not turns or not turns[-1][3]:
        said = who.act(seen, info)
        seen, reward, ended, cut, info = env.step(said)
        turns.append((said, seen["text"], float(reward), ended or cut))
    recorded.episodes["oracle", first] = turns
    (row,) = evaluated(["web_browse", "-n", "1"], url, tmp_path / "out", tmp_path)
    assert row["traces"][0]["rewards"][REWARD]["score"] == sum(turn[2] for turn in turns) > 0
    source = tomllib.loads(page.blocks("toml")[0])["orchestrator"]["train"]["source"][0]
    told = vf.resolve_env_config(source["env"]).taskset
    assert (told.env_id, told.env_kwargs) == (env_id, kwargs)
