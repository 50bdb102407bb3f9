"""What does off-policy correction do for learning? ``python benchmarks/studies/correction_ablation.py``.

Trains the toy with and without truncated weights: in bfloat16 with GSPO's narrow clip, with a nucleus, and
with old episodes replayed.
"""

from __future__ import annotations

from toy_runs import main

from pixelis.agents.settings.plain import merged

COMMON = {"groups": 8, "group_size": 8, "steps": 60}
GSPO = {
    "loss": {
        "ratio": "sequence",
        "surrogate": {"epsilon_low": 3e-4, "epsilon_high": 4e-4},
        "aggregation": "sequence_mean",
    }
}
GAPS = {
    "GSPO in bfloat16": {**GSPO, "dtype": "bfloat16"},
    "clip in bfloat16": {"dtype": "bfloat16"},
    "top_p 0.8": {"top_p": 0.8},
    "top_p 0.5": {"top_p": 0.5},
    "replay, up to 30 steps": {"algorithm": {"replay": {"ratio": 1.0, "staleness": 30}}},
}

if __name__ == "__main__":
    variants = {"GSPO in float32": {**COMMON, **GSPO}}
    for name, settings in GAPS.items():
        for correction in ("none", "truncate"):
            variants[f"{name}, {correction}"] = merged(
                {**COMMON, **settings}, {"loss": {"correction": correction}}
            )
    main(__doc__, variants)
