"""Play an environment by hand: ``python scripts/play.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.play import main

if __name__ == "__main__":
    sys.exit(main())
