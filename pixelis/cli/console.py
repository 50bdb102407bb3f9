"""Where commands print."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 120


def open_console() -> Console:
    """Return rich's console: as wide as the terminal, or 120 columns into a pipe or a file."""
    from rich.console import Console  # slow to import; a wrong flag is told before

    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


class _ToConsole(logging.Handler):
    """Prints warnings, so that they do not break a live bar."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        text = f"{record.levelname.lower()}: {record.getMessage()}"
        self._console.print(text, soft_wrap=True, markup=False)


@contextlib.contextmanager
def warnings_on(console: Console) -> Iterator[None]:
    """Inside the block, what Pixelis warns of is printed too; a log file alone is read too late."""
    logger, handler = logging.getLogger("pixelis"), _ToConsole(console)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
