"""Files of rows for SkyRL's trainer, and an episode of the first row as that trainer would play it.

    python examples/skyrl_rows.py --env Pixelis/WebBrowse-v0 --env-kwargs '{"difficulty": 0}' --output rows

It needs ``pip install 'pixelis[skyrl]' datasets``. The trainer needs GPUs: give it the two files
(``data.train_data``, ``data.val_data``), and call ``pixelis.adapters.skyrl.register()`` in its entry point.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import skyrl_gym
from datasets import Dataset, disable_progress_bars
from pyarrow.parquet import read_table

from pixelis.adapters.skyrl import register, skyrl_rows


def play(row: Mapping[str, Any], turn: str) -> Mapping[str, Any]:
    """Say ``turn`` until the episode is over; return its metrics and what it paid in all."""
    extras = {name: value for name, value in row.items() if name not in ("prompt", "env_class")}
    env = skyrl_gym.make(row["env_class"], env_config=None, extras=extras)
    env.init(row["prompt"])
    paid, done = 0.0, False
    while not done:
        output = env.step(turn)
        paid, done = paid + output["reward"], output["done"]
    found = {"reward": paid, **env.get_metrics()}
    env.close()
    return found


def main() -> None:
    """Write the files, and play one row of them."""
    parser = argparse.ArgumentParser(description="Write rows of an environment for SkyRL.")
    parser.add_argument("--env", default="Pixelis/WebBrowse-v0", help="a Gymnasium id")
    parser.add_argument("--env-kwargs", type=json.loads, default={}, help="JSON, for gymnasium.make")
    parser.add_argument("--rows", type=int, default=1000, help="to train on; a tenth as many held out")
    parser.add_argument("--output", type=Path, default=Path("rows"), help="a folder")
    parser.add_argument("--turn", default="<answer>I do not know</answer>", help="said in the episode")
    args = parser.parse_args()
    disable_progress_bars()
    for split, name, count in (
        ("train", "train", args.rows),
        ("test", "validation", max(1, args.rows // 10)),
    ):
        rows = Dataset.from_list(skyrl_rows(args.env, range(count), args.env_kwargs, {"split": split}))
        rows.to_parquet(args.output / f"{name}.parquet")
    register()
    (row,) = read_table(args.output / "validation.parquet").slice(0, 1).to_pylist()
    print(f"{args.turn!r} over and over: {dict(play(row, args.turn))}")


if __name__ == "__main__":
    main()
