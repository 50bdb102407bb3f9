"""Episodes as messages: everything of them, so that whoever receives them can train on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import torch

from pixelis.agents.episodes.episode import Episode, Exchange, Segment

_APART = ("segments", "exchanges", "visual_tools")
_PLAIN = tuple(each.name for each in fields(Episode) if each.name not in _APART)
_ARRAYS = ("tokens", "loss_mask", "logprobs", "entropies")
_WORDS = ("text", "weight", "finish_reason", "weights_version")


def episodes_message(episodes: Sequence[Episode]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return episodes as a value and tensors for `pack`.

    A segment that several episodes share, as the members of a group do their prompt, is written once.
    """
    known: dict[int, int] = {}
    segments: list[Segment] = []
    rows = []
    for episode in episodes:
        for segment in episode.segments:
            if id(segment) not in known:
                known[id(segment)] = len(segments)
                segments.append(segment)
        rows.append(
            {name: getattr(episode, name) for name in _PLAIN}
            | {
                "segments": [known[id(segment)] for segment in episode.segments],
                "exchanges": [[e.action, e.heard, e.calls, e.terms] for e in episode.exchanges],
                "visual_tools": None if episode.visual_tools is None else sorted(episode.visual_tools),
            }
        )
    tensors = {
        f"{number}:{name}": tensor
        for number, segment in enumerate(segments)
        for name, tensor in segment.images.items()
    }
    return {"segments": [_segment_row(each) for each in segments], "episodes": rows}, tensors


def read_episodes(value: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> list[Episode]:
    """Return the episodes of a message."""
    images: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, keyword = name.partition(":")
        images.setdefault(int(number), {})[keyword] = tensor
    segments = [_segment(row, images.get(number, {})) for number, row in enumerate(value["segments"])]
    return [_episode(row, segments) for row in value["episodes"]]


def _segment_row(segment: Segment) -> dict[str, Any]:
    return {name: getattr(segment, name) for name in (*_ARRAYS, *_WORDS)} | {"images": [*segment.images]}


def _segment(row: Mapping[str, Any], images: Mapping[str, torch.Tensor]) -> Segment:
    ordered = {name: images[name] for name in row["images"]}
    return Segment(**{name: row[name] for name in (*_ARRAYS, *_WORDS)}, images=ordered)


def _episode(row: Mapping[str, Any], segments: Sequence[Segment]) -> Episode:
    visual = row["visual_tools"]
    return Episode(
        **{name: row[name] for name in _PLAIN},
        segments=[segments[number] for number in row["segments"]],
        exchanges=[Exchange(*each) for each in row["exchanges"]],
        visual_tools=None if visual is None else frozenset(visual),
    )
