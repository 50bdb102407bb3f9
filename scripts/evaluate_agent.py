"""Evaluate an agent: ``python scripts/evaluate_agent.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.evaluate import main

if __name__ == "__main__":
    sys.exit(main())
