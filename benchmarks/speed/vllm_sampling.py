"""How fast and how near vLLM samples: ``python benchmarks/speed/vllm_sampling.py [--model smollm2]``.

Groups of eight episodes of one turn of CodeProblem, sampled by the model in this process and by a vLLM server
that is started for it, alternately, with an adapter that does something; one thread each. Printed for each
number of rows: median tokens a second with the range, and how far the log-probabilities of what was sampled
are from those that the trainer computes of the same tokens (mean and 99th percentile, nats).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "learning"))

from result_tables import markdown_table  # noqa: E402  # pyright: ignore[reportMissingImports]

from pixelis.agents.episodes.episode import Episode  # noqa: E402
from pixelis.agents.episodes.task_env import TaskEnv  # noqa: E402
from pixelis.agents.models.lora import LoraSettings  # noqa: E402
from pixelis.agents.models.policy import Policy  # noqa: E402
from pixelis.agents.rollout.collector import Collector, EpisodeRequest  # noqa: E402
from pixelis.agents.rollout.engine import Engine, InProcess  # noqa: E402
from pixelis.agents.rollout.sampling import SamplingSettings  # noqa: E402
from pixelis.agents.rollout.vllm.engine import VllmEngine  # noqa: E402
from pixelis.agents.settings.sampler import Vllm  # noqa: E402

HEAD = ("rows", "by", "tokens a second", "apart, mean", "apart, 99 %")
GROUP = 8


def adapted(model: str, dtype: str) -> Policy:
    """Return the model with an adapter that is not zero."""
    torch.manual_seed(0)
    policy = Policy.load(model, device="cpu", dtype=dtype, lora=LoraSettings(rank=16))
    with torch.no_grad():
        for name, each in policy.model.named_parameters():
            if "lora_B" in name:
                each.normal_(std=0.01)
    return policy


def rollout(policy: Policy, engine: Engine, rows: int, tokens: int, seed: int) -> tuple[float, list[Episode]]:
    """Return tokens a second of the generation, and the episodes."""
    env = TaskEnv.open("Pixelis/CodeProblem-v0", {"max_turns": 1}, {"difficulty": 1})
    requests = [EpisodeRequest(seed + row // GROUP, row // GROUP, row % GROUP) for row in range(rows)]
    collector = Collector(env.make, engine=engine, env_threads=1)
    episodes = collector.collect(policy, requests, SamplingSettings(max_new_tokens=tokens), seed)
    return collector.stats.generated_tokens / collector.stats.generation_seconds, episodes


@torch.no_grad()
def apart(policy: Policy, episodes: list[Episode]) -> np.ndarray:
    """Return the distances of log-probabilities from the trainer's, of every sampled token."""
    found = []
    for start in range(0, len(episodes), GROUP):
        part = episodes[start : start + GROUP]
        own = policy.logprobs(part).logprobs
        for row, each in enumerate(part):
            found.append(np.abs(each.logprobs - own[row, : len(each)].float().numpy())[each.loss_mask])
    return np.concatenate(found)


def main() -> None:
    """Sample, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--rows", type=int, nargs="+", default=[8, 48, 192])
    parser.add_argument("--tokens", type=int, default=96, help="most of a turn")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    policy = adapted(given.model, given.dtype)
    table = []
    with tempfile.TemporaryDirectory() as folder:
        by: dict[str, Engine] = {
            "this process": InProcess(),
            "vLLM": VllmEngine(Vllm(), Path(folder) / "vllm.log"),
        }
        try:
            started = time.perf_counter()
            for engine in by.values():
                rollout(policy, engine, GROUP, 8, 1)  # what is paid once
            print(f"{policy.base.dtype}; ready after {time.perf_counter() - started:.0f} s", flush=True)
            for rows in given.rows:
                speeds: dict[str, list[float]] = {name: [] for name in by}
                distances: dict[str, np.ndarray] = {}
                for repeat in range(given.repeats):
                    for name, engine in by.items():
                        speed, episodes = rollout(policy, engine, rows, given.tokens, 10 + repeat)
                        speeds[name].append(speed)
                        distances[name] = apart(policy, episodes)
                for name, found in speeds.items():
                    told = f"{statistics.median(found):.0f} ({min(found):.0f}–{max(found):.0f})"
                    far = distances[name]
                    numbers = [f"{far.mean():.2g}", f"{np.quantile(far, 0.99):.2g}"]
                    table.append([str(rows), name, told, *numbers])
                print(markdown_table(HEAD, table[-len(by) :]), flush=True)
        finally:
            for engine in by.values():
                engine.close()
    print(markdown_table(HEAD, table))


if __name__ == "__main__":
    main()
