"""Fit the learned and the evaluation reward of tweets: ``python scripts/train_tweet_reward.py --help``."""

from __future__ import annotations

import sys

from pixelis.cli.tweet_reward import main

if __name__ == "__main__":
    sys.exit(main())
