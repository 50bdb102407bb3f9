"""Real servers from elsewhere (``transformers serve``, vLLM) play as their model does here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest
import yaml
from answering import completion

from pixelis.agents.models.named_models import NAMED_MODELS
from pixelis.agents.rollout.vllm.server import ENVIRONMENT, PYTHON, flags
from pixelis.cli.main import main

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CODE = ["--env", "Pixelis/CodeProblem-v0", "--difficulty", "1", "--max-new-tokens", "128"]


TRANSFORMERS = (
    "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"
)


def words_of(server: str, model: str, port: int) -> list[str]:
    """Return the command that serves a model."""
    if server == "transformers":
        where = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
        return [sys.executable, "-c", TRANSFORMERS, "serve", model, *where]
    own = flags(model, port, "float32", 16, 2048)
    tools = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]  # reads <tool_call>{…}</tool_call>
    return [str(PYTHON.expanduser()), "-m", "vllm.entrypoints.openai.api_server", *own, *tools]


@pytest.fixture(scope="module", params=["transformers", pytest.param("vllm", marks=pytest.mark.vllm)])
def agent(request, tmp_path_factory):
    """The agent that a server of pixelis-mini is."""
    model = str(NAMED_MODELS["pixelis-mini"]())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("served") / "log"
    with log.open("wb") as file:
        server = subprocess.Popen(
            words_of(request.param, model, port),
            stdout=file,
            stderr=file,
            env={**os.environ, **ENVIRONMENT, "OMP_NUM_THREADS": "1"},
        )
    try:
        until = time.monotonic() + 600
        while time.monotonic() < until:
            assert server.poll() is None, log.read_text()
            try:
                if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.5)
        yield f"openai:{model}@http://127.0.0.1:{port}"
    finally:
        family = [*psutil.Process(server.pid).children(recursive=True), server]
        for each in family:
            with contextlib.suppress(psutil.Error):
                each.terminate()
        server.wait(60)


def test_it_says_what_it_says_here(agent, tmp_path, capsys):
    table, chats = tmp_path / "table.json", tmp_path / "chats.jsonl"
    words = [*CODE, "--agent", f"{agent},pixelis-mini", "--mode", "greedy", "--episodes", "12"]
    assert main(["evaluate", *words, "--output", str(table), "--demonstrations", str(chats)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "table.transcripts.jsonl").read_text().splitlines()]
    there, here = rows[:12], rows[12:]
    turns = [[[each["action"] for each in row["exchanges"]] for row in part] for part in (there, here)]
    assert sorted(turns[0]) == sorted(turns[1])  # there they end in any order
    found = json.loads(table.read_text())
    assert found["usage"][agent]["requests"] == 12 and found["usage"][agent]["tokens_out"] > 12
    kept = [json.loads(line) for line in chats.read_text().splitlines()]
    assert len(kept) == sum(row["success"] for row in rows) > 0
    assert "12 turns" in capsys.readouterr().out


def test_it_is_compared_task_by_task(agent, tmp_path, capsys):
    words = [*CODE, "--a", agent, "--b", "pixelis-mini", "--mode", "greedy", "--episodes", "6"]
    assert main(["compare", *words, "--output", str(tmp_path / "pair.json")]) == 0
    pair = json.loads((tmp_path / "pair.json").read_text())
    assert all(task["a"] == task["b"] for task in pair["tasks"])
    assert pair["usage"][agent]["requests"] == 6


def test_turns_go_to_and_fro_with_native_tools(agent, tmp_path):
    words = ["--env", "Pixelis/WebBrowse-v0", "--agent", agent, "--mode", "sampled", "--episodes", "3"]
    table = tmp_path / "web.json"
    assert main(["evaluate", *words, "--endpoint.tools", "native", "--output", str(table)]) == 0
    (row,) = json.loads(table.read_text())["rows"]
    assert row["episodes"] == 3 and row["failed"] == 0


def test_a_comparison_pairs_tasks_whoever_ends_first(serve, tmp_path):
    """Answers come in the reverse order of the questions; the two players still meet task by task."""

    def answer(body, number):
        time.sleep(0.5 if number == 0 else 0)
        return completion("")

    words = [*CODE, "--a", f"openai:m@{serve(answer).url}", "--b", "nothing", "--episodes", "3"]
    assert main(["compare", *words, "--mode", "greedy", "--output", str(tmp_path / "pair.json")]) == 0
    assert len(json.loads((tmp_path / "pair.json").read_text())["tasks"]) == 3


def test_ctrl_c_does_not_wait_for_a_silent_server(serve, start, tmp_path):
    """What was played before it is kept."""

    def answer(body, number):
        if number >= 2:
            time.sleep(600)
        return completion("<answer>X</answer>")

    server = serve(answer)
    words = ["--agent", f"openai:m@{server.url}", "--episodes", "9", "--batch-size", "1", "--mode", "greedy"]
    evaluation = start("evaluate", *words, "--output", tmp_path / "t.json")
    until = time.monotonic() + 120
    while len(server.bodies) < 3 and time.monotonic() < until:
        time.sleep(0.1)
    sent = time.monotonic()
    evaluation.process.send_signal(signal.SIGINT)
    assert evaluation.wait() == 130, evaluation.said
    assert time.monotonic() - sent < 20
    assert json.loads((tmp_path / "t.json").read_text())["partial"] is True
    assert len((tmp_path / "t.transcripts.jsonl").read_text().splitlines()) == 2


def test_no_key_is_in_any_file(serve, tmp_path, monkeypatch):
    server = serve(lambda *_: completion("<answer>X</answer>"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    words = ["--agent", f"openai:m@{server.url}", "--episodes", "2", "--mode", "greedy"]
    chats = tmp_path / "chats.jsonl"
    assert (
        main(["evaluate", *words, "--output", str(tmp_path / "t.json"), "--demonstrations", str(chats)]) == 0
    )
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 2 and not chats.exists()  # nobody succeeded
    assert not any(b"very-secret" in path.read_bytes() for path in written)


def test_settings_of_the_endpoint_are_read_from_a_file(tmp_path):
    from pixelis.cli.arguments import Arguments
    from pixelis.cli.evaluate import EvaluateSettings

    file = tmp_path / "evaluate.yaml"
    file.write_text(yaml.safe_dump({"endpoint": {"tools": "native", "price_in": 2}}))
    settings = Arguments("evaluate_agent.py", "", EvaluateSettings, "").read(["--config", str(Path(file))])
    assert settings.endpoint.tools == "native" and settings.endpoint.price_in == 2
