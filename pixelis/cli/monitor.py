"""``scripts/launch_monitor.py``: training runs in the browser, while they are written and afterwards."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.errors import ConfigError

PROGRAM = "launch_monitor.py"
DESCRIPTION = """\
Show training runs in the browser: curves, rewards, tools, groups, levels and episodes, while they are written
and afterwards. Give run folders, or folders of them: launch_monitor.py RUNS... Nothing is written there."""
EXAMPLES = """\
examples:
  launch_monitor.py runs
  launch_monitor.py --run runs/zoomread-pixelis-tiny-seed0 --port 7861"""


class MonitorSettings(Settings):
    """The flags of ``launch_monitor.py``."""

    run: str | None = setting(None, "a run folder, or a folder of runs; more can stand before the flags")
    host: str = setting("127.0.0.1", "address to listen at; anything else shows the runs to the network")
    port: int = setting(7860, "port to listen at", ge=1, le=65_535)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_monitor, words)


def _monitor(words: Sequence[str]) -> int:
    places = []
    while len(places) < len(words) and not words[len(places)].startswith("-"):
        places.append(words[len(places)])
    settings = Arguments(PROGRAM, DESCRIPTION, MonitorSettings, EXAMPLES).read(words[len(places) :])
    places += [settings.run] if settings.run is not None else []

    from pixelis.monitor.reading.runs import Runs

    runs = Runs(list(dict.fromkeys(places)) or ["runs"])
    check_port(settings.host, settings.port)

    from pixelis.monitor.app.server import serve

    runs.refresh()
    serve(runs, settings.host, settings.port)
    return 0


def check_port(host: str, port: int, flag: str = "--port") -> None:
    """Check that a port is free.

    Args:
        host: address that is to be listened at.
        port: likewise.
        flag: what chooses another port, for the message.

    Raises:
        ConfigError: it is not, or the address is none of this machine's.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family) as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((host, port))
    except OSError as error:
        raise ConfigError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; another program may be there, "
            f"choose another {flag}, such as {port % 65_535 + 1}"
        ) from error
