"""Replay recorded episodes, or score them again: ``python scripts/replay.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.replay import main

if __name__ == "__main__":
    sys.exit(main())
