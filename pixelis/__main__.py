"""``python -m pixelis``: the command ``pixelis``."""

import sys

from pixelis.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
