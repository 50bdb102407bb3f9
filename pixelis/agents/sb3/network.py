"""The small network that all agents of this package train."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pixelis.agents.sb3.library import BaseFeaturesExtractor

PICTURES = ("overview", "view")


class PictureFeatures(BaseFeaturesExtractor):
    """Features of `DiscreteToolActions`' observations: each picture by convolutions, the rest as it is.

    A picture float [B, 3, 96, 96] in 0-1 gets two channels with each pixel's x and y (CoordConv, Liu et al.
    2018, arXiv 1807.03247), then an 8 × 8 convolution of stride 4 and a 3 × 3 one of stride 2, and a linear
    layer. The weights of the two pictures are apart.

    Args:
        observation_space: with channels first.
        channels: of the first convolution.
        features: that are made of each picture.
    """

    def __init__(self, observation_space: spaces.Dict, channels: int = 16, features: int = 128) -> None:
        vectors = [name for name in observation_space.spaces if name not in PICTURES]
        width = sum(int(observation_space[name].shape[0]) for name in vectors)  # type: ignore[index]
        super().__init__(observation_space, len(PICTURES) * features + width)
        self._vectors = vectors
        size: Any = observation_space[PICTURES[0]].shape
        self.pictures = nn.ModuleDict({name: _tower(size, channels, features) for name in PICTURES})

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return float [B, 2 · features + the vectors' lengths]."""
        parts = [self.pictures[name](_with_places(observations[name])) for name in PICTURES]
        return torch.cat([*parts, *(observations[name] for name in self._vectors)], dim=1)


def _tower(size: tuple[int, int, int], channels: int, features: int) -> nn.Module:
    layers = nn.Sequential(
        nn.Conv2d(size[0] + 2, channels, 8, stride=4, padding=2),
        nn.ReLU(),
        nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
    )
    with torch.no_grad():
        flat = layers(torch.zeros(1, size[0] + 2, *size[1:])).shape[1]
    return nn.Sequential(layers, nn.Linear(flat, features), nn.ReLU())


def _with_places(picture: Tensor) -> Tensor:
    """Return [B, 5, H, W]: the picture, x and y in -1 to 1."""
    count, _, height, width = picture.shape
    across = torch.linspace(-1, 1, width, device=picture.device).expand(count, 1, height, width)
    down = torch.linspace(-1, 1, height, device=picture.device)[:, None].expand(count, 1, height, width)
    return torch.cat([picture, across, down], dim=1)
