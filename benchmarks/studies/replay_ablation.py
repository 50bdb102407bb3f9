"""Does replaying good episodes help? ``python benchmarks/studies/replay_ablation.py``.

Trains the toy with and without the replay buffer, where most groups have no signal at first (few, small
groups), where most have, and with two turns.
"""

from __future__ import annotations

from toy_runs import main

SMALL = {"groups": 2, "group_size": 4, "steps": 200}
LARGE = {"groups": 8, "group_size": 8, "steps": 60}
TURNS = {"groups": 4, "group_size": 4, "steps": 100, "env_kwargs": {"turns": 2}}
REPLAY = {"replay_ratio": 0.5, "replay_capacity": 100}

if __name__ == "__main__":
    variants = {}
    for name, settings in {"2 x 4": SMALL, "8 x 8": LARGE, "4 x 4, two turns": TURNS}.items():
        variants[name] = settings
        variants[f"{name}, replay 10 steps"] = {**settings, **REPLAY, "replay_staleness": 10}
        variants[f"{name}, replay 3 steps"] = {**settings, **REPLAY, "replay_staleness": 3}
    main(__doc__, variants)
