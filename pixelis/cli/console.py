"""Where commands print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 120


def open_console() -> Console:
    """Return rich's console: as wide as the terminal, or 120 columns into a pipe or a file."""
    from rich.console import Console  # slow to import; a wrong flag is told before

    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
