"""An env in a thread of its own, so that a call which never returns can be left behind.

A thread cannot be stopped from outside. One that hangs is abandoned with its env: it is a daemon, so it does
not keep the process from exiting, and if its call ever returns, the env is closed there and the thread ends.
What this does not help against: native code that hangs *and* holds Python's global lock stops every thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

import gymnasium as gym

_LOG = logging.getLogger(__name__)
R = TypeVar("R")


class EnvTimeoutError(Exception):
    """An env's call did not return in time; whoever plays the episode leaves it out."""


class TimedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An env whose ``reset``, ``step``, ``progress`` and ``close`` have a time limit.

    All calls, the making included, are done by the same thread, as browsers and windows want it. After a call
    that did not return in time, every further one raises at once.

    Args:
        factory: makes the env.
        timeout_seconds: longest time a call may take, > 0.

    Raises:
        EnvTimeoutError: the env was not made in time.
    """

    def __init__(self, factory: Callable[[], gym.Env[Any, Any]], timeout_seconds: float) -> None:
        self._seconds = timeout_seconds
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._over = False
        threading.Thread(target=_serve, args=(self._calls,), name="pixelis-env", daemon=True).start()
        self._made: list[gym.Env[Any, Any]] = []
        try:
            super().__init__(self._call("make", lambda: self._keep(factory())))
        except BaseException:
            self._end()
            raise

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the env.

        Raises:
            EnvTimeoutError: it did not return in time, now or earlier.
        """
        return self._call("reset", lambda: self.env.reset(seed=seed, options=options))

    def step(self, action: Any) -> Any:
        """Step the env.

        Raises:
            EnvTimeoutError: it did not return in time, now or earlier.
        """
        return self._call("step", lambda: self.env.step(action))

    def progress(self) -> float | None:
        """Ask the env how near its goal the episode is, see ``ToolEnv.progress``.

        Raises:
            EnvTimeoutError: it did not say in time, now or earlier.
        """
        return self._call("progress", lambda: self.env.get_wrapper_attr("progress")())

    def close(self) -> None:
        """Close the env and end its thread; an env that was or has to be abandoned is left alone."""
        if self._over:
            return
        try:
            self._call("close", self.env.close)
        except EnvTimeoutError as error:  # nothing depends on it any more
            _LOG.warning("an env was left behind: %s", error)
        finally:
            self._end()

    # ------------------------------------------------------------------ the thread

    def _keep(self, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        self._made.append(env)
        return env

    def _call(self, name: str, work: Callable[[], R]) -> R:
        if self._over:
            raise EnvTimeoutError(f"{name} of an env that was closed or abandoned")
        future: Future[R] = Future()
        self._calls.put((future, work))
        wait([future], self._seconds)
        if future.done():
            return future.result()
        self._calls.put((Future(), self._close_late))  # done if the call ever returns
        self._end()
        raise EnvTimeoutError(f"{name} did not return within {self._seconds:g} s")

    def _close_late(self) -> None:
        for env in self._made:
            env.close()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._calls.put(None)


def _serve(calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]) -> None:
    while (call := calls.get()) is not None:
        future, work = call
        try:
            future.set_result(work())
        except BaseException as error:  # told to whoever waits, in their thread
            future.set_exception(error)
        del call, future, work  # an idle thread keeps no env or observation alive
