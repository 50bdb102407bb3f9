"""Does replaying good episodes help? ``python benchmarks/studies/replay_ablation.py``.

Trains the toy with and without the replay buffer, where most groups have no signal at first (few, small
groups), where most have, and with two turns.
"""

from __future__ import annotations

from typing import Any

from toy_runs import main

SMALL = {"groups": 2, "group_size": 4, "steps": 200}
LARGE = {"groups": 8, "group_size": 8, "steps": 60}
TURNS = {"groups": 4, "group_size": 4, "steps": 100, "env_kwargs": {"turns": 2}}


def replay(staleness: int) -> dict[str, Any]:
    """Return the settings of a replay of episodes up to so many steps old."""
    return {"algorithm": {"replay": {"ratio": 0.5, "capacity": 100, "staleness": staleness}}}


if __name__ == "__main__":
    variants = {}
    for name, settings in {"2 x 4": SMALL, "8 x 8": LARGE, "4 x 4, two turns": TURNS}.items():
        variants[name] = settings
        variants[f"{name}, replay 10 steps"] = {**settings, **replay(10)}
        variants[f"{name}, replay 3 steps"] = {**settings, **replay(3)}
    main(__doc__, variants)
