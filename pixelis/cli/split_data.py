"""``scripts/split_data.py``: split a file of tweets into parts for SFT, for GRPO and for evaluation.

Usage: python scripts/split_data.py my_tweets.csv --output splits/mine [--sft 0.4] [--grpo 0.4] [--seed 0]

No tweet, no near-duplicate of one and no author is in two parts. Without a file, the tweets that come with
the package are split. docs/guide/tweet_data.md describes the columns and what is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pixelis.cli import called_as, run_command
from pixelis.envs.tweet.data.near_duplicates import NEAR
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.split import PARTS, SplitSettings
from pixelis.envs.tweet.data.split_folder import write_split


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    one = argparse.ArgumentParser(
        prog=" ".join(called_as("scripts/split_data.py")),
        description="Split tweets into parts that share no tweet and no author.",
    )
    one.add_argument("source", nargs="?", type=Path, default=SEED_TWEETS, help="JSONL or CSV of tweets")
    one.add_argument("--output", type=Path, required=True, help="folder for the parts")
    one.add_argument("--sft", type=float, default=0.4, help="share for supervised fine-tuning (default 0.4)")
    one.add_argument(
        "--grpo", type=float, default=0.4, help="share for GRPO (default 0.4); the rest is held out"
    )
    one.add_argument("--seed", type=int, default=0, help="default 0")
    one.add_argument(
        "--near",
        type=float,
        default=NEAR,
        help=f"least Jaccard similarity of near-duplicates (default {NEAR})",
    )
    one.add_argument("--overwrite", action="store_true", help="replace another split in the folder")
    return one


def report(manifest: dict[str, Any]) -> str:
    """Return the sizes as a table: a part a row, then the strata that a part has none of."""
    rows = manifest["rows"]
    lines = [f"{rows} tweets in {manifest['groups']} groups, the largest of {manifest['largest_group']}"]
    lines.append(
        f"{manifest['near_duplicate_pairs']} pairs of near-duplicates by different authors or by nobody"
    )
    lines += [f"{name:9}{manifest['sizes'][name]:8}  {manifest['sizes'][name] / rows:6.1%}" for name in PARTS]
    wanted = [name for name, size in manifest["sizes"].items() if size]
    thin = [name for name, counts in manifest["strata"].items() if not all(counts[part] for part in wanted)]
    if len(manifest["strata"]) > 1:
        named = f": {', '.join(thin[:8])}{', …' if len(thin) > 8 else ''}" if thin else ""
        lines.append(f"{len(manifest['strata'])} strata, {len(thin)} of them not in every part{named}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    return run_command(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    settings = SplitSettings(options.sft, options.grpo, options.seed, options.near)
    manifest, written = write_split(options.source, options.output, settings, overwrite=options.overwrite)
    print(report(manifest))
    print(f"{'written to' if written else 'already in'} {options.output}")
    return 0
