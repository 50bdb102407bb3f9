"""Time a GRPO step of Pixelis next to TRL's, on the same random model, in one process tree.

Usage: python benchmarks/speed/grpo_speed.py --trl-python /tmp/trl/bin/python [--threads 1] [--steps 7]

TRL lives in an environment of its own (nothing in Pixelis imports it)::

    python -m venv /tmp/trl && /tmp/trl/bin/pip install torch==2.13.0 trl==1.16.0 peft==0.21.2

Each contender is a process that takes one step when told to; they take turns, so that both see the same
machine. A step is a whole one: sampling G = 8 completions of 64 tokens for each of 4 prompts of 64 tokens,
scoring them (share of even tokens or digits), and the update of a rank-8 adapter. ``--size``, ``--prompt``
and ``--completion`` change that. Long prompts, of which Pixelis trains on 2,048 tokens a group, not 9,216::

    python benchmarks/speed/grpo_speed.py --groups 2 --prompt 1024 --completion 128 --steps 3

TRL trains on the whole step at once, with gradient checkpointing (its default); Pixelis on 8 episodes at a
time (its default); neither changes the gradient. Printed: median CPU and wall seconds with their range, and
peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SIZES = {  # hidden, layers, heads, intermediate, vocabulary
    "tiny": (256, 6, 4, 688, 1024),
    "mid": (512, 12, 8, 1536, 8192),
    "0.5b": (896, 24, 14, 4864, 151936),
}
CONTENDERS = ("trl", "trl-bf16", "pixelis", "pixelis-bf16")
WARM_UP = 2


def build_model(folder: Path, size: str, context: int) -> None:
    """Write a random Qwen2 as an ordinary folder; its tokenizer takes a byte for a token."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    hidden, layers, heads, intermediate, vocabulary = SIZES[size]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<pad>", "<eos>", *letters, *(f"w{i}" for i in range(vocabulary - 2 - len(letters)))]
    raw = Tokenizer(models.BPE(vocab={word: index for index, word in enumerate(words)}, merges=[]))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    raw.pre_tokenizer = level  # pyright: ignore[reportAttributeAccessIssue]
    raw.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )
    tokenizer.chat_template = (
        "{% for message in messages %}{{ message['content'] }}"
        "{% if message['role'] == 'assistant' %}<eos>{% endif %}{% endfor %}"
    )
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=2 if size == "0.5b" else heads,
        max_position_embeddings=context,
        tie_word_embeddings=size == "0.5b",  # then it is Qwen2-0.5B but for its tokenizer
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def prompt_of(seed: int, length: int) -> str:
    """Return random letters, the same for the same seed."""
    draw = random.Random(seed)
    return "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(length))


# ---------------------------------------------------------------------- contenders


def trl_steps(arguments: argparse.Namespace, dtype: str) -> Iterator[None]:
    """Train with TRL; yields after each optimiser step."""
    import queue
    import threading

    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportPrivateImportUsage]

    total = arguments.steps + WARM_UP + 1
    rows = arguments.groups * arguments.members
    go: queue.Queue[bool] = queue.Queue()
    done: queue.Queue[bool] = queue.Queue()

    class Gate(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            go.get()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            done.put(True)

    def reward(completions: Any, completion_ids: list[list[int]], **_: Any) -> list[float]:
        return [sum(token % 2 == 0 for token in ids) / max(1, len(ids)) for ids in completion_ids]

    prompts = [prompt_of(seed, arguments.prompt) for seed in range(arguments.groups * total)]
    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        use_cpu=True,
        bf16=dtype == "bfloat16",
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        max_steps=total,
        per_device_train_batch_size=rows,
        num_generations=arguments.members,
        max_completion_length=arguments.completion,
        beta=0.0,
        gradient_checkpointing=not arguments.no_checkpointing,
        learning_rate=1e-4,
        dataloader_pin_memory=False,
    )
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(arguments.model, dtype=dtype),
        reward_funcs=reward,  # type: ignore[arg-type]  # it takes fewer keywords than TRL offers
        args=config,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=AutoTokenizer.from_pretrained(arguments.model),
        peft_config=LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM"),
        callbacks=[Gate()],
    )
    threading.Thread(target=trainer.train, daemon=True).start()
    while True:
        go.put(True)
        done.get()
        yield


