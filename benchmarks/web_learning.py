"""The README's result on web sites: ``python benchmarks/web_learning.py --runs FOLDER``.

SmolLM2-135M-Instruct learns to use web sites of levels 0 and 1: SFT once on what the oracle does on training
sites (`configs/web_browse_sft.yaml`), then GRPO once a seed (`configs/web_browse.yaml`), each by the command
that a person types. Before, between and after, it plays the same held-out levels (split ``test``), half of
them of each level of difficulty. What lies in ``--runs`` already is not done again. Intervals are 95 %:
Wilson's for a rate, Newcombe's for a paired difference (`pixelis.agents.paired`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from pixelis.agents.evaluate import play, wilson_interval
from pixelis.agents.paired import mcnemar_p, newcombe_interval
from pixelis.agents.policy import Policy
from pixelis.agents.run_folder import write_atomically
from pixelis.agents.sampling import SamplingSettings
from pixelis.agents.saved_run import newest_adapter
from pixelis.envs.web.browse import WebBrowseEnv

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
SFT = "runs/web-sft"
DIFFICULTIES, BATCH = (0, 1), 40
Rows = Sequence[Mapping[str, Any]]


def train(runs: Path, seeds: Sequence[int]) -> dict[str, Path | str]:
    """Do what training is not done yet; return name → model or adapter, in the order of the table."""
    runs.mkdir(parents=True, exist_ok=True)
    if not (runs / SFT / "adapter").is_dir():
        command(
            runs, "sft", "train_sft.py", "--config", str(CONFIGS / "web_browse_sft.yaml"), "--output", SFT
        )
    models: dict[str, Path | str] = {"base": "smollm2", "sft": runs / SFT / "adapter"}
    config = CONFIGS / "web_browse.yaml"
    last = yaml.safe_load(config.read_text(encoding="utf-8"))["steps"]
    for seed in seeds:
        name, folder = f"grpo seed {seed}", f"runs/web-seed{seed}"
        begun = (runs / folder / "config.yaml").is_file()
        if not begun or newest_adapter(runs / folder)[1] < last:
            new = ["--config", str(config), "--seed", str(seed), "--output", folder]
            command(runs, name, "train_agent.py", *(["--resume", folder] if begun else new))
        models[name] = newest_adapter(runs / folder)[0]
    return models


def command(runs: Path, name: str, script: str, *words: str) -> None:
    """Run one of the project's commands in the folder of the runs, timed."""
    places = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    print("$", " ".join([f"scripts/{script}", *words]), flush=True)
    full = [sys.executable, str(ROOT / "scripts" / script), *words]

    def work() -> None:
        subprocess.run(full, cwd=runs, check=True, env={**os.environ, "PYTHONPATH": places})

    timed(runs, name, work)


def timed(runs: Path, name: str, work: Callable[[], None]) -> None:
    """Do something; add its wall and CPU seconds, those of child processes included, to ``seconds.json``."""
    wall, cpu = time.perf_counter(), _cpu_seconds()
    work()
    path = runs / "seconds.json"
    seconds = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    before = seconds.get(name, {"wall": 0.0, "cpu": 0.0})
    passed = {"wall": time.perf_counter() - wall, "cpu": _cpu_seconds() - cpu}
    seconds[name] = {key: round(before[key] + value, 1) for key, value in passed.items()}
    write_atomically(path, json.dumps(seconds, indent=1) + "\n")


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usages)


def browse(name: str, model: Path | str, runs: Path, levels: int, mode: str) -> Rows:
    """Return how each held-out level ended; those that were played before come from disk."""
    path = runs / f"played-{name.replace(' ', '-')}-{mode}.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    if len(rows) < levels:
        config = yaml.safe_load((CONFIGS / "web_browse.yaml").read_text(encoding="utf-8"))
        policy = Policy.load(model, dtype=config["dtype"])
        for start in range(len(rows), levels, BATCH):
            print(f"{name}: {mode}, level {start} of {levels}", flush=True)
            seeds = range(start, min(start + BATCH, levels))
            timed(runs, f"{name}, {mode} play", partial(_browse, policy, config, seeds, mode, rows))
            write_atomically(path, json.dumps(rows, indent=1, ensure_ascii=False))
    return rows[:levels]


