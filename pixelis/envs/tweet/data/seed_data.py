"""Where the tweets that come with the package lie; data/README.md says how they came about."""

from __future__ import annotations

from pathlib import Path

SEED_TWEETS = Path(__file__).parent / "seed_tweets.jsonl"
"""360 invented tweets with a good reply each, 43 of them threads; CC0-1.0."""
