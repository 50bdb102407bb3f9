"""A Chromium, and servers of the monitor, for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from monitor_server import Served, Server, Visit, serving, visited
from written_runs import write_folder

from pixelis.envs.web.chromium.browser import Browser


@pytest.fixture(scope="module")
def visit() -> Iterator[Visit]:
    """`visited` with a browser."""
    browser = Browser()
    yield partial(visited, browser)
    browser.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """`serving` until the module's tests are done."""
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(serving(folder))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of `write_folder`."""
    return write_folder(tmp_path_factory.mktemp("monitor"))


@pytest.fixture(scope="module")
def server(served: Served, folder: Path) -> Server:
    """A monitor of them."""
    return served(folder)


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    """Where its page is."""
    return server.address
