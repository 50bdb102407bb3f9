"""Fit the fault heads of the tweet reward: ``python scripts/train_tweet_faults.py --help``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from tweet_faults.command import main

if __name__ == "__main__":
    sys.exit(main())
