"""Train an agent: ``python scripts/train_agent.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.train import main

if __name__ == "__main__":
    sys.exit(main())
