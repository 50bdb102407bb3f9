"""Small servers that say what one of vLLM says, or something else."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator

import torch

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import Policy

PROBE_TEMPERATURE = 2.0  # at which the trainer asks what log-probabilities are of


class Recorded(http.server.BaseHTTPRequestHandler):
    """Says what a server of vLLM has said, of pixelis-mini and adapters that it was given."""

    server: Replaying

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = {"/version": {"version": "0.32.0"}, "/v1/models": {"data": [{"id": "mini"}]}, "/health": ""}
        self.say(path.get(self.path, {}))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, asked))
        if self.path == "/v1/load_lora_adapter":
            self.server.adapters.add(asked["lora_name"])
            self.say("Success: LoRA adapter 'it' added successfully.")
        elif self.path == "/v1/unload_lora_adapter":
            known = asked["lora_name"] in self.server.adapters
            self.server.adapters.discard(asked["lora_name"])
            self.say("Success" if known else "it cannot be found", 200 if known else 404)
        elif "prompt_logprobs" in asked:
            ids = asked["prompt"]
            own = self.scores(ids, 1)
            found = [None, *({str(i): {"logprob": each}} for i, each in zip(ids[1:], own, strict=True))]
            self.complete(asked["model"], {"index": 0, "text": "", "prompt_logprobs": found})
        elif asked["temperature"] == PROBE_TEMPERATURE:
            drawn = [7 + 5 * k for k in range(asked["max_tokens"])]
            temperature = 1.0 if self.server.is_raw else PROBE_TEMPERATURE
            own = self.scores([*asked["prompt"], *drawn], len(asked["prompt"]), temperature)
            self.complete(asked["model"], choice_of(drawn, own, "length"))
        else:
            self.write(asked)

    def write(self, asked) -> None:
        server, reason = self.server, self.server.finish_reason
        server.wrote.append(asked["model"])
        if server.bad_answers:
            self.say(server.bad_answers.pop())
            return
        count = asked["max_tokens"] if reason == "length" else 1
        tokens = [*[65] * (count - 1), asked["stop_token_ids"][0] if reason == "stop" else 66]
        self.complete(server.answers_by or asked["model"], choice_of(tokens, [-0.5] * count, reason))

    def scores(self, ids: list[int], given: int, temperature: float = 1.0) -> list[float]:
        # A real one has the model; here the trainer's own policy says what one would.
        episode = Episode("", 0, 0, 0, [Segment.given(ids[:given]), Segment.written(ids[given:])])
        with torch.no_grad():
            return self.server.policy.logprobs([episode], temperature).logprobs[0, given:].tolist()

    def complete(self, model: str, choice) -> None:
        self.say({"id": "cmpl-1", "object": "text_completion", "model": model, "choices": [choice]})

    def say(self, what, status: int = 200) -> None:
        body = (what if isinstance(what, str) else json.dumps(what)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Replaying(http.server.ThreadingHTTPServer):
    """A server of what was recorded.

    Attributes:
        policy: the model that it has.
        answers_by: the model that it says has answered; None: the one that was asked for, as vLLM does.
        finish_reason: why its turns end.
        is_raw: whether its log-probabilities are those before temperature, vLLM's default.
        bad_answers: what it says in the place of its next turns, the last one first.
        adapters: those it has.
        asked: paths and bodies of what it was asked to do.
        wrote: the models that were asked for turns.
        url: its address.
    """

    def __init__(
        self,
        policy: Policy,
        answers_by: str | None = None,
        finish_reason: str = "stop",
        is_raw: bool = False,
    ) -> None:
        super().__init__(("127.0.0.1", 0), Recorded)
        self.policy, self.answers_by, self.finish_reason = policy, answers_by, finish_reason
        self.is_raw, self.bad_answers = is_raw, []
        self.adapters, self.asked, self.wrote = set(), [], []
        self.url = f"http://127.0.0.1:{self.server_port}"


def choice_of(tokens: list[int], logprobs: list[float], reason: str) -> dict:
    """Return a completion."""
    told = {"token_logprobs": logprobs}
    return {"index": 0, "text": "", "token_ids": tokens, "finish_reason": reason, "logprobs": told}


@contextlib.contextmanager
def replayed(policy: Policy, **options) -> Iterator[Replaying]:
    """Serve what was recorded."""
    with Replaying(policy, **options) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@contextlib.contextmanager
def answering(answer: Callable[[http.server.BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Serve what a function writes, whatever is asked; give the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with contextlib.suppress(OSError):  # the other side has gone
                answer(self)

        do_POST = do_GET

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
