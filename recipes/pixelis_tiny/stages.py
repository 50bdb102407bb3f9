"""The two stages of making ``pixelis-tiny``, from folder to folder."""

from __future__ import annotations

from pathlib import Path

from pixelis.agents.models.policy import Policy
from pixelis.agents.sft import SftSettings, demonstrations, sft
from pixelis_tiny.architecture import IMAGE_SIZE, build_model, build_processor
from pixelis_tiny.corpus import corpus
from pixelis_tiny.demonstrations import DemonstrationEnv
from pixelis_tiny.scenes import SHARD_SIZE, load_scenes
from pixelis_tiny.tokenizer import build_tokenizer
from pixelis_tiny.train import PerceptionSettings, train_perception

SCENE_SEED = 1000
DEMONSTRATION_SEED = 10_000_000


def perceive(work: Path, scenes: int, steps: int, seed: int) -> None:
    """Stage 1: train tokenizer and model on ``scenes`` painted scenes; write ``work/perception``."""
    data = load_scenes(work / "scenes", scenes // SHARD_SIZE, IMAGE_SIZE, SCENE_SEED + seed)
    tokenizer = build_tokenizer(corpus(seed))
    processor, model = build_processor(tokenizer), build_model(tokenizer, seed)
    train_perception(model, processor, data, PerceptionSettings(steps=steps, seed=seed), _say)
    model.save_pretrained(work / "perception")
    processor.save_pretrained(work / "perception")


def behave(work: Path, output: Path, episodes: int, seed: int) -> None:
    """Stage 2: fine-tune ``work/perception`` on demonstrations; write the finished model to ``output``."""
    policy = Policy.load(work / "perception", device="cpu")
    seeds = range(DEMONSTRATION_SEED, DEMONSTRATION_SEED + episodes)
    played = demonstrations(policy.chat, lambda: DemonstrationEnv(seed), "demonstrator", seeds)
    solved = sum(bool(episode.success) for episode in played) / episodes
    _say(f"{episodes} demonstrations, {solved:.3f} of them solved")
    settings = SftSettings(epochs=4, batch_size=32, learning_rate=8e-4, seed=seed)
    sft(policy, played, settings, lambda step: _say(f"step {step.step}: loss {step.loss:.3f}"))
    for key in ("is_local", "local_files_only"):  # how it was loaded here, of no use to others
        policy.tokenizer.init_kwargs.pop(key, None)
    policy.model.save_pretrained(output)
    policy.processor.save_pretrained(output)


def _say(line: str) -> None:
    print(line, flush=True)
