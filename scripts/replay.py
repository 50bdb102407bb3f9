"""Look at episodes, replay recorded ones, or score them again: ``python scripts/replay.py --help``."""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # Ctrl-C while this is imported
    from pixelis.cli.replay import main

    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end
    sys.exit(code)
