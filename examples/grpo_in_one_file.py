"""GRPO in one file: a small vision-language model learns to zoom in and read, by trial and error alone.

    python examples/grpo_in_one_file.py                      # 40 steps of 48 episodes
    python examples/grpo_in_one_file.py --steps 2 --groups 2 # a quick look

For reading, from top to bottom: play groups of episodes of the same task, compare the rewards within each
group, make what went better than the rest more likely. It uses torch, transformers and the environment;
nothing of `pixelis.agents`, which does the same faster (a group's prompt is read once, keys and
values are kept) and has LoRA, resume and much more.

The method: Shao et al. 2024, DeepSeekMath (arXiv 2402.03300), section 4.1; the mean over the step's
tokens and no KL penalty as in Yu et al. 2025, DAPO (arXiv 2503.14476).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from PIL import Image
from torch import Tensor
from transformers import AutoModelForImageTextToText, AutoProcessor

TURN_TOKENS = 24  # most tokens of one assistant turn
TURNS = 4  # most turns of an episode


@dataclass
class Episode:
    """What was read and written so far: tokens are kept as they were sampled, never rendered again.

    Attributes:
        tokens: ids of prompt, turns and observations in their order.
        sampled: for each token, 1 where the model wrote it and is trained on it, 0 where it read it.
        pictures: pixel values of the images, float [3, H, W] each, in the order of their places in `tokens`.
        reward: sum of the rewards.
        success: whether the task was solved.
        over: whether the environment has ended the episode.
    """

    tokens: list[int] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    pictures: list[Tensor] = field(default_factory=list)
    reward: float = 0.0
    success: bool = False
    over: bool = False


# ------------------------------------------------------------------ playing


def read(episode: Episode, observation: dict[str, Any], processor: Any) -> None:
    """Append an observation as a user message, up to the opening of the assistant's next turn."""
    content = [{"type": "image"}, {"type": "text", "text": observation["text"]}]
    message = [{"role": "user", "content": content}]
    text = processor.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
    picture = Image.fromarray(observation["image"])
    inputs = processor(text=[text], images=[picture], add_special_tokens=False, return_tensors="pt")
    ids = inputs["input_ids"][0].tolist()
    episode.tokens += ids
    episode.sampled += [0] * len(ids)
    episode.pictures.append(inputs["pixel_values"][0])


@torch.no_grad()
def write(episodes: list[Episode], model: Any, processor: Any, greedy: bool) -> list[str]:
    """Sample one assistant turn for each episode, append its tokens, and return the texts."""
    end = processor.tokenizer.convert_tokens_to_ids("<|end|>")
    width = max(len(episode.tokens) for episode in episodes)
    ids = torch.full((len(episodes), width), end)
    mask = torch.zeros_like(ids)
    for row, episode in enumerate(episodes):  # padded on the left: every row ends where it goes on
        ids[row, width - len(episode.tokens) :] = torch.tensor(episode.tokens)
        mask[row, width - len(episode.tokens) :] = 1
    pictures = torch.stack([picture for episode in episodes for picture in episode.pictures])
    out = model.generate(
        input_ids=ids,
        attention_mask=mask,
        pixel_values=pictures,
        do_sample=not greedy,
        temperature=None if greedy else 1.0,
        top_k=None if greedy else 0,
        max_new_tokens=TURN_TOKENS,
        eos_token_id=end,
        pad_token_id=end,
    )
    texts = []
    for episode, new in zip(episodes, out[:, width:].tolist(), strict=True):
        turn = new[: new.index(end)] if end in new else new
        ended = (
            [1] if end in new else [0]
        )  # the end of a turn that was cut off is written for it, and not trained on
        episode.tokens += [*turn, end]
        episode.sampled += [1] * len(turn) + ended
        texts.append(processor.tokenizer.decode(turn, skip_special_tokens=False))
    return texts


def play(
    seeds: list[int], envs: list[Any], model: Any, processor: Any, greedy: bool = False
) -> list[Episode]:
    """Play one episode for each seed, all of them turn by turn at the same time."""
    episodes = [Episode() for _ in seeds]
    for episode, env, seed in zip(episodes, envs, seeds, strict=True):
        read(episode, env.reset(seed=seed)[0], processor)
    while running := [(e, env) for e, env in zip(episodes, envs, strict=False) if not e.over]:
        actions = write([episode for episode, _ in running], model, processor, greedy)
        for (episode, env), action in zip(running, actions, strict=True):
            observation, reward, terminated, truncated, info = env.step(action)
            episode.reward += float(reward)
            episode.over = terminated or truncated
            if episode.over:
                episode.success = bool(info["success"])
            else:
                read(episode, observation, processor)
    return episodes


# ------------------------------------------------------------------ learning


def group_advantages(rewards: Tensor) -> Tensor:
    """Return how much better each episode went than its group: (r - mean) / (std + 1e-4), [groups, size]."""
    deviation = rewards.std(dim=1, keepdim=True, unbiased=True)
    return (rewards - rewards.mean(dim=1, keepdim=True)) / (deviation + 1e-4)


