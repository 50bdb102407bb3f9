"""A server that says what it was told to: for what a real one does only when something is wrong."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable
from typing import Any

Answer = tuple[int, Any]
"""Status, and what is sent: JSON, or bytes as they are."""


def completion(text: str | None, calls: list[tuple[str, str]] = (), **more: Any) -> Answer:
    """Return a chat completion in OpenAI's form; ``calls`` are names and arguments."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"id{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish", "stop")}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return 200, {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice],
                 "usage": usage, **more}  # fmt: skip


def refusal(status: int, message: str) -> Answer:
    """Return an error in OpenAI's form."""
    return status, {"error": {"message": message, "type": "error", "code": None}}


class AnsweringServer:
    """Answers each request by a function of its body and its number.

    Attributes:
        url: its address.
        bodies: what was asked so far.
        headers: of the requests.
    """

    def __init__(self, answer: Callable[[dict[str, Any], int], Answer]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        lock, outer = threading.Lock(), self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(outer.bodies)
                    outer.bodies.append(body)
                    outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, said = answer(body, number)
                data = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header(
                    "Content-Type", "text/html" if isinstance(said, bytes) else "application/json"
                )
                self.send_header("Content-Length", str(len(data)))
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
