"""Judge code samples by a file of problems, with Pass@k: ``python scripts/verify_solutions.py --help``."""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # Ctrl-C while this is imported
    from pixelis.cli.verify_solutions import main

    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end
    sys.exit(code)
