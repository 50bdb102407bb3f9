"""Serves the files of one folder to a real browser, on this machine only."""

from __future__ import annotations

import mimetypes
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class FolderServer:
    """Serves a folder on a free loopback port, from a thread that ends with the process."""

    def __init__(self, folder: Path) -> None:
        self._httpd = _Server(("127.0.0.1", 0), _Handler)
        self._httpd.folder = folder.resolve()
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        """``127.0.0.1:PORT``."""
        return f"127.0.0.1:{self._httpd.server_address[1]}"

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        if self._thread.is_alive():
            self._httpd.shutdown()
            self._thread.join()
            self._httpd.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    folder: Path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Pixelis", ""
    wbufsize = -1  # headers and body leave in one write: Nagle's algorithm would wait 40 ms
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:
        """Send a file of the folder; 404 for what is outside it or not there."""
        server: Any = self.server
        path = _file_in(server.folder, unquote(urlsplit(self.path).path))
        body = b"no such file" if path is None else path.read_bytes()
        self.send_response(404 if path is None else 200)
        self.send_header("Content-Type", "text/plain" if path is None else _kind_of(path.name))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


def _file_in(folder: Path, asked: str) -> Path | None:
    try:
        path = (folder / asked.lstrip("/")).resolve()
        return path if path.is_relative_to(folder) and path.is_file() else None
    except (OSError, ValueError):  # a name too long for any file, or with a zero byte
        return None


def _kind_of(name: str) -> str:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind.endswith("javascript") else kind