def grpo_loss(
    logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, epsilon: float = 0.2
) -> Tensor:
    """Return the clipped surrogate, mean over the sampled tokens of the step.

    Args:
        logprobs: of the model now, float [b, T], with gradient.
        old: of the model that sampled, float [b, T].
        advantages: one for each episode, float [b].
        mask: 1 where the model wrote the token, [b, T].
        epsilon: how far a probability may move before its gradient stops.
    """
    ratio = torch.exp((logprobs - old) * mask)
    gain = advantages[:, None]
    surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - epsilon, 1 + epsilon) * gain)
    return -(surrogate * mask).sum() / mask.sum()


def token_logprobs(model: Any, episodes: list[Episode]) -> tuple[Tensor, Tensor]:
    """Return log-probabilities of all tokens but the first, and which were sampled: [b, T - 1] both."""
    width = max(len(episode.tokens) for episode in episodes)
    ids = torch.zeros((len(episodes), width), dtype=torch.long)
    attention, sampled = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, episode in enumerate(episodes):
        ids[row, : len(episode.tokens)] = torch.tensor(episode.tokens)
        attention[row, : len(episode.tokens)] = 1
        sampled[row, : len(episode.tokens)] = torch.tensor(episode.sampled)
    pictures = torch.stack([picture for episode in episodes for picture in episode.pictures])
    logits = model(input_ids=ids, attention_mask=attention, pixel_values=pictures).logits[:, :-1].float()
    chosen = ids[:, 1:]
    logprobs = logits.gather(-1, chosen[..., None]).squeeze(-1) - logits.logsumexp(-1)
    return logprobs, sampled[:, 1:].float()


def learn(model: Any, optimiser: torch.optim.Optimizer, groups: list[list[Episode]]) -> float:
    """Take one optimiser step on groups of episodes; return the share of groups that taught something."""
    rewards = torch.tensor([[episode.reward for episode in group] for group in groups])
    advantages = group_advantages(rewards)
    teaches = rewards.std(dim=1) > 0  # where all went alike, nothing can be compared
    episodes = [episode for group, useful in zip(groups, teaches, strict=True) if useful for episode in group]
    gains = advantages[teaches].flatten()
    if not episodes:
        return 0.0
    tokens = sum(sum(episode.sampled) for group in groups for episode in group)  # others' loss is 0
    optimiser.zero_grad()
    for start in range(0, len(episodes), 8):  # eight at a time; the loss is a mean over the tokens of all
        part = slice(start, start + 8)
        logprobs, mask = token_logprobs(model, episodes[part])
        # One step an update: the model is still the one that sampled, so the ratio is 1 here.
        loss = grpo_loss(logprobs, logprobs.detach(), gains[part], mask)
        (loss * mask.sum() / tokens).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return float(teaches.float().mean())


# ------------------------------------------------------------------ the whole


def evaluate(envs: list[Any], model: Any, processor: Any, episodes: int) -> float:
    """Return the success rate on held-out tasks, each turn's most likely tokens taken."""
    seeds = list(range(10_000_000, 10_000_000 + episodes))
    played: list[Episode] = []
    for start in range(0, episodes, len(envs)):
        some = seeds[start : start + len(envs)]
        played += play(some, envs[: len(some)], model, processor, greedy=True)
    return float(np.mean([episode.success for episode in played]))


def main() -> None:
    """Train and say what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--groups", type=int, default=6, help="tasks a step")
    parser.add_argument("--group-size", type=int, default=8, help="episodes of each task")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--difficulty", type=int, default=1)
    parser.add_argument("--eval-episodes", type=int, default=96)
    parser.add_argument("--reader", default="ocr", help="ocr, or truth: a fast stand-in that knows the text")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    folder = str(files("pixelis") / "models" / "pixelis-tiny")
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder)
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.lr, betas=(0.9, 0.99), weight_decay=0.0)
    keywords = {"difficulty": options.difficulty, "reader": options.reader, "max_turns": TURNS}
    count = options.groups * options.group_size
    envs = [gym.make("pixelis:Pixelis/ZoomRead-v0", split="train", **keywords) for _ in range(count)]
    held_out = [gym.make("pixelis:Pixelis/ZoomRead-v0", split="test", **keywords) for _ in range(count)]

    print(f"before: {evaluate(held_out, model, processor, options.eval_episodes):.3f} of the held-out tasks")
    tasks = np.random.default_rng(options.seed)
    for step in range(1, options.steps + 1):
        began = time.monotonic()
        drawn = tasks.integers(2**31, size=options.groups).tolist()
        seeds = [seed for seed in drawn for _ in range(options.group_size)]
        episodes = play(seeds, envs, model, processor)
        size = options.group_size
        groups = [episodes[start : start + size] for start in range(0, len(episodes), size)]
        taught = learn(model, optimiser, groups)
        seconds = time.monotonic() - began
        success = np.mean([episode.success for episode in episodes])
        print(f"step {step:3}: success {success:.3f}, groups that taught {taught:.2f}, {seconds:.1f} s")
    print(f"after: {evaluate(held_out, model, processor, options.eval_episodes):.3f} of the held-out tasks")


if __name__ == "__main__":
    main()
