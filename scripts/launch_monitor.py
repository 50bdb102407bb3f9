"""Show training runs in the browser: ``python scripts/launch_monitor.py --help``."""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # Ctrl-C while this is imported
    from pixelis.cli.monitor import main

    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end
    sys.exit(code)
