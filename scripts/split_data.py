"""Split a file of tweets: ``python scripts/split_data.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.split_data import main

if __name__ == "__main__":
    sys.exit(main())