def pixelis_steps(arguments: argparse.Namespace, dtype: str) -> Iterator[Any]:
    """Train with Pixelis; yields each step's metrics."""
    import gymnasium as gym

    from pixelis.agents.rl.run import TrainingRun
    from pixelis.agents.settings.rl import TrainConfig
    from pixelis.envs.spaces import Utf8Text

    class Words(gym.Env[Any, Any]):
        observation_space = gym.spaces.Dict({"text": Utf8Text(2**16)})
        action_space = Utf8Text(2**16)

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            return {"text": prompt_of(seed or 0, arguments.prompt)}, {"view_changed": False}

        def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            even = sum(character in "02468" for character in action)
            return {"text": ""}, even / max(1, len(action)), True, False, {}

    def make_words(**_: Any) -> gym.Env[Any, Any]:
        return Words()

    gym.register("Bench/Words-v0", entry_point=make_words)  # pyright: ignore[reportArgumentType]
    config = TrainConfig.from_mapping(
        {
            "env": "Bench/Words-v0",
            "model": arguments.model,
            "dtype": dtype,
            "lora": {"rank": 8, "alpha": 16},
            "groups": arguments.groups,
            "group_size": arguments.members,
            "max_new_tokens": arguments.completion,
            "micro_batch_size": arguments.rows,
            "gradient_checkpointing": arguments.checkpointing,
            "beta": 0.0,
            "lr": 1e-4,
            "eval_episodes": 0,
            "output": tempfile.mkdtemp() + "/run",
        }
    )
    with TrainingRun.start(config) as run:
        while True:
            yield run.trainer.timed_step()


def serve(arguments: argparse.Namespace) -> None:
    """Take a step for each line on stdin and answer with what it cost."""
    import torch

    torch.set_num_threads(arguments.threads)
    name, _, half = arguments.worker.partition("-")
    steps: Callable[..., Iterator[Any]] = trl_steps if name == "trl" else pixelis_steps
    out, sys.stdout = sys.stdout, sys.stderr  # libraries print too
    taken = steps(arguments, "bfloat16" if half else "float32")
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        next(taken)
        cost = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        cost["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(cost), file=out, flush=True)


# ---------------------------------------------------------------------- comparison


def measure(arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Let the contenders take turns; return the cost of their steps."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments.threads)}
    workers = {}
    for name in arguments.contenders:
        python = arguments.trl_python if name.startswith("trl") else sys.executable
        words = [python, __file__, *sys.argv[1:], "--worker", name, "--model", str(arguments.model)]
        workers[name] = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if arguments.verbose else subprocess.DEVNULL,
            text=True,
            env=environment,
        )
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in workers}
    try:
        for _ in range(WARM_UP + arguments.steps):
            for name, worker in workers.items():
                costs[name].append(one_step(name, worker))
    finally:
        for worker in workers.values():
            worker.kill()
            worker.wait()
    return {name: rows[WARM_UP:] for name, rows in costs.items()}


def one_step(name: str, worker: subprocess.Popen[str]) -> dict[str, float]:
    """Let a contender take a step; return what it cost."""
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write("step\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        raise SystemExit(f"{name} stopped; --verbose shows why")
    return json.loads(answer)


def table(costs: dict[str, list[dict[str, float]]]) -> str:
    """Return medians with their range, and how many times faster than TRL in float32."""
    lines = ["| | CPU s a step | range | wall s | range | peak MiB | TRL fp32 CPU ÷ this | memory ÷ TRL |"]
    lines.append("|---" * 8 + "|")
    base = costs.get("trl")
    for name, rows in costs.items():
        cpu, wall = ([row[key] for row in rows] for key in ("cpu", "wall"))
        peak = max(row["peak_mib"] for row in rows)
        ratios = ["", ""]
        if base:
            ratios[0] = f"{statistics.median(row['cpu'] for row in base) / statistics.median(cpu):.2f}"
            ratios[1] = f"{peak / max(row['peak_mib'] for row in base):.2f}"
        spreads = [f"{min(times):.2f}–{max(times):.2f}" for times in (cpu, wall)]
        cells = [f"{statistics.median(cpu):.2f}", spreads[0], f"{statistics.median(wall):.2f}", spreads[1]]
        lines.append("| " + " | ".join([name, *cells, f"{peak:.0f}", *ratios]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Time a GRPO step next to TRL's.")
    parser.add_argument("--trl-python", default="/tmp/trl/bin/python")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=64, help="tokens of a prompt")
    parser.add_argument("--completion", type=int, default=64, help="tokens of a completion")
    parser.add_argument("--rows", type=int, default=8, help="Pixelis: episodes a pass; 8 is its default")
    parser.add_argument("--no-checkpointing", action="store_true", help="turn TRL's default off")
    parser.add_argument("--checkpointing", action="store_true", help="Pixelis: checkpoint gradients too")
    parser.add_argument("--verbose", action="store_true", help="show what the contenders print")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    parser.add_argument("--worker", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return serve(arguments)
    with tempfile.TemporaryDirectory() as folder:
        arguments.model = folder
        build_model(Path(folder), arguments.size, arguments.prompt + arguments.completion + 8)
        costs = measure(arguments)
    print(
        f"{arguments.size}, {arguments.groups} × {arguments.members} episodes of {arguments.prompt}"
        f" + {arguments.completion} tokens, {arguments.threads} thread(s), {arguments.steps} steps each"
    )
    print(table(costs))
    if arguments.output:
        arguments.output.write_text(json.dumps(costs, indent=1) + "\n")


if __name__ == "__main__":
    main()
