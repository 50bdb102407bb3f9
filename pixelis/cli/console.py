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


@contextlib.contextmanager
def warnings_on(console: Console) -> Iterator[None]:
    """Inside the block, what Pixelis warns of is also shown on the console; each kind of warning once."""
    logger, handler = logging.getLogger("pixelis"), _Teller(console)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Teller(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning whose words have not been told yet, whatever the numbers in them."""
        if str(record.msg) not in self._told:
            self._told.add(str(record.msg))
            text = f"{record.levelname.lower()}: {record.getMessage()}"
            self._console.print(text, soft_wrap=True, markup=False)
