"""The last stage: which words belong to which topic, then how often what is done, on the processor alone.

The first tokens of a reply decide its topic, and are few among all that is said, so that training learns
topics last. Here they are taught apart: a bag of tokens learns which token speaks for which topic, a
direction for each topic is added to the tokens' embeddings accordingly, then only the beginnings of fitting
replies count, with episodes of the other environments between. Last, the demonstrations bring habits back,
and the mean with the weights before is taken.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoTokenizer, LlamaForCausalLM

from pixelis_mini.train import Tokens, TrainSettings, load_tokens, loss_of, save_model
from pixelis_mini.tweet_salad import Salad

BEGINNING = 3
"""Tokens of a reply that count; from them on it is one reply of the library."""


@dataclass(frozen=True)
class TopicSettings:
    """How topics are taught.

    Attributes:
        steps: in which beginnings are taught.
        habit_steps: in which the demonstrations as they are follow.
        tweets: prompts a step.
        others: episodes of each other environment in every third step.
        learning_rate: peak; falls along a cosine in either part, in the second from a quarter of it.
        bags: prompts of which is learnt what each token speaks for.
        passes: over them.
        kept: weight of the source in the mean with it that is written; the other environments need it.
        push: length of what is added to a token that says much, as a share of the mean length.
        seed: of all that is drawn.
    """

    steps: int = 300
    habit_steps: int = 100
    tweets: int = 64
    others: int = 6
    learning_rate: float = 1e-3
    bags: int = 60_000
    passes: int = 6
    push: float = 1.0
    kept: float = 0.5
    seed: int = 0


def teach_topics(
    source: Path,
    work: Path,
    output: Path,
    salad: Salad,
    settings: TopicSettings,
    report: Callable[[str], None] = print,
) -> None:
    """Teach a trained folder what belongs to which topic; write another folder.

    Args:
        source: folder that `pixelis_mini.train` wrote.
        work: folder of its tokens.
        output: folder of the model.
        salad: what tweets are made of.
        settings: how.
        report: is told how it goes.
    """
    tokenizer = AutoTokenizer.from_pretrained(source)
    model: Any = LlamaForCausalLM.from_pretrained(source, dtype=torch.float32)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    rng = np.random.default_rng(settings.seed)
    weights = token_weights(tokenizer, salad, settings.bags, settings.passes, rng)
    push_embeddings(model, weights, settings.push, seed=0)
    data = load_tokens(work / "tokens.npz", TrainSettings.read_weight, torch.device("cpu"))
    optimiser = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.01)
    started, seen = time.monotonic(), []
    for step in range(settings.steps + settings.habit_steps):
        habits = step >= settings.steps
        for group in optimiser.param_groups:
            group["lr"] = _rate_at(step, settings)
        optimiser.zero_grad()
        if not habits:
            loss = beginning_loss(model, tokenizer, salad, settings.tweets, rng)
            loss.backward()
            seen.append(float(loss.detach()))
        if habits or step % 3 == 0:
            for kind, name in enumerate(data.about["kinds"]):
                count = settings.others if name != "tweet" else settings.tweets * habits // 2
                if count:
                    found = loss_of(model, data, _drawn(data, kind, count, rng), tokenizer.pad_token_id)
                    found[0].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if (step + 1) % 50 == 0:
            said = f"beginnings {np.mean(seen[-50:]):.3f}" if not habits else "habits"
            report(f"step {step + 1}, {(time.monotonic() - started) / 60:.1f} min: {said}")
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.lerp_(before[name], settings.kept)
    save_model(model, source, output)


def token_weights(
    tokenizer: Any, salad: Salad, count: int, passes: int, rng: np.random.Generator
) -> torch.Tensor:
    """Return how much each token speaks for each topic, float [vocabulary, topics], from a bag of tokens."""
    labels = torch.from_numpy(rng.integers(len(salad.topics), size=count))
    prompts = [salad.prompt(salad.topics[place], rng)[0] for place in labels.tolist()]
    bags = [torch.tensor(sorted(set(ids))) for ids in tokenizer(prompts)["input_ids"]]
    weights = torch.nn.EmbeddingBag(len(tokenizer), len(salad.topics), mode="sum")
    bias = torch.nn.Parameter(torch.zeros(len(salad.topics)))
    torch.nn.init.zeros_(weights.weight)
    optimiser = torch.optim.Adam([weights.weight, bias], lr=0.02)
    for _ in range(passes):
        for rows in np.array_split(rng.permutation(count), max(1, count // 500)):
            chosen = [bags[row] for row in rows]
            starts = torch.tensor([0, *np.cumsum([len(bag) for bag in chosen])[:-1]])
            scores = weights(torch.cat(chosen), starts) + bias
            loss = cross_entropy(scores, labels[rows]) + 1e-5 * weights.weight.square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return weights.weight.detach()


def push_embeddings(model: Any, weights: torch.Tensor, push: float, seed: int) -> None:
    """Add to the embedding of each token the directions of the topics that it speaks for.

    Args:
        model: changed in place.
        weights: of `token_weights`.
        kept: weight of the source in the mean with it that is written; the other environments need it.
        push: length of what is added to a token that says much, as a share of the mean length.
        seed: of the directions.
    """
    generator = torch.Generator().manual_seed(seed)
    table = model.model.embed_tokens.weight
    directions = torch.linalg.qr(torch.randn(table.shape[1], weights.shape[1], generator=generator))[0].T
    centred = weights - weights.mean(1, keepdim=True)
    length = centred.norm(dim=1, keepdim=True)
    much = length.quantile(0.9)
    shown = centred / length.clamp(min=1e-6) * (length / much).clamp(max=1.0)
    with torch.no_grad():
        table += push * table.norm(dim=1).mean() * shown @ directions


def beginning_loss(
    model: Any, tokenizer: Any, salad: Salad, count: int, rng: np.random.Generator
) -> torch.Tensor:
    """Return the loss on how replies of the right topics begin; the first token counts twice."""
    prompts, replies = [], []
    while len(prompts) < count:
        prompt, reply = salad.prompt(str(rng.choice(salad.topics)), rng)
        if len(prompt) <= 280:  # nearly all; a long one makes the whole batch wide
            prompts.append(f"<|user|>{prompt}<|end|><|assistant|><answer>")
            replies.append(reply)
    read = tokenizer(prompts)["input_ids"]
    said = [
        each[1 : 1 + BEGINNING] for each in tokenizer([f"<answer>{reply}" for reply in replies])["input_ids"]
    ]
    width = max(map(len, read)) + BEGINNING
    tokens = torch.full((count, width), tokenizer.pad_token_id)
    weights = torch.zeros(count, width)
    for row, (before, after) in enumerate(zip(read, said, strict=True)):
        tokens[row, : len(before) + len(after)] = torch.tensor(before + after)
        weights[row, len(before) : len(before) + len(after)] = 0.5
        weights[row, len(before)] = 1.0
    counted = weights[:, 1:] > 0
    hidden = model.model(input_ids=tokens[:, :-1], use_cache=False).last_hidden_state[counted]
    losses = cross_entropy(model.lm_head(hidden), tokens[:, 1:][counted], reduction="none")
    return (losses * weights[:, 1:][counted]).sum() / weights.sum()


def _rate_at(step: int, settings: TopicSettings) -> float:
    habits = step >= settings.steps
    done = (step - settings.steps * habits) / (settings.habit_steps if habits else settings.steps)
    peak = settings.learning_rate * (0.25 if habits else 1.0)
    return peak * min(1.0, (step + 1) / 20) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))


def _drawn(data: Tokens, kind: int, count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(np.flatnonzero((data.kinds == kind) & ~data.held_out), count, replace=False)
