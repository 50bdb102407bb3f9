"""The README's first picture: ``python benchmarks/quality/episode_picture.py RUN_FOLDER [--seed N]``.

Plays one held-out task with the trained agent, greedily, and saves the environment's own last frame.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium as gym
from PIL import Image

import pixelis  # noqa: F401  (registers the environments)
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.saved_run import newest_adapter


def main() -> None:
    """Play and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder that train_agent.py wrote")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("docs/images/episode.png"))
    arguments = parser.parse_args()
    env = gym.make("Pixelis/ZoomRead-v0", difficulty=1, split="test", render_mode="rgb_array")
    policy = Policy.load(newest_adapter(arguments.run)[0], device="cpu")
    request = EpisodeRequest(arguments.seed, 0, 0, {})
    with Collector(lambda: env) as collector:
        episode = collector.collect(policy, [request], SamplingSettings(greedy=True, max_new_tokens=24), 0)[0]
        frame: Any = env.render()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(frame).save(arguments.output, optimize=True)
    print(episode.text)
    print(f"reward {episode.reward}, saved {arguments.output}")


if __name__ == "__main__":
    main()
