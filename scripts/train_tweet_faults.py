"""Fit the fault heads of the tweet reward: ``python scripts/train_tweet_faults.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.tweet_faults import main

if __name__ == "__main__":
    sys.exit(main())
