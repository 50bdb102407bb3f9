"""Stage 1: teach ``pixelis-tiny`` to see where each sign is.

Supervised fine-tuning on ZOOM calls alone learned no localisation in many minutes. What makes it quick:

* every image is asked about *all* its signs in one sequence (colour, kind → place, five tokens each);
* each image patch that holds a sign must itself tell the sign's colour, in the space of the word embeddings,
  and its place;
* queries and keys start equal (see ``architecture``).

Later steps mix in the real prompt and the real ZOOM call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast

from pixelis.agents.models.chat import ChatFormat
from pixelis.envs.pixel.tools.palette import KINDS
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv, ask_for
from pixelis.envs.pixel.zoom_read.players import call
from pixelis_tiny.architecture import GRID, IMAGE_SIZE
from pixelis_tiny.scenes import COLOURS, SceneBatch
from pixelis_tiny.tokenizer import IMAGE_TOKEN, TENTHS

IGNORE = -100
ZOOM_FACTOR = 4
_MIN_SHARE = 0.3  # of a sign's area within a patch, for the patch to speak for it


@dataclass(frozen=True)
class PerceptionBatch:
    """One batch as tensors.

    Attributes:
        pixels: float32 ``(b, 3, s, s)`` in [-1, 1].
        tokens: int64 ``(b, t)``: user mark, image placeholders, then the row's text, padded.
        targets: int64 ``(b, t)``: the next token where it is learned, else ``IGNORE``.
        patch_colours: int64 ``(b, patches)``: index in ``COLOURS``; ``len(COLOURS)`` where there is no sign.
        patch_places: int64 ``(b, patches, 2)``: tenth of x and of y, ``IGNORE`` where there is no sign.
    """

    pixels: Tensor
    tokens: Tensor
    targets: Tensor
    patch_colours: Tensor
    patch_places: Tensor


class RowWriter(Protocol):
    """Writes what a row asks about an image, as tokens and next-token targets."""

    def write(
        self, colours: np.ndarray, kinds: np.ndarray, places: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[int], list[int]]:
        """Args: index of colour and kind of each sign, its place in tenths ``(signs, 2)``, a generator."""
        ...


class AllSigns:
    """Asks for every sign in one row, in random order: colour, kind, then the two tenths."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        ids = cast("Callable[[str], int]", tokenizer.convert_tokens_to_ids)
        self.prefix = [ids("<|user|>"), *[ids(IMAGE_TOKEN)] * (GRID * GRID)]
        self.colours = [[ids(word) for word in name.split()] for name in COLOURS]
        self.kinds = [ids(kind) for kind in KINDS]
        self.tenths = [ids(tenth) for tenth in TENTHS]

    def write(
        self, colours: np.ndarray, kinds: np.ndarray, places: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[int], list[int]]:
        """Return the row; only the tenths are learned."""
        tokens: list[int] = list(self.prefix)
        targets = [IGNORE] * len(self.prefix)
        for sign in rng.permutation(len(colours)):
            words = [*self.colours[colours[sign]], self.kinds[kinds[sign]]]
            place = [self.tenths[value] for value in places[sign]]
            tokens += words + place
            targets += [IGNORE] * (len(words) - 1) + place + [IGNORE]
        return tokens, targets


