"""Learning beside TRL: ``python benchmarks/learning/beside_trl.py --runs FOLDER --trl-python PYTHON``.

The same small text model, the same single-turn environment (CodeProblem, one turn), the same 64 episodes a
step, one thread: TRL's ``GRPOTrainer`` and ours, each by its own defaults and both with equal settings
(adapter of rank 16 on all linear layers, a fixed learning rate from the first step on, no KL penalty; the
loss, the advantages and the clipping are the same by default). Success of the training episodes by minutes
and by episodes, and on held-out tasks afterwards. Killed, the same command goes on with the next run (TRL's
own begins again).

TRL is no dependency of Pixelis; it wants an environment of its own that has both::

    python -m venv /tmp/trl && /tmp/trl/bin/pip install torch==2.13.0
    /tmp/trl/bin/pip install -c constraints.txt trl==1.16.0 -e .
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from learning_runs import STEPS, LearningRuns, arguments, is_whole, steps_to, write_result
from result_tables import interval_cell, markdown_table

from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.files import write_atomically

TRL = "1.16.0"
MODEL, ENV, DIFFICULTY = "pixelis-mini", "Pixelis/CodeProblem-v0", 1
ENV_KWARGS: dict[str, Any] = {"max_turns": 1}
GROUPS, MEMBERS, LENGTH = 8, 8, 128
EQUAL_RATE = 5e-4
"""Near to where ours begins on this model by itself, and to what TRL's documentation advises for adapters."""
LEVELS = (0.8, 0.88)
"""Of success in training, for the table's column of episodes."""
ARMS = ("ours", "ours, equal settings", "TRL", "TRL, equal settings")
OURS: Mapping[str, Sequence[str]] = {
    "ours": (),
    "ours, equal settings": f"--lr {EQUAL_RATE} --warmup-steps 0 --beta 0 --lora.targets all-linear".split(),
}
COMMAND = "python benchmarks/learning/beside_trl.py --runs FOLDER --trl-python PYTHON"


# ---------------------------------------------------------------------- TRL's side, in its own environment


def train_with_trl(folder: Path, seed: int, minutes: float, equal: bool) -> None:
    """Train with TRL for so long; leave the model and ``curve.json`` in the folder."""
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportPrivateImportUsage]

    from pixelis.agents.models.loading import find_folder

    source = str(find_folder(MODEL))
    env, options = make_env(), {"difficulty": DIFFICULTY, "split": "train"}
    first = seed * 1_000_000
    seeds = range(first, first + 4000)
    texts = [env.reset(seed=one, options=options)[0]["text"] for one in seeds]
    rows: list[dict[str, float]] = []
    succeeded: list[bool] = []
    began = spent = 0.0

    def reward(completions: Any, seed: list[int], **_: Any) -> list[float]:
        paid = []
        succeeded.clear()
        for (message,), task in zip(completions, seed, strict=True):
            env.reset(seed=task, options=options)
            stepped = env.step(message["content"])
            paid.append(float(stepped[1]))
            succeeded.append(bool(stepped[-1].get("success")))
        return paid

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            nonlocal began
            began = time.perf_counter()

        def on_step_end(self, args: Any, state: Any, control: Any, **__: Any) -> None:
            nonlocal spent
            spent += time.perf_counter() - began
            control.should_training_stop = spent > 60 * minutes

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **__: Any) -> None:
            if "reward" in logs:
                success = sum(succeeded) / len(succeeded)
                rows.append({"minutes": spent / 60, "success": success, "entropy": logs["entropy"]})

    rates = {"learning_rate": EQUAL_RATE, "lr_scheduler_type": "constant"} if equal else {}
    config = GRPOConfig(
        output_dir=str(folder / "trl"),
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=1,
        max_steps=1000,
        per_device_train_batch_size=GROUPS * MEMBERS,
        num_generations=MEMBERS,
        max_completion_length=LENGTH,
        dataloader_pin_memory=False,
        seed=seed,
        **rates,
    )
    lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32),
        reward_funcs=reward,  # type: ignore[arg-type]  # it takes fewer keywords than TRL offers
        args=config,
        train_dataset=Dataset.from_dict(
            {"prompt": [[{"role": "user", "content": text}] for text in texts], "seed": list(seeds)}
        ),
        processing_class=AutoTokenizer.from_pretrained(source),
        peft_config=lora if equal else None,
        callbacks=[Clock()],
    )
    trainer.train()
    trainer.save_model(str(folder / "model"))
    write_atomically(folder / "curve.json", json.dumps(rows))


