"""Serves site sessions to a real browser: loopback only, a port the system chooses, one cookie a session."""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from pixelis.envs.web.sites.site import Request, Response, SiteSession

COOKIE = "pixelis_session"
HOST = "127.0.0.1"
MAX_BODY = 1_000_000
"""Greatest length of a request's body in bytes; a larger one is refused."""

_TYPES = {".css": "text/css", ".js": "text/javascript"}


@lru_cache(1)
def static_files() -> dict[str, tuple[str, bytes]]:
    """Return what is served under ``/static/``: path → content type and bytes. Nothing else is."""
    folder = files("pixelis.envs.web.sites") / "static"
    return {
        f"/static/{entry.name}": (_TYPES[suffix], entry.read_bytes())
        for entry in folder.iterdir()
        for suffix in [entry.name[entry.name.rfind(".") :]]
        if suffix in _TYPES
    }


class SiteServer:
    """Serves the sessions that are open, in threads; ``with SiteServer() as server``.

    A request says by its cookie (HttpOnly, SameSite=Strict) which session it belongs to; without one, or
    with one that is not open, the answer is 403. ``/static/`` is a fixed dictionary, so no path leads out of
    it, and is for what pages load: a browser that goes there itself gets the site's answer, as in process.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[SiteSession, threading.Lock]] = {}
        self._httpd = _Server((HOST, 0), _Handler)
        self._httpd.owner = self
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://{HOST}:{self._httpd.server_address[1]}"

    def add(self, session: SiteSession) -> str:
        """Serve a session from now on; return its cookie's value."""
        self._sessions[session.token] = (session, threading.Lock())
        return session.token

    def remove(self, session: SiteSession) -> None:
        """Serve a session no longer; one that is not served is no error."""
        self._sessions.pop(session.token, None)

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        if self._thread.is_alive():
            self._httpd.shutdown()
            self._thread.join()
            self._httpd.server_close()

    def leave(self) -> None:
        """In a forked process: give up the socket, so that it listens no longer than the parent does."""
        self._httpd.socket.close()

    def __enter__(self) -> SiteServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def answer(self, token: str, request: Request) -> Response | None:
        """Return a session's response; ``None`` for a token that no session has."""
        found = self._sessions.get(token)
        if found is None:
            return None
        session, lock = found
        with lock:
            return session.handle(request)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: SiteServer


class _Handler(BaseHTTPRequestHandler):
    """One connection, kept alive. Headers and body leave in one write: Nagle's algorithm would wait 40 ms."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Pixelis", ""
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:
        """Send a static file, else what the session's site answers."""
        static = static_files().get(self.path.partition("?")[0])
        if self.headers.get("Sec-Fetch-Dest") == "document":
            self._respond("")
        elif self.path == "/favicon.ico":  # asked for by browsers, no page of the session
            self._send(404, "text/plain", b"")
        elif static is not None:
            kept = {"Cache-Control": "max-age=86400", "Vary": "Sec-Fetch-Dest"}
            self._send(200, *static, headers=kept)
        else:
            self._respond("")

    def do_POST(self) -> None:
        """Give a form to the session's site; 413 where it is too large."""
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            self._send(413, "text/plain", b"too large")
            return
        self._respond(self.rfile.read(int(length)).decode("utf-8", "replace"))

    def _respond(self, body: str) -> None:
        server: Any = self.server
        response = server.owner.answer(self._token(), Request.of(self.command, self.path, body))
        if response is None:
            self._send(403, "text/plain", b"no such session")
        elif response.location:
            self._send(response.status, "text/plain", b"", headers={"Location": response.location})
        else:
            self._send(response.status, "text/html; charset=utf-8", response.html.encode())

    def _token(self) -> str:
        try:
            morsel = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except CookieError:
            return ""
        return morsel.value if morsel is not None else ""

    def _send(self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'self'; img-src 'self' data:",
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: a page is no news."""


_SHARED: dict[int, SiteServer] = {}
_LOCK = threading.Lock()


def shared_server() -> SiteServer:
    """Return the server of this process, started on first use; a forked process gets its own."""
    with _LOCK:
        if os.getpid() not in _SHARED:
            _SHARED[os.getpid()] = SiteServer()
        return _SHARED[os.getpid()]


def _leave_to_parent() -> None:
    global _LOCK
    _LOCK = threading.Lock()  # another thread may have held it, which this process does not have
    for server in _SHARED.values():
        server.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
