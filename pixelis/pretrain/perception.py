"""Stage 1: teach ``pixelis-tiny`` to see where each sign is.

Plain supervised fine-tuning on ZOOM calls alone learns no localisation for a long time. Two things make it quick:
every image is asked about *all* its signs in one sequence (colour, kind → place, five tokens each), and each image
patch that holds a sign must itself tell the sign's colour, in the space of the word embeddings, and its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlavaForConditionalGeneration, PreTrainedTokenizerFast

from pixelis.envs.pixel.palette import KINDS
from pixelis.pretrain.architecture import GRID
from pixelis.pretrain.scenes import COLOURS, SceneBatch
from pixelis.pretrain.tokenizer import IMAGE_TOKEN, TENTHS

IGNORE = -100
_MIN_SHARE = 0.3  # of a sign's area within a patch, for the patch to speak for it


@dataclass(frozen=True)
class PerceptionBatch:
    """One batch as tensors.

    Attributes:
        pixels: float32 ``(b, 3, s, s)`` in [-1, 1].
        tokens: int64 ``(b, t)``: user mark, image placeholders, then the questions and places, padded.
        targets: int64 ``(b, t)``: the token that follows where it is a place, else ``IGNORE``.
        patch_colours: int64 ``(b, patches)``: index in ``COLOURS``; ``len(COLOURS)`` where there is no sign.
        patch_places: int64 ``(b, patches, 2)``: tenth of x and of y, ``IGNORE`` where there is no sign.
    """

    pixels: Tensor
    tokens: Tensor
    targets: Tensor
    patch_colours: Tensor
    patch_places: Tensor


class PatchHeads(nn.Module):
    """What the patches must tell; thrown away after the stage."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(width))
        self.place = nn.Linear(width, 2 * len(TENTHS))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, features: Tensor, colour_words: Tensor, batch: PerceptionBatch) -> Tensor:
        """Return the mean cross-entropy of colours and places; ``features`` is ``(b, patches, width)``."""
        names = torch.cat([colour_words, self.nothing[None]])
        colour = F.cross_entropy(
            (self.scale * features @ names.T).flatten(0, 1), batch.patch_colours.flatten()
        )
        place = self.place(features).unflatten(-1, (2, len(TENTHS)))
        return colour + F.cross_entropy(
            place.flatten(0, 2), batch.patch_places.flatten(), ignore_index=IGNORE
        )


def tenth(value: np.ndarray) -> np.ndarray:
    """Return the nearest of 0.0 … 0.9 as an index 0-9."""
    return np.clip(np.floor(value * 10 + 0.5), 0, 9).astype(np.int64)


def make_batch(
    data: SceneBatch, rows: np.ndarray, vocabulary: Vocabulary, rng: np.random.Generator
) -> PerceptionBatch:
    """Return the rows as a batch; the order of the questions is random."""
    pixels = torch.from_numpy(data.images[rows]).permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)
    colours, boxes = data.colours[rows], data.boxes[rows]
    centers = tenth((boxes[..., :2] + boxes[..., 2:]) / 2)
    sequences, targets = [], []
    for row in range(len(rows)):
        order = rng.permutation(np.flatnonzero(colours[row] >= 0))
        tokens, target = vocabulary.questions(colours[row], data.kinds[rows[row]], centers[row], order)
        sequences.append(tokens)
        targets.append(target)
    patch_colours, patch_places = _patch_targets(colours, boxes, centers)
    pad = nn.utils.rnn.pad_sequence
    return PerceptionBatch(
        pixels,
        pad([torch.tensor(s) for s in sequences], batch_first=True, padding_value=vocabulary.pad),
        pad([torch.tensor(t) for t in targets], batch_first=True, padding_value=IGNORE),
        torch.from_numpy(patch_colours),
        torch.from_numpy(patch_places),
    )


class Vocabulary:
    """Token ids of the words that questions about places are made of."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        ids = tokenizer.convert_tokens_to_ids
        self.pad = tokenizer.pad_token_id
        self.prefix = [ids("<|user|>"), *[ids(IMAGE_TOKEN)] * (GRID * GRID)]
        self.colours = [[ids(word) for word in name.split()] for name in COLOURS]
        self.kinds = [ids(kind) for kind in KINDS]
        self.tenths = [ids(tenth) for tenth in TENTHS]

    def questions(
        self, colours: np.ndarray, kinds: np.ndarray, centers: np.ndarray, order: np.ndarray
    ) -> tuple[list[int], list[int]]:
        """Return tokens and next-token targets: prefix, then colour, kind, x, y for each sign in ``order``."""
        tokens, targets = list(self.prefix), [IGNORE] * len(self.prefix)
        for sign in order:
            words = [*self.colours[colours[sign]], self.kinds[kinds[sign]]]
            place = [self.tenths[value] for value in centers[sign]]
            tokens += words + place
            targets += [IGNORE] * (len(words) - 1) + place + [IGNORE]
        return tokens, targets


def _patch_targets(
    colours: np.ndarray, boxes: np.ndarray, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each patch the sign with the largest share of its own area inside, if that is at least ``_MIN_SHARE``."""
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
    patch_places = np.where(found[..., None], centers[rows, best], IGNORE)
    return patch_colours, patch_places


def perception_loss(
    model: LlavaForConditionalGeneration, heads: PatchHeads, vocabulary: Vocabulary, batch: PerceptionBatch
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss on places, the loss of the patches, and the share of places (x and y) that are right."""
    features = torch.stack(list(model.model.get_image_features(pixel_values=batch.pixels).pooler_output))
    embed = model.get_input_embeddings()
    inputs = embed(batch.tokens)
    inputs = torch.cat([inputs[:, :1], features, inputs[:, 1 + features.shape[1] :]], dim=1)
    hidden = model.model.language_model(inputs_embeds=inputs).last_hidden_state
    asked = batch.targets != IGNORE
    logits = model.lm_head(hidden[asked])
    targets = batch.targets[asked]
    first_words = torch.tensor([words[0] for words in vocabulary.colours])
    patches = heads(features, embed(first_words), batch)
    right = (logits.detach().argmax(-1) == targets).view(-1, 2).all(1).float().mean()
    return F.cross_entropy(logits, targets), patches, right
