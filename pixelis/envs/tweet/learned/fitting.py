"""Fitting a Bradley–Terry head to preferences: torch, weight decay, early stopping, one seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pixelis.envs.tweet.learned.head import Head
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class FitSettings:
    """How a head is fitted; the defaults have a low loss on dev pairs (tweet_preferences.py).

    Attributes:
        hidden: units between features and score; 0: the score is a weighted sum.
        lr: AdamW learning rate.
        weight_decay: AdamW weight decay.
        dropout: share of the hidden units left out of a step.
        batch: pairs a step.
        epochs: most passes over the pairs.
        patience: passes without a lower dev loss before it ends.
        seed: of weights and order.

    Raises:
        ConfigError: a number is out of range.
    """

    hidden: int = 32
    lr: float = 1e-3
    weight_decay: float = 1.0
    dropout: float = 0.2
    batch: int = 64
    epochs: int = 60
    patience: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        least = {
            "hidden": 0,
            "weight_decay": 0,
            "dropout": 0,
            "batch": 1,
            "epochs": 1,
            "patience": 1,
        }
        for name, low in least.items():
            if not low <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name}: expected a number of at least {low}, got {getattr(self, name)!r}")
        if not 0 < self.lr < float("inf") or self.dropout >= 1:
            raise ConfigError(
                f"expected lr above 0 and dropout below 1, got {self.lr!r} and {self.dropout!r}"
            )


@dataclass(frozen=True)
class Fitted:
    """A head, and how the fit went.

    Attributes:
        head: with the weights of the best pass.
        epochs: passes until then, from 1.
        dev_loss: mean −ln σ(Δ) on the dev pairs, by pass.
    """

    head: Head
    epochs: int
    dev_loss: tuple[float, ...]


def fit_head(
    chosen: np.ndarray, rejected: np.ndarray, dev: tuple[np.ndarray, np.ndarray], settings: FitSettings
) -> Fitted:
    """Return the head that minimises the mean of −ln σ(s(chosen) − s(rejected)) (Bradley and Terry 1952).

    Features are standardised by mean and deviation over both sides of the training pairs. The same numbers
    and seed give the same head on the same machine; global generators are left alone.

    Args:
        chosen: features of the better replies, [n, d].
        rejected: of the worse ones, [n, d].
        dev: the same two of the dev pairs.
        settings: see there.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        both = np.concatenate([chosen, rejected])
        mean, scale = (one.astype(np.float32).astype(np.float64) for one in (both.mean(0), both.std(0)))
        scale[scale < 1e-4] = 1.0  # what never varies says nothing
        better, worse, dev_better, dev_worse = (
            torch.tensor((one - mean) / scale, dtype=torch.float32) for one in (chosen, rejected, *dev)
        )
        net = _net(chosen.shape[1], settings)
        optimiser = torch.optim.AdamW(net.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        best, losses, kept = np.inf, [], {}
        for _ in range(settings.epochs):
            net.train()
            for rows in torch.randperm(len(better)).split(settings.batch):
                optimiser.zero_grad()
                loss = torch.nn.functional.softplus(net(worse[rows]) - net(better[rows])).mean()
                loss.backward()
                optimiser.step()
            net.eval()
            with torch.no_grad():
                losses.append(
                    float(torch.nn.functional.softplus(net(dev_worse) - net(dev_better)).double().mean())
                )
            if losses[-1] < best:
                best, kept = losses[-1], {name: one.clone() for name, one in net.state_dict().items()}
            elif len(losses) - int(np.argmin(losses)) > settings.patience:
                break
        weights = [one.double().numpy() for one in kept.values()]
    layers = tuple(zip(weights[0::2], weights[1::2], strict=True))
    return Fitted(Head(mean, scale, layers), int(np.argmin(losses)) + 1, tuple(losses))


def _net(width: int, settings: FitSettings) -> torch.nn.Sequential:
    from torch import nn

    if not settings.hidden:
        return nn.Sequential(nn.Linear(width, 1))
    return nn.Sequential(
        nn.Linear(width, settings.hidden),
        nn.ReLU(),
        nn.Dropout(settings.dropout),
        nn.Linear(settings.hidden, 1),
    )
