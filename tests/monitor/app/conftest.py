"""A Chromium, and servers of the monitor, for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from monitor_server import Served, Visit, serving, visited

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
