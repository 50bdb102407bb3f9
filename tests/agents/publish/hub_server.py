"""What the Hub answers to an upload of small files, in the form that its library (2.4) reads."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from typing import Any


class AnsweringHub:
    """Takes repositories and commits.

    Attributes:
        url: its address, for ``HF_ENDPOINT``.
        made: the bodies with which repositories were made.
        files: place in the repository → what was committed.
        paths: all that was asked.
        refusal: status with which everything is refused, None: nothing is.
    """

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.paths: list[str] = []
        self.refusal: int | None = None
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.answer(hub.posted(self.path, body))

            def do_GET(self) -> None:
                self.answer(hub.got(self.path))

            def answer(self, value: Any) -> None:
                data = json.dumps(value).encode()
                self.send_response(hub.refusal or 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def got(self, path: str) -> Any:
        """Answer a question: every repository is there, and empty."""
        self.paths.append(path)
        return {"id": "me/one", "sha": "0" * 40, "private": True, "siblings": [], "tags": []}

    def posted(self, path: str, body: bytes) -> Any:
        """Answer what is sent."""
        self.paths.append(path)
        if path.endswith("/repos/create"):
            self.made.append(json.loads(body))
            return {"url": f"{self.url}/me/one", "name": "me/one"}
        if "/preupload/" in path:
            files = json.loads(body)["files"]
            return {
                "files": [
                    {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files
                ]
            }
        if "/commit/" in path:
            for line in body.decode().splitlines():
                row = json.loads(line)
                if row["key"] == "file":
                    self.files[row["value"]["path"]] = base64.b64decode(row["value"]["content"])
            return {"commitUrl": f"{self.url}/me/one/commit/1", "commitOid": "1" * 40, "success": True}
        return {}