def make_env() -> Any:
    """Return the environment that is trained in."""
    import gymnasium as gym

    return gym.make(ENV, **ENV_KWARGS)


def check_trl(python: Path | None) -> None:
    """Check that there is an interpreter with the TRL that the numbers are of.

    Raises:
        SystemExit: there is none, or it has another version.
    """
    how = f"give --trl-python one that has pixelis and trl=={TRL} (see the head of {Path(__file__).name})"
    if python is None or not python.is_file():
        raise SystemExit(f"expected an interpreter with TRL, got {python}; {how}, or leave its arms out")
    asked = subprocess.run(
        [str(python), "-c", "import importlib.metadata as m; print(m.version('trl'))"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    version = asked.stdout.strip()
    if version != TRL:
        raise SystemExit(f"expected TRL {TRL}, got {version or 'none'} in {python}; {how}")


# ---------------------------------------------------------------------- both


def learn(runs: LearningRuns, arm: str, seed: int, minutes: float, python: Path | None) -> Path:
    """Train an arm with a seed, unless that was done; return the folder of what plays."""
    name = f"runs/{arm.replace(', ', '-').replace(' ', '-')}-seed{seed}"
    folder = runs.path / name
    if arm in OURS:
        if not is_whole(folder) and not (folder / "done").is_file():
            new = ["--env", ENV, "--env-kwargs", json.dumps(ENV_KWARGS), "--model", MODEL]
            new += ["--difficulty", str(DIFFICULTY), "--groups", str(GROUPS), "--group-size", str(MEMBERS)]
            new += ["--max-new-tokens", str(LENGTH), "--seed", str(seed), "--minutes", str(minutes)]
            new += ["--steps", "1000", "--eval-episodes", "0", "--output", name, *OURS[arm]]
            begun = list_checkpoints(RunFolder(folder).checkpoints)
            runs.command(f"{arm} {seed}", "train_agent.py", *(["--resume", name] if begun else new))
            (folder / "done").touch()
        return folder
    if not (folder / "curve.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["--train-with-trl", str(folder.resolve()), "--seeds", str(seed), "--minutes", str(minutes)]
        equal = ["--equal"] if "equal" in arm else []
        with runs.timed(f"{arm} {seed}"):
            subprocess.run([str(python), __file__, *words, *equal, "--runs", str(runs.path)], check=True)
    return folder


def curve(folder: Path) -> list[dict[str, float]]:
    """Return a run's success by minutes of training, the time outside of steps left out."""
    if (folder / "curve.json").is_file():
        return json.loads((folder / "curve.json").read_text("utf-8"))
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [
        {
            "minutes": row["time/elapsed"] / 60,
            "success": row["success/rate"],
            "entropy": row["policy/entropy"],
        }
        for row in rows
    ]


def held_out(runs: LearningRuns, player: str, name: str, episodes: int) -> dict[str, Any]:
    """Return what a model reaches on held-out tasks: ``greedy`` and ``sampled``."""
    path = runs.path / f"held-out-{name}.json"
    if not path.is_file():
        words = ["--env", ENV, "--env-kwargs", json.dumps(ENV_KWARGS), "--difficulty", str(DIFFICULTY)]
        words += ["--max-new-tokens", str(LENGTH), "--episodes", str(episodes)]
        runs.command(
            f"held out {name}", "evaluate_agent.py", *words, "--agent", player, "--output", path.name
        )
    rows = json.loads(path.read_text("utf-8"))["rows"]
    return {row["mode"]: {"success": row["success_rate"], "interval": row["interval"]} for row in rows}


def best(success: Sequence[float]) -> float:
    """Return the highest mean of `STEPS` steps' success, of all where there are fewer."""
    ends = range(min(STEPS, len(success)), len(success) + 1)
    return max(statistics.fmean(success[max(0, end - STEPS) : end]) for end in ends)


def table(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: a row for each arm and seed, and the start."""
    head = ["trainer", "seed", "steps", "seconds a step", "minutes to its TRL's best"]
    head += [f"episodes to {' and '.join(map(str, LEVELS))}", "held out, sampled", "held out, greedy"]
    rows = [["before", *[""] * 5, *(_cell(result["start"][mode]) for mode in ("sampled", "greedy"))]]
    for arm, seeds in result["arms"].items():
        for seed, run in sorted(seeds.items()):
            curve = run["curve"]
            theirs = result["arms"].get(arm.replace("ours", "TRL"), {}).get(seed)
            success = _success(run)
            took = None if theirs is None else steps_to(success, best(_success(theirs)))
            minutes = "never" if took is None else f"{curve[took - 1]['minutes']:.1f}"
            step = 60 * curve[-1]["minutes"] / len(curve)
            cells = [arm, seed, str(len(curve)), f"{step:.1f}", "" if theirs is None else minutes]
            cells.append(", ".join(_episodes(steps_to(success, level)) for level in LEVELS))
            rows.append([*cells, *(_cell(run["held_out"][mode]) for mode in ("sampled", "greedy"))])
    return markdown_table(head, rows)


def _success(run: Mapping[str, Any]) -> list[float]:
    return [row["success"] for row in run["curve"]]


def _episodes(steps: int | None) -> str:
    return "never" if steps is None else f"{steps * GROUPS * MEMBERS:,}"


def _cell(found: Mapping[str, Any]) -> str:
    return interval_cell(found["success"], *found["interval"])


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success by minutes and by episodes, a thin line for each seed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for index, (arm, seeds) in enumerate(result["arms"].items()):
        for number, run in enumerate(seeds.values()):
            success = _success(run)
            smooth = [sum(success[max(0, end - 5) : end]) / min(end, 5) for end in range(1, len(success) + 1)]
            label = None if number else arm
            minutes = [row["minutes"] for row in run["curve"]]
            episodes = [GROUPS * MEMBERS * (step + 1) for step in range(len(success))]
            for panel, places in zip(panels, (minutes, episodes), strict=True):
                panel.plot(places, smooth, color=f"C{index}", label=label, linewidth=1.2)
    for panel, name in zip(panels, ("minutes of training, one thread", "episodes"), strict=True):
        panel.set_xlabel(name)
        panel.set_ylim(0, 1)
    panels[0].set_ylabel("success of the training episodes")
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Train and evaluate what is not done yet, then write table, numbers and figure."""
    parser = arguments(__doc__, "what was measured")
    parser.add_argument("--trl-python", type=Path, help="an interpreter that has TRL and pixelis")
    parser.add_argument("--arms", nargs="*", default=list(ARMS), choices=ARMS)
    parser.add_argument("--minutes", type=float, default=10.0, help="of training each")
    parser.add_argument("--episodes", type=int, default=200, help="of an evaluation")
    parser.add_argument("--figure", type=Path, help="file for the picture")
    parser.add_argument("--train-with-trl", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--equal", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train_with_trl is not None:
        train_with_trl(args.train_with_trl, args.seeds[0], args.minutes, args.equal)
        return
    if any(arm not in OURS for arm in args.arms):
        check_trl(args.trl_python)
    runs = LearningRuns(args.runs)
    kept = json.loads(args.json.read_text("utf-8")) if args.json and args.json.is_file() else {"arms": {}}
    found = {"command": COMMAND, "trl": TRL, **kept}
    if found["trl"] != TRL:
        raise SystemExit(
            f"{args.json} has runs of TRL {found['trl']}, this would add some of {TRL}; name another --json"
        )
    found["start"] = held_out(runs, MODEL, "start", args.episodes)
    for seed in args.seeds:
        for arm in args.arms:
            folder = learn(runs, arm, seed, args.minutes, args.trl_python)
            player = folder if arm in OURS else folder / "model"
            held = held_out(runs, str(player.relative_to(runs.path)), folder.name, args.episodes)
            run = {"minutes": args.minutes, "curve": curve(folder), "held_out": held}
            found["arms"].setdefault(arm, {})[str(seed)] = run
            write_result(args.json, found)
    print(table(found))
    if args.figure:
        draw(found, args.figure)


if __name__ == "__main__":
    main()
