"""stable-baselines3 on a Pixelis environment: turns as numbers, pictures as arrays, an ordinary PPO.

    pip install "pixelis[sb3,ocr]"
    python examples/sb3_ppo.py                  # ten minutes on two cores
    python examples/sb3_ppo.py --timesteps 256  # a quick look

`pixelis train --agent sb3-ppo` does the same with run folders, resume and evaluation (docs/guide/sb3.md).
"""

from __future__ import annotations

import argparse

import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

import pixelis  # noqa: F401  # registers the environments
from pixelis.wrappers import DiscreteToolActions


def make_env(split: str) -> gym.Env:
    """Return SizeCompare with a coarse grid of places to point at; what is observed are arrays."""
    env = gym.make("Pixelis/SizeCompare-v0", difficulty=0, reader="truth", split=split)
    return DiscreteToolActions(env, grid=8)


def main() -> None:
    """Read the flags, train, evaluate on held-out tasks."""
    parser = argparse.ArgumentParser(description="PPO of stable-baselines3 on SizeCompare.")
    parser.add_argument("--timesteps", type=int, default=10_240)
    parser.add_argument("--episodes", type=int, default=50, help="of each evaluation")
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()

    held_out = make_env("test")
    steps = min(512, flags.timesteps)
    model = PPO("MultiInputPolicy", make_env("train"), n_steps=steps, seed=flags.seed, device="cpu")
    for phase in ("before", "after"):
        if phase == "after":
            model.learn(flags.timesteps)
        held_out.reset(seed=2**31)
        mean, deviation = evaluate_policy(model, held_out, flags.episodes, deterministic=False, warn=False)
        print(f"{phase}: mean reward {mean:.2f} (deviation {deviation:.2f}) over {flags.episodes} episodes")


if __name__ == "__main__":
    main()
