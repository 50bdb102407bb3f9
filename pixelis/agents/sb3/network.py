"""The small network that all agents of this package train."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pixelis.agents.sb3.library import BaseFeaturesExtractor

PICTURES = ("overview", "view")
MEASURED = ("box", "last_result")
_PATCH = 8  # pixels
_FREQUENCIES = 3  # of the waves over a place: the last has a period of a quarter of the scene


class PictureFeatures(BaseFeaturesExtractor):
    """Features of `DiscreteToolActions`' observations: each picture by convolutions, the rest as it is.

    A picture float [B, 3, 96, 96] in 0-1 is cut into patches of 8 × 8 pixels by a first convolution. Two
    channels with each patch's x and y are added (CoordConv, Liu et al. 2018, arXiv 1807.03247; after the
    patches, where they cost little), then come a 3 × 3 convolution of stride 2 and a linear layer. The
    weights of the two pictures are apart. A linear layer cannot tell one cell of a grid from a place in 0-1,
    so places and measurements also come as Fourier features, sin and cos of π, 2π and 4π times the value
    (Tancik et al. 2020, arXiv 2006.10739).

    Args:
        observation_space: with channels first.
        channels: of the first convolution.
        features: that are made of each picture.
    """

    def __init__(self, observation_space: spaces.Dict, channels: int = 16, features: int = 128) -> None:
        vectors = [name for name in observation_space.spaces if name not in PICTURES]
        width = sum(int(observation_space[name].shape[0]) for name in vectors)  # type: ignore[index]
        waves = sum(2 * _FREQUENCIES * int(observation_space[name].shape[0]) for name in MEASURED)  # type: ignore[index]
        super().__init__(observation_space, len(PICTURES) * features + width + waves)
        self._vectors = vectors
        self.pictures = nn.ModuleDict(
            {name: Tower(observation_space[name].shape, channels, features) for name in PICTURES}
        )

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return float [B, 2 · features + the vectors' lengths + their Fourier features]."""
        parts = [self.pictures[name](observations[name]) for name in PICTURES]
        parts += [observations[name] for name in self._vectors]
        return torch.cat([*parts, *(_waves(observations[name]) for name in MEASURED)], dim=1)


class Tower(nn.Module):
    """Convolutions over one picture.

    Args:
        shape: of the picture, (3, height, width).
        channels: of the patches.
        features: that are made.
    """

    def __init__(self, shape: Any, channels: int, features: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(shape[0], channels, _PATCH, stride=_PATCH)
        self.places = nn.Conv2d(channels + 2, 2 * channels, 3, stride=2, padding=1)
        with torch.no_grad():
            flat = self._convolved(torch.zeros(1, *shape)).shape[1]
        self.features = nn.Linear(flat, features)

    def forward(self, picture: Tensor) -> Tensor:
        """Return float [B, features] of pictures float [B, 3, H, W]."""
        return self.features(self._convolved(picture)).relu()

    def _convolved(self, picture: Tensor) -> Tensor:
        return self.places(_with_places(self.patches(picture).relu())).relu().flatten(1)


def _with_places(picture: Tensor) -> Tensor:
    """Return [B, C + 2, H, W]: the picture, x and y in -1 to 1."""
    count, _, height, width = picture.shape
    across = torch.linspace(-1, 1, width, device=picture.device).expand(count, 1, height, width)
    down = torch.linspace(-1, 1, height, device=picture.device)[:, None].expand(count, 1, height, width)
    return torch.cat([picture, across, down], dim=1)


def _waves(values: Tensor) -> Tensor:
    """Return [B, 2 · _FREQUENCIES · N]: sin and cos of values [B, N] in -1 to 1."""
    angles = torch.cat([torch.pi * 2**power * values for power in range(_FREQUENCIES)], dim=1)
    return torch.cat([angles.sin(), angles.cos()], dim=1)
