"""Next-token training from random weights on a file of tokens; knows nothing of pixelis.

``python recipes/pixelis_mini/train.py WORK OUTPUT --minutes 5`` needs torch, transformers, numpy and
safetensors alone, so that it runs on a borrowed machine with a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM

from pixelis_mini.muon import muon

CONTEXT = 2048
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


@dataclass(frozen=True)
class TrainSettings:
    """How the model is trained.

    Attributes:
        minutes: after which it ends, if ``steps`` do not end it before.
        steps: optimiser steps at most.
        batch_tokens: tokens a step, padding included.
        learning_rate: peak, after ``warm_up`` steps; falls to a twentieth of it along a cosine.
        muon: how many times that the matrices between embedding and head learn, by Muon (Jordan et al. 2024;
            rates as AdamW's by Liu et al. 2025, arXiv:2502.16982); 0: they learn by AdamW as the rest.
        warm_up: steps.
        read_weight: weight in the loss of a token that is read; one that is said weighs 1.
        width: of the hidden states.
        layers: of the model.
        start: a model to go on with, in place of random weights.
        seed: of weights and batches.
        report_every: steps between two reports.
        half: whether products are taken in bfloat16, as a GPU always does; with AVX512-BF16 a step takes 0.7
            of the time on one thread of a CPU, without it longer.
    """

    minutes: float = 5.0
    steps: int = 40_000
    batch_tokens: int = 16_384
    learning_rate: float = 1.2e-3
    muon: float = 0.0
    warm_up: int = 300
    read_weight: float = 0.1
    width: int = 256
    layers: int = 5
    start: str = ""
    seed: int = 0
    report_every: int = 500
    half: bool = False


@dataclass(frozen=True)
class Tokens:
    """The episodes of a file, on the training device.

    Attributes:
        flat: tokens of all episodes, int64 [n].
        weights: of each token as a target, float32 [n].
        starts: first token of each episode, int64 [episodes].
        lengths: int64 [episodes].
        kinds: int64 [episodes].
        held_out: bool [episodes].
        about: ``vocabulary``, ``kinds`` and ``ids``.
        share: mean weight of a token of the episodes that are trained on.
    """

    flat: torch.Tensor
    weights: torch.Tensor
    starts: np.ndarray
    lengths: np.ndarray
    kinds: np.ndarray
    held_out: np.ndarray
    about: dict[str, Any]
    share: float


def load_tokens(file: Path, read_weight: float, device: torch.device) -> Tokens:
    """Read a file of `pixelis_mini.collect`; what is said is what stands between two control tokens."""
    with np.load(file) as arrays:
        about = json.loads(str(arrays["about"]))
        flat, lengths = arrays["tokens"].astype(np.int64), arrays["lengths"].astype(np.int64)
        kinds, held_out = arrays["kinds"].astype(np.int64), arrays["held_out"]
    begins = np.cumsum(flat == about["ids"]["<|assistant|>"])
    turns = np.cumsum(flat == about["ids"]["<|end|>"])  # two ends for each turn: of what was read, and said
    ended_before = np.concatenate([[0], turns[:-1]])
    said = (ended_before == 2 * begins - 1) & (flat != about["ids"]["<|assistant|>"])
    weights = np.where(said, 1.0, read_weight).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return Tokens(
        torch.from_numpy(flat).to(device),
        torch.from_numpy(weights).to(device),
        starts,
        lengths,
        kinds,
        held_out,
        about,
        float(weights[np.repeat(~held_out, lengths)].mean()),
    )


def build_model(about: dict[str, Any], settings: TrainSettings) -> LlamaForCausalLM:
    """Return a Llama with random weights; in the first two layers queries equal keys.

    Equal queries and keys let a token attend to what resembles it, from which copying is learnt sooner.
    """
    torch.manual_seed(settings.seed)
    ids = about["ids"]
    config = LlamaConfig(
        vocab_size=about["vocabulary"],
        hidden_size=settings.width,
        intermediate_size=int(settings.width * 2.75),
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 32,
        num_key_value_heads=settings.width // 32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=ids["<|pad|>"],
        eos_token_id=ids["<|end|>"],
        bos_token_id=None,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        layers: Any = model.model.layers
        for layer in layers[:2]:
            layer.self_attn.k_proj.weight.copy_(layer.self_attn.q_proj.weight.mul_(2.0))
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = (
        ids["<|end|>"],
        ids["<|pad|>"],
    )
    return model


def batches(data: Tokens, chosen: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield episodes of like lengths, ``size`` tokens together, for one pass over the chosen ones."""
    noisy = data.lengths[chosen] + rng.uniform(0, 8, len(chosen))  # other neighbours in each pass
    ordered = chosen[np.argsort(noisy)]
    groups, start = [], 0
    while start < len(ordered):
        end = start + 1
        while end < len(ordered) and (end - start + 1) * int(data.lengths[ordered[end]] + 8) <= size:
            end += 1
        groups.append(ordered[start:end])
        start = end
    for place in rng.permutation(len(groups)):
        yield groups[place]


def loss_of(
    model: LlamaForCausalLM,
    data: Tokens,
    rows: np.ndarray,
    pad: int,
    half: bool = False,
    whole: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the weighted loss, and of what is said the mean loss and the share that is likeliest.

    Args:
        model: predicts each token from those before it.
        data: what the rows are of.
        rows: episodes.
        pad: token that fills the shorter ones up.
        half: see `TrainSettings.half`.
        whole: what the sum of weighted losses is divided by; None: the weights of these rows. A batch holds
            episodes of like lengths, so by its own weights the token that decides for a short way of playing
            would count several times what the token counts that decides for a long one, and the model would
            take the short way far more often than the demonstrators did.
    """
    device = data.flat.device
    width = int(data.lengths[rows].max())
    width += -width % 32  # few different shapes
    starts, lengths = (
        torch.from_numpy(each[rows]).to(device)[:, None] for each in (data.starts, data.lengths)
    )
    place = torch.arange(width, device=device)[None]
    inside = place < lengths
    index = (starts + place).clamp(max=len(data.flat) - 1)
    tokens = torch.where(inside, data.flat[index], pad)
    weights = torch.where(inside, data.weights[index], 0.0)[:, 1:]
    with torch.autocast(device.type, torch.bfloat16, enabled=half or device.type == "cuda"):
        logits = model(input_ids=tokens, use_cache=False).logits[:, :-1]  # padding on the right is not seen
    losses = cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten(), reduction="none")
    losses = losses.view(weights.shape)
    said = weights == 1.0
    right = (logits.detach().argmax(-1) == tokens[:, 1:])[said].float().mean()
    return (losses * weights).sum() / (whole or weights.sum()), losses.detach()[said].mean(), right


def train(work: Path, output: Path, settings: TrainSettings, report: Callable[[str], None] = print) -> None:
    """Train on ``work/tokens.npz``; write an ordinary Hugging Face folder, weights in bfloat16."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = load_tokens(work / "tokens.npz", settings.read_weight, device)
    model: Any = (
        LlamaForCausalLM.from_pretrained(settings.start, dtype=torch.float32)
        if settings.start
        else build_model(data.about, settings)
    )
    model.to(device)
    count = sum(each.numel() for each in model.parameters())
    report(f"{count / 1e6:.2f} M parameters, {len(data.flat) / 1e6:.1f} M tokens, {device.type}")
    optimisers = make_optimisers(model, settings)
    rng, chosen = np.random.default_rng(settings.seed), np.flatnonzero(~data.held_out)
    started, step, pad, passes = time.monotonic(), 0, data.about["ids"]["<|pad|>"], 0
    seen: list[torch.Tensor] = []
    done, whole = 0.0, settings.batch_tokens * data.share
    while done < 1:
        passes += 1
        for rows in batches(data, chosen, settings.batch_tokens, rng):
            done = max(step / settings.steps, (time.monotonic() - started) / (60 * settings.minutes))
            if done >= 1:
                break
            loss, said, right = loss_of(model, data, rows, pad, settings.half, whole)
            model.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimiser, times in optimisers:
                for group in optimiser.param_groups:
                    group["lr"] = times * rate_at(step, done, settings)
                optimiser.step()
            seen.append(torch.stack([loss.detach(), said, right]))
            step += 1
            if step % settings.report_every == 0:
                numbers = torch.stack(seen).mean(0).tolist()
                minutes = (time.monotonic() - started) / 60
                report(
                    f"step {step}, pass {passes}, {minutes:.2f} min: loss {numbers[0]:.4f}, said"
                    f" {numbers[1]:.4f}, right {numbers[2]:.4f}"
                )
                seen.clear()
            if step % (4 * settings.report_every) == 0:
                _check(model, data, settings, report)
                save_model(model, work / "tokenizer", output)
    _check(model, data, settings, report)
    save_model(model, work / "tokenizer", output)


def make_optimisers(model: Any, settings: TrainSettings) -> list[tuple[torch.optim.Optimizer, float]]:
    """Return AdamW, and Muon where it is wanted, each with how many times the learning rate it takes."""
    inner = [each for each in model.model.layers.parameters() if each.ndim == 2] if settings.muon else []
    known = {id(each) for each in inner}
    rest = [each for each in model.parameters() if id(each) not in known]
    decayed, others = ([each for each in rest if (each.ndim > 1) == matrix] for matrix in (True, False))
    adam = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}],
        lr=settings.learning_rate,
        betas=(0.9, 0.98),
        fused=next(model.parameters()).device.type == "cuda",
    )
    if not inner:
        return [(adam, 1.0)]
    matrices = muon(inner, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
    return [(adam, 1.0), (matrices, settings.muon)]


def rate_at(step: int, done: float, settings: TrainSettings) -> float:
    """Return the learning rate of a step, of which ``done`` says how much of the training is over, 0-1."""
    falling = 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    return settings.learning_rate * min(1.0, (step + 1) / settings.warm_up) * falling


@torch.no_grad()
def _check(
    model: LlamaForCausalLM, data: Tokens, settings: TrainSettings, report: Callable[[str], None]
) -> None:
    """Report loss and accuracy on the episodes that are held out."""
    rng, pad = np.random.default_rng(0), data.about["ids"]["<|pad|>"]
    for number, kind in enumerate(data.about["kinds"]):
        chosen = np.flatnonzero(data.held_out & (data.kinds == number))
        if not len(chosen):
            continue
        found = [
            torch.stack(loss_of(model, data, rows, pad)[1:])
            for rows in batches(data, chosen, settings.batch_tokens, rng)
        ]
        said, right = torch.stack(found).mean(0).tolist()
        report(f"  held out, {kind}: said {said:.4f}, right {right:.4f}")


def save_model(model: LlamaForCausalLM, tokenizer: Path, output: Path) -> None:
    """Write an ordinary Hugging Face folder: weights in bfloat16, and the files of the tokenizer's folder."""
    output.mkdir(parents=True, exist_ok=True)
    weights = {name: value.to(torch.bfloat16).contiguous() for name, value in model.state_dict().items()}
    del weights["lm_head.weight"]  # tied to the embedding
    save_file(weights, output / "model.safetensors", metadata={"format": "pt"})
    model.config.architectures, model.config.dtype = ["LlamaForCausalLM"], torch.bfloat16
    model.config.save_pretrained(output)
    model.config.dtype = torch.float32
    model.generation_config.save_pretrained(output)
    for name in TOKENIZER_FILES:
        shutil.copyfile(tokenizer / name, output / name)


def main() -> None:
    """Train on a folder that `pixelis_mini.collect` wrote."""
    parser = argparse.ArgumentParser(
        description=main.__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder with tokens.npz and tokenizer/")
    parser.add_argument("output", type=Path, help="folder of the model")
    for name, value in asdict(TrainSettings()).items():
        kind: dict[str, Any] = {"action": "store_true"} if value is False else {"type": type(value)}
        parser.add_argument(f"--{name.replace('_', '-')}", default=value, **kind)
    arguments = vars(parser.parse_args())
    work, output = arguments.pop("work"), arguments.pop("output")
    train(work, output, TrainSettings(**arguments), lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