def _browse(
    policy: Policy, config: Mapping[str, Any], seeds: range, mode: str, rows: list[dict[str, Any]]
) -> None:
    """Play held-out levels, even seeds of difficulty 0 and odd ones of 1; add how they ended to the rows."""
    sampling = SamplingSettings(greedy=mode == "greedy", max_new_tokens=config["max_new_tokens"])
    for place, difficulty in enumerate(DIFFICULTIES):
        episodes, _ = play(
            policy,
            partial(WebBrowseEnv, **config["env_kwargs"]),
            [seed for seed in seeds if seed % len(DIFFICULTIES) == place],
            settings=sampling,
            options={"split": "test", "difficulty": difficulty},
        )
        for one in episodes:
            rows.append(
                {
                    "difficulty": difficulty,
                    "seed": one.seed,
                    "family": one.info["task"]["id"].split("-")[1],
                    "valid": one.valid_for_training,
                    "success": bool(one.success),
                    "reward": one.reward,
                    "turns": one.turns,
                    "said": [each.text for each in one.segments if each.sampled] if one.seed < 8 else None,
                }
            )


def rates(rows: Rows) -> dict[str, list[float]]:
    """Return ``all``, each difficulty and each family → solved, of, Wilson's interval."""
    keys: dict[str, Callable[[Mapping[str, Any]], bool]] = {"all": lambda row: True}
    keys |= {f"difficulty {d}": lambda row, d=d: row["difficulty"] == d for d in DIFFICULTIES}
    families = sorted({row["family"] for row in rows})
    keys |= {family: lambda row, family=family: row["family"] == family for family in families}
    found = {}
    for key, belongs in keys.items():
        chosen = [row["success"] for row in rows if row["valid"] and belongs(row)]
        found[key] = [sum(chosen), len(chosen), *wilson_interval(sum(chosen), len(chosen))]
    return found


def gain(before: Rows, after: Rows) -> dict[str, Any]:
    """Return the paired difference of two models' success, its interval and the exact test."""
    pairs = [(x["success"], y["success"]) for x, y in zip(before, after, strict=True)]
    one, other = pairs.count((True, False)), pairs.count((False, True))
    interval = newcombe_interval(pairs.count((True, True)), one, other, pairs.count((False, False)))
    return {"difference": (other - one) / len(pairs), "interval": interval, "p": mcnemar_p(one, other)}


def table(measured: Mapping[str, Mapping[str, Any]], gains: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the docs, a row a model."""
    columns = list(next(iter(measured.values())))
    lines = ["| " + " | ".join(["model", *columns, "minus base", "minus sft"]) + " |"]
    lines.append("|---" * (len(columns) + 3) + "|")
    for name, found in measured.items():
        k, n, low, high = found["all"]
        cells = [f"{k / n:.3f} ({low:.3f}–{high:.3f})"]
        cells += [f"{found[key][0]}/{found[key][1]}" if key in found else "–" for key in columns[1:]]
        for other in ("base", "sft"):
            one = gains.get(f"{name} minus {other}")
            ends = (
                "–"
                if one is None
                else "{:+.3f} ({:+.3f} to {:+.3f})".format(one["difference"], *one["interval"])
            )
            cells.append(ends)
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Train, play, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, required=True, help="folder of runs and played levels")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--levels", type=int, default=200, help="held-out, half of each difficulty")
    parser.add_argument("--modes", nargs="*", default=["greedy"], choices=["greedy", "sampled"])
    parser.add_argument("--json", type=Path, help="file for the numbers")
    options = parser.parse_args()
    models = train(options.runs, options.seeds)
    result: dict[str, Any] = {"command": "python benchmarks/web_learning.py", "levels": options.levels}
    for mode in options.modes:
        rows = {
            name: browse(name, model, options.runs, options.levels, mode) for name, model in models.items()
        }
        measured = {name: rates(each) for name, each in rows.items()}
        gains = {
            f"{name} minus {other}": gain(rows[other], rows[name])
            for other in ("base", "sft")
            for name in list(rows)[list(rows).index(other) + 1 :]
        }
        print(f"{mode}\n{table(measured, gains)}", flush=True)
        result[mode] = {"models": measured, "gains": gains}
    seconds = options.runs / "seconds.json"
    result["seconds"] = json.loads(seconds.read_text(encoding="utf-8")) if seconds.is_file() else {}
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
