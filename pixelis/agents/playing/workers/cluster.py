"""The cluster of Ray that workers live in: one that runs, or one of this machine that ends with the run."""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pixelis.errors import ConfigError, MissingDependencyError, SamplerError
from pixelis.files import one_line

CONNECT_SECONDS = 10.0
HEALTH_SECONDS = 30.0
_MODE, _TOKENS = "RAY_AUTH_MODE", ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def ray_module() -> Any:
    """Return Ray.

    Raises:
        MissingDependencyError: it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # says nothing to its makers
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what will be its default
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            "workers need Ray; install it with pip install 'pixelis[ray]'"
        ) from error
    return ray


class Cluster:
    """A connection to Ray.

    Args:
        address: of a cluster; ``auto``: the one that runs on this machine; None: one is started here, with
            ``processors``, for this process alone.
        processors: of a cluster that is started.

    Raises:
        MissingDependencyError: Ray is not installed.
        ConfigError: there is no such cluster, or it has another version of Ray or Python.
    """

    def __init__(self, address: str | None, processors: int) -> None:
        self._token: dict[str, str | None] = {}  # variables that are set for it, and what they were
        self.ray = ray_module()
        self._is_own = not self.ray.is_initialized()
        if not self._is_own:  # by a program that uses this package
            return
        where: dict[str, Any] = {"address": address}
        if address is None:
            where = {"address": "local", "num_cpus": processors, "include_dashboard": False}
            self._token = _set_token()
        elif address != "auto":
            check_answers(str(address))
        with _same_signals():
            try:
                self.ray.init(**where, log_to_driver=False, logging_level="error")
            except Exception as error:  # of many kinds: ConnectionError, RuntimeError, ValueError, Ray's own
                _unset(self._token)
                raise ConfigError(
                    f"ray_address {address}: no cluster of Ray can be had there ({type(error).__name__}: "
                    f"{one_line(error)}); start one with `ray start --head`, or leave --ray-address out"
                ) from error

    def put(self, data: bytes) -> Any:
        """Return a reference to bytes that any worker can read.

        Raises:
            SamplerError: the object store is full.
        """
        try:
            return self.ray.put(data)
        except self.ray.exceptions.RayError as error:
            raise SamplerError(
                f"Ray's object store cannot take {len(data) / 2**20:,.1f} MiB ({one_line(error)}); start it "
                "with more --object-store-memory, or lower --max-staleness, and go on with --resume"
            ) from error

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._is_own:
            with _same_signals():
                self.ray.shutdown()
        _unset(self._token)


def check_answers(address: str) -> None:
    """Check that a cluster of this version of Ray answers; `ray.init` would wait for one for minutes.

    Raises:
        ConfigError: none does.
    """
    host, _, port = address.rpartition(":")
    where = f"ray_address must be auto, or HOST:PORT of a cluster's head, got {address!r}"
    if not host or not port.isdecimal():
        raise ConfigError(f"{where}; `ray start --head` prints it")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"{where}: nothing answers there ({error}); start one with `ray start --head`"
        ) from error
    # Not the command ray, which need not lie beside this Python.
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=HEALTH_SECONDS)
        why = "" if done.returncode == 0 else (done.stderr.strip() or "it is not healthy").splitlines()[-1]
    except subprocess.TimeoutExpired:
        why = f"no answer in {HEALTH_SECONDS:g} s"
    except OSError as error:
        raise ConfigError(
            f"{where}: Ray cannot be asked whether it is one, since no process can be started with "
            f"{sys.executable!r} ({one_line(error)})"
        ) from error
    if why:
        raise ConfigError(f"{where}: what answers there is no cluster that can be used ({why[:300]})")


def _set_token() -> dict[str, str | None]:
    """Let nobody else speak to a cluster that is started: Ray's ports are open on all addresses.

    Whatever mode the environment asks for; a token that the user has chosen is that of the cluster.

    Returns:
        The variables of the environment that were changed for it, with what they were.

    Source: Ray's documentation, "Token authentication".
    """
    found = {_MODE: "token"}
    if not any(name in os.environ for name in _TOKENS):
        found[_TOKENS[0]] = secrets.token_hex(32)
    before = {name: os.environ.get(name) for name in found}
    os.environ.update(found)
    _read_token_again()
    return before


def _unset(before: Mapping[str, str | None]) -> None:
    """Forget the token of a cluster that has ended."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if before:
        _read_token_again()


def _read_token_again() -> None:
    """Make Ray read its variables again: it keeps what it found when the process first asked for them.

    A process that spoke to a cluster without a token, or that had one of its own before, could start none
    otherwise. Ray has no public name for this; the order is its own, since threads of it may still read.
    """
    raylet: Any = importlib.import_module("ray._raylet")
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()


@contextlib.contextmanager
def _same_signals() -> Iterator[None]:
    """Keep this process's answer to SIGTERM, which Ray replaces."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    with contextlib.suppress(ValueError):  # not in the main thread, where Ray changes nothing
        signal.signal(signal.SIGTERM, before)
