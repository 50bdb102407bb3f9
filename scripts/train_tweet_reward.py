"""Fit the learned and the evaluation reward of tweets: ``python scripts/train_tweet_reward.py --help``."""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # Ctrl-C while this is imported
    from pixelis.cli.tweet_reward import main

    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end
    sys.exit(code)
