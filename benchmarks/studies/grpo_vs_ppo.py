"""GRPO, its batches made in other ways, and PPO on the toy: ``python benchmarks/studies/grpo_vs_ppo.py``.

All play equally many episodes a step, but for refill, which plays more.
"""

from __future__ import annotations

from toy_runs import main

ONE = {"groups": 8, "group_size": 8, "steps": 60}
TWO = {"groups": 8, "group_size": 8, "steps": 100, "env_kwargs": {"turns": 2}}

if __name__ == "__main__":
    variants = {}
    for name, settings in {"one turn": ONE, "two turns": TWO}.items():
        variants[f"{name}, grpo"] = settings
        variants[f"{name}, grpo, refill"] = {**settings, "algorithm": {"refill_episodes": 64}}
        variants[f"{name}, ppo"] = {**settings, "algorithm": {"type": "ppo", "value_lr": 0.01}}
    variants["two turns, grpo, credit by turn"] = {
        **TWO,
        "algorithm": {"credit": {"type": "turn", "gamma": 0.1}},
    }
    main(__doc__, variants)
