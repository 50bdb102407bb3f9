"""The server of the monitor: one page, the pictures of episodes, and single lines as text."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

from pixelis.agents.viewing.visible import in_plain
from pixelis.errors import ConfigError
from pixelis.monitor.app.page import Page
from pixelis.monitor.app.parts import Request, Response, TrustedHostMiddleware, app, ui
from pixelis.monitor.reading.runs import FollowedRun, Runs

LARGEST_PICTURE = 1 << 26
_STYLE = Path(__file__).parent / "static" / "monitor.css"
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "no-store",
}


def serve(runs: Runs, host: str, port: int) -> None:
    """Serve the monitor until it is interrupted; say where it is.

    Args:
        runs: what is shown; it is followed from here on.
        host: address to listen at.
        port: likewise.

    Raises:
        ConfigError: another program listens there.
    """
    listener = listening(host, port)
    print(f"the monitor is at http://{host}:{port}, until Ctrl-C", flush=True)
    if host in ("127.0.0.1", "localhost", "::1"):  # else a foreign page could ask in this machine's name
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]", "::1"])
    add_routes(runs)
    app.on_startup(runs.start)
    app.on_shutdown(runs.close)
    ui.run(
        host=host,
        port=port,
        fd=listener.fileno(),
        title="Pixelis monitor",
        reload=False,
        show=False,
        dark=None,
        show_welcome_message=False,
        tailwind=False,
        binding_refresh_interval=1.0,
        message_history_length=0,
    )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address: from then on it is nobody else's.

    Raises:
        ConfigError: it is another program's already.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (")[0]
        raise ConfigError(
            f"cannot listen at {host}:{port}: {why}; another program was there first, choose another --port, "
            f"such as {port % 65_535 + 1}"
        ) from error
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the server sets it where it opens one
    return found


def add_routes(runs: Runs) -> None:
    """Add the page and the files to the application."""
    style = _STYLE.read_text(encoding="utf-8")

    @ui.page("/", response_timeout=30.0)
    def index(request: Request) -> None:
        ui.add_css(style)
        Page(runs, dict(request.query_params)).build()

    @app.get("/picture/{number}/{name}")
    def picture(number: int, name: str) -> Response:
        """Answer with a picture that a run has kept, by its digest; 404 for every other name."""
        match, run = re.fullmatch(r"([0-9a-f]{64})\.png", name), _run(runs, number)
        data = None if match is None or run is None else run.picture(match[1], LARGEST_PICTURE)
        if data is None or not data.startswith(b"\x89PNG\r\n"):
            return Response("there is no such picture", 404, dict(_SAFE), "text/plain")
        return Response(data, 200, {**_SAFE, "Cache-Control": "private, max-age=3600"}, "image/png")

    @app.get("/line/{number}/{file}/{line}")
    def line(number: int, file: str, line: int) -> Response:
        """Answer with a line of a run's file of episodes as plain text; 404 where there is none."""
        run = _run(runs, number)
        text = None if run is None else _line(run, file, line)
        if text is None:
            return Response("there is no such line", 404, dict(_SAFE), "text/plain")
        return Response(text, 200, dict(_SAFE), "text/plain; charset=utf-8")


def _run(runs: Runs, number: int) -> FollowedRun | None:
    every = list(runs.runs.values())
    return every[number] if 0 <= number < len(every) else None


def _line(run: FollowedRun, name: str, line: int) -> str | None:
    """Return an episode's text, and then the rest of its line; a sign that acts or is not seen is named."""
    file = next((each for each in run.episode_files() if each.name == name), None)
    row = None if file is None else run.episode_row(file, line)
    if row is None:
        return None
    text = row.get("text") if isinstance(row.get("text"), str) else ""
    whole = json.dumps(
        {key: value for key, value in row.items() if key != "text"}, indent=1, ensure_ascii=False
    )
    return in_plain(f"{text}\n\n{whole}\n")
