"""Episodes as token segments: what a rollout hands to a trainer.

Token ids are the truth and text is a view of them, so nothing here is ever tokenised again. An episode is a
list of segments in the order in which the model read or wrote them: the prompt, a sampled turn, the
observation that followed, the next sampled turn, and so on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from pixelis.errors import ModelLoadError

FinishReason = Literal["stop", "length"]
"""Why a sampled turn ended: the model ended it, or the most tokens that it could have were written."""

_ALIGNED = ("loss_mask", "logprobs", "entropies")
_SAYS_WHAT_IS_REAL = frozenset({"image_sizes", "pixel_attention_mask"})


@dataclass(frozen=True)
class Shown:
    """A picture among tokens, as engines take it that have an image processor of their own.

    Attributes:
        tokens: those of the segment with one placeholder where the picture is, int64 [m].
        picture: uint8 [H, W, 3].
    """

    tokens: np.ndarray
    picture: np.ndarray


@dataclass(frozen=True)
class Segment:
    """One stretch of tokens: a prompt, a sampled turn, or an observation.

    Attributes:
        tokens: token ids, int64 of shape [n].
        loss_mask: bool of shape [n], True where the policy sampled the token.
        logprobs: float32 of shape [n], natural log of the probability the sampler gave each sampled token at
            its temperature (before any nucleus truncation, unless ``SamplingSettings.record_kept``); 0 where
            the token was not sampled.
        images: the processor's tensors for the images of this segment, by the model's own keyword
            (``pixel_values``, ...), their first axis counting images or patches; empty without images.
        text: the same stretch decoded, for people; never fed back to a model.
        entropies: float32 of shape [n], entropy in nats of the distribution that each sampled token was drawn
            from, for people; None where it was not kept.
        weight: what each of its tokens counts in supervised training, >= 0.
        finish_reason: why a sampled turn ended, as whoever sampled it says; None where nobody sampled it.
        weights_version: of the weights that sampled it, see `Policy.weights_version`; likewise.
        shown: the picture that its images are of, for whoever samples; the collector keeps none of it.
    """

    tokens: np.ndarray
    loss_mask: np.ndarray
    logprobs: np.ndarray
    images: Mapping[str, torch.Tensor] = field(default_factory=dict)
    text: str = ""
    entropies: np.ndarray | None = None
    weight: float = 1.0
    finish_reason: FinishReason | None = None
    weights_version: int | None = None
    shown: Shown | None = None

    def __post_init__(self) -> None:
        """Check that the arrays describe the same tokens."""
        if self.tokens.ndim != 1:
            raise ValueError(f"segment tokens must be one-dimensional, got shape {self.tokens.shape}")
        for name in _ALIGNED:
            array = getattr(self, name)
            if array is not None and array.shape != self.tokens.shape:
                raise ValueError(f"segment {name} must have shape {self.tokens.shape}, got {array.shape}")

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.tokens)

    @cached_property
    def content(self) -> bytes:
        """A digest of tokens and images; segments that agree in it are the same to a model."""
        digest = hashlib.sha256(self.tokens.tobytes())
        for name, value in sorted(self.images.items()):
            digest.update(f"{name}{value.dtype}{tuple(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.digest()

    @property
    def sampled(self) -> bool:
        """Whether the policy wrote any token of this segment."""
        return bool(self.loss_mask.any())

    def without_picture(self) -> Segment:
        """Return the same without the picture that its images are of."""
        return self if self.shown is None else replace(self, shown=None)

    @classmethod
    def given(
        cls,
        tokens: Sequence[int] | np.ndarray,
        text: str = "",
        images: Mapping[str, torch.Tensor] | None = None,
        shown: Shown | None = None,
    ) -> Segment:
        """Return a segment the policy read (a prompt or an observation)."""
        ids = np.asarray(tokens, dtype=np.int64)
        nothing = np.zeros(len(ids), bool), np.zeros(len(ids), np.float32)
        return cls(ids, *nothing, dict(images or {}), text, shown=shown)

    @classmethod
    def written(
        cls,
        tokens: Sequence[int] | np.ndarray,
        logprobs: Sequence[float] | np.ndarray | None = None,
        text: str = "",
    ) -> Segment:
        """Return a segment the policy wrote; ``logprobs`` defaults to zeros (demonstrations)."""
        ids = np.asarray(tokens, dtype=np.int64)
        logs = np.zeros(len(ids)) if logprobs is None else np.asarray(logprobs)
        return cls(ids, np.ones(len(ids), bool), logs.astype(np.float32), {}, text)

    @classmethod
    def sampled_turn(
        cls,
        tokens: np.ndarray,
        logprobs: np.ndarray,
        text: str,
        *,
        finish_reason: FinishReason,
        weights_version: int,
        entropies: np.ndarray | None = None,
    ) -> Segment:
        """Return what a sampler returns; see the attributes."""
        turn = cls.written(tokens, logprobs, text)
        return replace(
            turn, entropies=entropies, finish_reason=finish_reason, weights_version=weights_version
        )


@dataclass(frozen=True)
class Exchange:
    """One env step in words: what was said to the env, and what it answered.

    Attributes:
        action: what ``step`` was given, a turn of the agent's; where a wrapper made one of it, that one
            (``info["turn"]``).
        heard: the text of the observation that followed; None where the env failed, or observes no text.
        calls: how many of the episode's ``tool_calls`` this step added.
        terms: what this step added to the episode's ``reward_terms``, and where reward terms are paid, the
            raw value of each in this step.
    """

    action: Any
    heard: str | None
    calls: int
    terms: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Episode:
    """One played episode.

    Attributes:
        env_id: the Gymnasium id it was played in.
        seed: the reset seed, shared by the members of a group.
        group: which group of the batch it belongs to.
        member: its index inside the group, from 0.
        segments: the tokens in order, see `Segment`.
        reward: sum of ``turn_rewards``.
        turn_rewards: the reward of each env step, in order; the step answers the written segment of the same
            index.
        success: ``info["success"]`` at the end, None when the env does not say.
        terminated: the task ended.
        truncated: the turn limit or the model's context ended it.
        cut_off: the model's context was full before the env had ended the episode, so it could not say how.
        cut_turns: how many turns ended at the token limit, and not where the model ended them.
        turns: number of env steps taken.
        reward_terms: named reward terms, summed over the steps.
        reward_parts: where reward terms are added (see `pixelis.agents.episodes.rewarder`): the task's name
            and each term's → its sum over the episode ``raw``, ``normalised``, and ``weighted`` as paid.
        tool_calls: the results the env reported, in order.
        visual_tools: the env's tools that look at pixels; None where it declares no tools.
        options: what ``reset`` was given beside the seed.
        asked: the text of the first observation; None where there is none.
        exchanges: one for each env step, in order, that of a step in which the env failed included.
        pictures: what the observations showed, uint8 [H, W, 3]: the first one's and that of each exchange,
            None where there was no new one; empty where nobody asked for them (`EpisodeRequest.pictures`).
        info: the last info of the env without the entries above.
        valid_for_training: False when the infrastructure failed; a trainer must leave the episode out.
        failure_reason: why it is not valid.
        failure_place: the line of the user's code that this comes from, as ``file:line``; None where it is
            not known.
        failure_trace: the traceback as text, where something was raised.
    """

    env_id: str
    seed: int
    group: int
    member: int
    segments: list[Segment] = field(default_factory=list)
    reward: float = 0.0
    success: bool | None = None
    terminated: bool = False
    truncated: bool = False
    turns: int = 0
    reward_terms: dict[str, float] = field(default_factory=dict)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    valid_for_training: bool = True
    failure_reason: str | None = None
    turn_rewards: list[float] = field(default_factory=list)
    reward_parts: dict[str, dict[str, float]] = field(default_factory=dict)
    cut_off: bool = False
    cut_turns: int = 0
    failure_place: str | None = None
    failure_trace: str | None = None
    visual_tools: frozenset[str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    asked: str | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    pictures: list[np.ndarray | None] = field(default_factory=list)

    @property
    def is_unlabelled(self) -> bool:
        """Whether the env says that nobody knows what is right here, which is no failure."""
        return self.success is None and self.info.get("unlabelled") is True

    @property
    def tokens(self) -> np.ndarray:
        """All token ids, int64 [T]."""
        return self._joined("tokens", np.int64)

    @property
    def loss_mask(self) -> np.ndarray:
        """True where the policy sampled the token, bool [T]."""
        return self._joined("loss_mask", np.bool_)

    @property
    def logprobs(self) -> np.ndarray:
        """The sampler's log-probabilities, float32 [T], 0 where not sampled."""
        return self._joined("logprobs", np.float32)

    @property
    def weights(self) -> np.ndarray:
        """What each token counts in supervised training, float32 [T]."""
        parts = [np.full(len(segment), segment.weight, np.float32) for segment in self.segments]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    @property
    def images(self) -> dict[str, torch.Tensor]:
        """The image tensors of all segments, concatenated on their first axis in token order."""
        return join_images([segment.images for segment in self.segments])

    @property
    def weights_versions(self) -> frozenset[int]:
        """The versions of the weights that sampled its turns; empty where nobody says."""
        found = (segment.weights_version for segment in self.segments)
        return frozenset(version for version in found if version is not None)

    @property
    def prompt_length(self) -> int:
        """Number of tokens before the first sampled one (all of them if none was sampled)."""
        mask = self.loss_mask
        return int(mask.argmax()) if mask.any() else len(mask)

    @property
    def completion_length(self) -> int:
        """Number of tokens the policy sampled."""
        return int(self.loss_mask.sum())

    @property
    def text(self) -> str:
        """The whole episode as text, for people."""
        return "".join(segment.text for segment in self.segments)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return sum(len(segment) for segment in self.segments)

    def _joined(self, name: str, dtype: type) -> np.ndarray:
        parts = [getattr(segment, name) for segment in self.segments]
        return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def join_images(parts: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Concatenate image tensors on their first axis, in the order given; parts without images are skipped.

    Pictures with other numbers of tiles (LLaVA-NeXT) or other sides (Idefics2) are filled up with zeros, as
    their processors do with several pictures: the sizes or the mask that go with them say what is real.

    Raises:
        ModelLoadError: pictures differ in shape and nothing says what of a filled-up one is real.
    """
    keys = {key: None for part in parts for key in part}
    return {key: _stacked(key, [part[key] for part in parts if key in part], set(keys)) for key in keys}


def _stacked(key: str, values: Sequence[torch.Tensor], known: Collection[str]) -> torch.Tensor:
    shapes = {value.shape[1:] for value in values}
    if len(shapes) == 1:
        return torch.cat(list(values))
    if len({len(shape) for shape in shapes}) > 1 or not _SAYS_WHAT_IS_REAL & set(known):
        raise ModelLoadError(
            f"the model's processor makes {key} of different shapes, {sorted(map(tuple, shapes))}, without "
            f"{' or '.join(sorted(_SAYS_WHAT_IS_REAL))}, so they cannot go into one batch; show pictures of "
            "one size, or use another model"
        )
    largest = [max(sides) for sides in zip(*shapes, strict=True)]
    filled = values[0].new_zeros(sum(map(len, values)), *largest)
    start = 0
    for value in values:
        region = (slice(start, start + len(value)), *(slice(side) for side in value.shape[1:]))
        filled[region] = value
        start += len(value)
    return filled
