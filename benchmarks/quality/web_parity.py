"""Do both backends answer the same scripts alike? Text, reward, end and error codes of each step count.

    python benchmarks/quality/web_parity.py [--scripts 500] [--first 0]

prints the scripts that differ, and how many of how many are equal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pixelis.envs.web.browse.env import WebBrowseEnv

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "envs" / "web"))
from parity_scripts import MAX_ACTIONS, parity_scripts, replay


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return 1 if a script differs."""
    parser = argparse.ArgumentParser(description="Compare the in-process and the real browser.")
    parser.add_argument("--scripts", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(arguments)
    env = WebBrowseEnv(max_turns=MAX_ACTIONS, backend="chromium")
    equal = steps = 0
    for script in parity_scripts(options.scripts, first=options.first):
        played = replay(env, script.seed, script.options, script.turns)
        same = played == script.transcript
        equal, steps = equal + same, steps + len(played) - 1
        if not same:
            pairs = enumerate(zip(played, script.transcript, strict=False))
            at = next((number for number, (one, other) in pairs if one != other), -1)
            print(
                f"{script.name} differs at step {at}: {script.turns[at - 1] if at else 'reset'}", flush=True
            )
    env.close()
    print(f"{equal} of {options.scripts} scripts equal, {steps} steps")
    return int(equal < options.scripts)


if __name__ == "__main__":
    sys.exit(main())
