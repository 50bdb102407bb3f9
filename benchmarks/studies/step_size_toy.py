"""Fixed learning rates beside ``lr: auto`` on the toy: ``python benchmarks/studies/step_size_toy.py``.

A fixed rate is one that is measured and may not move. ``left out``: an update that went too far is not done
again smaller. ``only steered``: it is not taken back at all.
"""

from __future__ import annotations

from toy_runs import main

ONE = {"groups": 8, "group_size": 8, "steps": 60, "lr": "auto"}
WAYS = {
    "fixed": {"lowest": 1.0, "highest": 1.0, "take_back": None},
    "auto": {},
    "auto, target 0.01": {"target": 0.01},
    "auto, left out": {"retries": 0},
    "auto, only steered": {"take_back": None},
}

if __name__ == "__main__":
    main(
        __doc__,
        {
            f"{way}, from {start:g}": {**ONE, "step_size": {"start": start, **changes}}
            for way, changes in WAYS.items()
            for start in (0.0003, 0.003, 0.03)
        },
    )
