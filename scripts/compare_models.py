"""Compare two models on the same tasks: ``python scripts/compare_models.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.compare import main

if __name__ == "__main__":
    sys.exit(main())
