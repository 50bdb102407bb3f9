"""An own environment: task, tools and verifier. The agent must weigh things to find the heaviest.

    python examples/own_environment.py            # play it once by script
    python examples/own_environment.py --train 5  # and train the small model for five steps
    python -m pixelis check-env own_environment:Heaviest-v0   # hold it to the contract (in this folder)

docs/guide/new_env.md explains each part.
"""

from __future__ import annotations

import argparse
import json

import gymnasium as gym
import numpy as np

from pixelis.envs import (
    CallRefused,
    Difficulty,
    Split,
    Task,
    Tool,
    ToolEnv,
    Toolset,
    Verdict,
    checked_keywords,
)
from pixelis.rewards import text_matches

THINGS = ("anvil", "barrel", "crate", "drum", "engine", "flask")


class Weights:
    """Where tasks come from: some things and their weights, even or odd by the split."""

    family = "heaviest"
    difficulties = range(3)

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a task using ``rng`` alone."""
        names = [str(name) for name in rng.permutation(THINGS)[: 3 + difficulty]]
        even = rng.choice(np.arange(100, 1000, 2), len(names), replace=False)
        kilos = [int(kilo) + (split == "test") for kilo in even]  # odd ones are for testing
        heaviest = names[int(np.argmax(kilos))]
        return Task(
            id=f"heaviest-{split}-{rng.integers(2**32)}",  # which info shows: nothing of the answer
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=f"Which is the heaviest: {', '.join(names)}?",
            answer=heaviest,
            data={"kilos": dict(zip(names, kilos, strict=True))},
        )


def weigh(workspace: dict[str, int], thing: str) -> str:
    """Put a thing on the scales.

    Args:
        workspace: name → weight in kg; it is not shown to the agent.
        thing: its name.
    """
    if thing not in workspace:
        raise CallRefused("no_such_thing", f"there are {', '.join(workspace)}, not {thing!r}.")
    return f"{workspace[thing]} kg"


def verify(task: Task, answer: str | None, workspace: dict[str, int]) -> Verdict:
    """Pay 1 for the right thing, else 0."""
    success = answer is not None and text_matches(answer, task.answer)
    return Verdict(success, {"task": float(success)})


class HeaviestEnv(ToolEnv[dict[str, int]]):
    """Weigh things and say which is the heaviest. Reward 1 for the right one, else 0."""

    task_gap = 1.0

    @checked_keywords
    def __init__(self, *, difficulty: Difficulty = 0, split: Split = "train") -> None:
        super().__init__(
            source=Weights(),
            toolset=Toolset([Tool.of(weigh)], lambda task: task.data["kilos"]),
            verifier=verify,
            difficulty=difficulty,
            split=split,
        )

    def chance(self, difficulty: int) -> float:
        """Return the success of a guess."""
        return 1 / (3 + difficulty)

    def players(self):  # noqa: ANN201
        """Return scripted players: one that solves every task, a guess, and an attempt to cheat."""
        return {
            **super().players(),
            "oracle": Oracle,
            "tool_free": lambda env: Guess(slice(1)),
            "exploit_list": lambda env: Guess(slice(None)),
        }


def asked_for(text: str) -> list[str]:
    """Return the things in a question."""
    return text.partition(": ")[2].partition("?")[0].split(", ")


class Oracle:
    """Weighs everything in one turn and answers in the next."""

    def __init__(self, env: ToolEnv) -> None:
        self.names: list[str] = []

    def act(self, observation: dict, info: dict) -> str:
        """Return the next assistant turn."""
        if info["tool_calls"]:
            kilos = [int(call["text"].split()[-2]) for call in info["tool_calls"]]
            return f"<answer>{self.names[int(np.argmax(kilos))]}</answer>"
        self.names = asked_for(observation["text"])
        calls = ({"name": "weigh", "arguments": {"thing": name}} for name in self.names)
        return "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)


class Guess:
    """Answers at once with some of the things."""

    def __init__(self, which: slice) -> None:
        self.which = which

    def act(self, observation: dict, info: dict) -> str:
        """Return the answer."""
        return f"<answer>{', '.join(asked_for(observation['text'])[self.which])}</answer>"


if "Heaviest-v0" not in gym.registry:
    gym.register("Heaviest-v0", entry_point=HeaviestEnv)


def main() -> None:
    """Play, evaluate, and train where asked."""
    from pixelis.agents import evaluate, train  # here: processes that only play need no torch

    parser = argparse.ArgumentParser(description="An environment of your own.")
    parser.add_argument("--train", type=int, default=0, metavar="STEPS")
    parser.add_argument("--model", default="pixelis-tiny")
    flags = parser.parse_args()

    env = gym.make("Heaviest-v0")
    observation, info = env.reset(seed=0)
    print(observation["text"])
    policy, over, reward = Oracle(env.unwrapped), False, 0.0
    while not over:
        turn = policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(turn)
        over = terminated or truncated
        print(f"> {turn}\n{observation['text']}".rstrip())
    print(f"reward {reward:g}")
    for name in ("oracle", "tool_free"):
        print(f"{name}: success {evaluate(name, env='Heaviest-v0', episodes=50).success_rate:.2f}")
    if flags.train:
        run = train(env="Heaviest-v0", model=flags.model, steps=flags.train, groups=2, eval_episodes=8)
        print(f"trained {len(run.metrics)} steps, the run is in {run.folder.path}")


if __name__ == "__main__":
    main()
