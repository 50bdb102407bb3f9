"""Train a model by expert iteration: ``python scripts/expert_iteration.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.expert import main

if __name__ == "__main__":
    sys.exit(main())
