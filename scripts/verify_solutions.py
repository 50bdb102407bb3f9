"""Judge code samples by a file of problems, with Pass@k: ``python scripts/verify_solutions.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.verify_solutions import main

if __name__ == "__main__":
    sys.exit(main())