class ZoomCalls:
    """The environment's own prompt about one sign, and the ZOOM call there."""

    def __init__(self, processor: LlavaProcessor, model: LlavaForConditionalGeneration) -> None:
        self._chat = ChatFormat(processor, model.config, model.generation_config)
        self._instructions = ZoomReadEnv(reader="truth").instructions
        self._prompt = cache(self._make_prompt)
        self._call = cache(self._make_call)

    def _make_prompt(self, colour: int, kind: int) -> list[int]:
        text = f"{ask_for(COLOURS[colour], KINDS[kind])}\n{self._instructions}"
        blank = np.zeros((IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8)
        return self._chat.first(text, blank).tokens.tolist()

    def _make_call(self, x: int, y: int) -> list[int]:
        return self._chat.written(call("ZOOM", center=[x / 10, y / 10], factor=ZOOM_FACTOR)).tolist()

    def write(
        self, colours: np.ndarray, kinds: np.ndarray, places: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[int], list[int]]:
        """Return the row about one sign at random; the whole call is learned."""
        sign = int(rng.integers(len(colours)))
        prompt, turn = self._prompt(int(colours[sign]), int(kinds[sign])), self._call(*map(int, places[sign]))
        tokens = prompt + turn
        return tokens, [IGNORE] * (len(prompt) - 1) + turn + [IGNORE]


class PatchHeads(nn.Module):
    """What the patches must tell; thrown away after the stage."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, width: int) -> None:
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(width))
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.place = nn.Linear(width, 2 * len(TENTHS))
        self._words = torch.tensor([tokenizer.convert_tokens_to_ids(name.split()[0]) for name in COLOURS])

    def forward(self, features: Tensor, embedding: nn.Module, batch: PerceptionBatch) -> Tensor:
        """Return the mean cross-entropy of colours and of places; ``features`` is ``(b, patches, width)``."""
        names = torch.cat([embedding(self._words), self.nothing[None]])
        logits = self.scale * features @ names.T
        colour = F.cross_entropy(logits.flatten(0, 1), batch.patch_colours.flatten())
        place = self.place(features).unflatten(-1, (2, len(TENTHS)))
        return colour + F.cross_entropy(
            place.flatten(0, 2), batch.patch_places.flatten(), ignore_index=IGNORE
        )


def nearest_tenth(value: np.ndarray) -> np.ndarray:
    """Return the nearest of 0.0 … 0.9 as an index 0-9."""
    return np.clip(np.floor(value * 10 + 0.5), 0, 9).astype(np.int64)


def make_batch(
    data: SceneBatch, rows: np.ndarray, writer: RowWriter, pad: int, rng: np.random.Generator
) -> PerceptionBatch:
    """Return some scenes as a batch, their rows written by ``writer``."""
    pixels = torch.from_numpy(data.images[rows]).permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)
    colours, kinds, boxes = data.colours[rows], data.kinds[rows], data.boxes[rows]
    places = nearest_tenth((boxes[..., :2] + boxes[..., 2:]) / 2)
    present = colours >= 0
    written = [
        writer.write(colours[row][here], kinds[row][here], places[row][here], rng)
        for row, here in enumerate(present)
    ]
    tokens, targets = ([torch.tensor(row) for row in column] for column in zip(*written, strict=True))
    patch_colours, patch_places = _patch_targets(colours, boxes, places)
    return PerceptionBatch(
        pixels,
        nn.utils.rnn.pad_sequence(tokens, batch_first=True, padding_value=pad),
        nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=IGNORE),
        torch.from_numpy(patch_colours),
        torch.from_numpy(patch_places),
    )


def _patch_targets(
    colours: np.ndarray, boxes: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each patch the sign with the largest share of its own area inside, if at least ``_MIN_SHARE``."""
    edges = np.arange(GRID + 1) / GRID
    low, high = edges[:-1], edges[1:]
    wide = np.minimum(boxes[..., 2:3], high) - np.maximum(boxes[..., 0:1], low)  # (b, signs, GRID)
    tall = np.minimum(boxes[..., 3:4], high) - np.maximum(boxes[..., 1:2], low)
    area = np.clip(tall, 0, None)[..., :, None] * np.clip(wide, 0, None)[..., None, :]
    size = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    share = (area / np.maximum(size, 1e-9)[..., None, None]).reshape(
        *colours.shape, -1
    )  # (b, signs, patches)
    share[colours < 0] = 0
    best = share.argmax(1)  # (b, patches)
    found = share.max(1) >= _MIN_SHARE
    rows = np.arange(len(colours))[:, None]
    patch_colours = np.where(found, colours[rows, best], len(COLOURS))
    patch_places = np.where(found[..., None], places[rows, best], IGNORE)
    return patch_colours, patch_places


@dataclass(frozen=True)
class PerceptionLoss:
    """Scalars: mean cross-entropy of the rows' tokens and of the patches; share of places wholly right."""

    rows: Tensor
    patches: Tensor
    places_right: Tensor


def perception_loss(
    model: LlavaForConditionalGeneration, heads: PatchHeads, tenths: Tensor, batch: PerceptionBatch
) -> PerceptionLoss:
    """Return the losses of a batch; ``tenths`` are the token ids of 0.0 … 0.9."""
    seen: Any = model.model.get_image_features(pixel_values=batch.pixels)
    features = torch.stack(list(seen.pooler_output))
    embedding = model.get_input_embeddings()
    inputs = embedding(batch.tokens)
    inputs = torch.cat([inputs[:, :1], features.to(inputs.dtype), inputs[:, 1 + features.shape[1] :]], dim=1)
    hidden = model.model.language_model(inputs_embeds=inputs).last_hidden_state
    learned = batch.targets != IGNORE
    logits, targets = model.lm_head(hidden[learned]), batch.targets[learned]
    is_place = torch.isin(targets, tenths)
    right = (logits.detach().argmax(-1) == targets)[is_place].view(-1, 2).all(1).float().mean()
    return PerceptionLoss(F.cross_entropy(logits.float(), targets), heads(features, embedding, batch), right)
