"""Own rows and an own reward: a language model learns to copy the first letter of a word.

    python examples/own_reward.py                                  # SmolLM2 where it is installed
    python examples/own_reward.py --model path/or/hub-id --steps 2

A row is a dict with a ``prompt`` and whatever the reward reads. The reward is a function of the row and of
the text that the model wrote; 1 or more counts as a success. A fifth of the rows is kept for evaluation.
"""

from __future__ import annotations

import argparse

from pixelis.agents import train

WORDS = ("apple", "bread", "cloud", "dance", "eagle", "flame", "grape", "house", "ivory", "juice", "koala")
ROWS = [{"prompt": f"Which letter does '{word}' begin with?", "answer": word[0]} for word in WORDS]


def reward(row: dict, text: str) -> float:
    """Pay 1 for the letter alone, a little for a reply that begins with it."""
    reply = text.strip().lower()
    if reply == row["answer"]:
        return 1.0
    return 0.2 if reply.startswith(row["answer"]) else 0.0


def main() -> None:
    """Read the flags, train, and print what came of it."""
    parser = argparse.ArgumentParser(description="GRPO on own rows with an own reward.")
    parser.add_argument("--model", default="auto", help="name, folder or hub id")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--groups", type=int, default=4, help="prompts a step, each answered eight times")
    parser.add_argument("--output", help="run folder; none makes one under runs/")
    flags = parser.parse_args()

    run = train(
        rows=ROWS,
        reward=reward,
        model=flags.model,
        steps=flags.steps,
        groups=flags.groups,
        group_size=8,
        max_new_tokens=8,
        eval_episodes=16,
        output=flags.output,
        on_step=lambda row: print(f"step {row['step']}: mean reward {row['reward/mean']:.2f}"),
    )
    for phase, (greedy, _) in run.evaluations.items():
        print(f"{phase}: success {greedy.success_rate:.2f}, mean reward {greedy.mean_reward:.2f}")
    print(f"the run is in {run.folder.path}")


if __name__ == "__main__":
    main()
