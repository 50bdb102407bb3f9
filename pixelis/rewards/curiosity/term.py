"""Curiosity as a reward term: what the model did not expect is worth something, until it has been seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from pixelis.errors import RewardError, StateError
from pixelis.rewards.curiosity.dynamics import InverseModel, LoRADynamicsModel
from pixelis.rewards.curiosity.experience import ROW_DIMS, EncodedRows, check_packed
from pixelis.rewards.curiosity.lru_cache import AgedCache, LRUCache
from pixelis.rewards.curiosity.model import CuriosityModel
from pixelis.rewards.curiosity.settings import CuriositySettings
from pixelis.rewards.features.encoder import make_encoder
from pixelis.rewards.features.function_encoder import Embed
from pixelis.rewards.features.state_encoder import ACTION_DIMS, STATE_DIMS, Look, StateEncoder, check_features
from pixelis.rewards.features.text import action_text, hash_texts
from pixelis.rewards.terms.registry import make_settings
from pixelis.rewards.terms.state import check_version, state_item
from pixelis.rewards.terms.term import Transition

__all__ = [
    "CuriosityMemory",
    "CuriosityModel",
    "CuriositySettings",
    "CuriosityTerm",
    "InverseModel",
    "LoRADynamicsModel",
]

VERSION = 1
_LEAVES = ("text", "image", "value")

Seen = tuple[Look, str, Look]
"""A transition as the term keeps it: the look before, what was done, the look after."""


@dataclass(slots=True)
class CuriosityMemory:
    """The latest observation of an episode, with what was seen of it: the next step begins there."""

    observation: Mapping[str, Any] | None = None
    look: Look | None = None

    def recall(self, observation: Mapping[str, Any]) -> Look | None:
        """Return the look at an observation if it is the latest one: the same object, or made of the same."""
        if self.observation is None:
            return None
        if self.observation is observation:
            return self.look
        if len(observation) != len(self.observation) or not all(key in _LEAVES for key in observation):
            return None
        same = all(
            key in self.observation and self.observation[key] is observation[key] for key in observation
        )
        return self.look if same else None


class CuriosityTerm:
    """Pays for transitions that the dynamics model predicts badly; see ``CuriosityModel`` for the formula.

    Rewards are cached by (state, action, next state) for as long as the model has not moved far, and equal
    transitions of one batch are scored once. Two metrics tell how often either helped: the cache does where
    the same steps come again within some ``cache_max_age`` updates (a small world, few levels), and not where
    every episode has a task of its own (``benchmarks/studies/curiosity_cache.py``).

    A turn with a call that was not carried out is worth 0 and is not learnt from: its answer speaks of the
    call and not of the world, each malformed call has a new one, and a policy that is paid for what is new
    comes to write nothing else (measured on ZoomRead).

    Not potential-based: it changes which policy is best, the less the longer it learns.

    It helps to find a tool that is hardly ever used (ZoomRead: sooner than by the task alone, as far in the
    end). It did not help on web sites, and on code it was behind (``docs/results``, "Rewards").

    Args:
        encoder: ``hashed``, ``sentence-transformer``, ``clip``, a function from an observation to 768
            numbers, or a ``StateEncoder``.
        name: what the term is called.
        settings: fields of ``CuriositySettings``, by keyword.

    Attributes:
        steps: transitions scored so far.
        duplicates: those among them that were equal to another one of their batch, and so not looked up.
        cache: rewards by transition, with the counts of its look-ups.

    Raises:
        ConfigError: a setting is unknown or out of range.
        MissingDependencyError: the encoder needs an extra that is not installed.
    """

    def __init__(
        self, *, encoder: str | Embed | StateEncoder = "hashed", name: str = "curiosity", **settings: Any
    ) -> None:
        self.name, self.settings = name, make_settings(CuriositySettings, name, settings)
        self.encoder = make_encoder(encoder, self.settings.seed, name)
        self.model = CuriosityModel(self.settings)
        self.cache = AgedCache(self.settings.cache_size, self.settings.cache_max_age)
        # Of two states for each cached reward: a hit must not have to be encoded to be learnt from.
        self._features: LRUCache[np.ndarray] = LRUCache(2 * self.settings.cache_size)
        self.steps = self.duplicates = 0
        self._scored: list[Seen] = []
        self._restored = torch.zeros(0, ROW_DIMS, dtype=torch.float16)  # scored before the state was saved

    def begin(self) -> CuriosityMemory:
        """Return the memory of an episode that begins."""
        return CuriosityMemory()

    def score(self, steps: Sequence[tuple[CuriosityMemory, Transition]]) -> list[float]:
        """Return the intrinsic reward of each step, at least 0; 0 where a call was not carried out.

        Raises:
            RewardError: an observation holds nothing that can be encoded, or NaN or infinity; or an embedding
                has not 768 numbers.
        """
        looked = [self._see(memory, step) for memory, step in steps]
        done = [_carried_out(step) for _, step in steps]
        seen = [transition for transition, counts in zip(looked, done, strict=True) if counts]
        keys = [_key(*transition) for transition in seen]
        known: dict[bytes, float] = {}
        missing: dict[bytes, Seen] = {}
        different = dict(zip(keys, seen, strict=True))
        self.steps += len(keys)
        self.duplicates += len(keys) - len(different)
        for key, transition in different.items():
            value = self.cache.get(key, self.model.updates)
            if value is None:
                missing[key] = transition
            else:
                known[key] = value
        if missing:
            known |= zip(missing, self._score_new(list(missing.values())), strict=True)
            for key in missing:
                self.cache.put(key, known[key], self.model.updates)
        self._scored += seen
        return _spread((known[key] for key in keys), done)

    def measure(self, transitions: Sequence[Transition]) -> list[float]:
        """Return what transitions are worth to the model as it is: not cached, and nothing to learn from."""
        done = [_carried_out(step) for step in transitions]
        seen = [
            (self._look(step.observation), action_text(step.action), self._look(step.next_observation))
            for step, counts in zip(transitions, done, strict=True)
            if counts
        ]
        return _spread(self._score_new(seen) if seen else (), done)

    def learn(self) -> dict[str, float]:
        """Train on what was scored since the last call, in bounded time; return metrics.

        Transitions wait until there are ``fresh_size`` of them. Metrics: ``updates``; of all transitions so
        far ``duplicate_rate``, the share that was equal to another one of the same batch; of all look-ups in
        the cache, one for each different transition of a batch, ``cache_hit_rate``, the share that it
        answered, and ``stale``, the number that it would have answered with too old a value; and after a step
        ``forward_loss``, ``inverse_loss`` and ``gates_mean``.
        """
        packed, self._scored = self._packed(), []
        self._restored = self._restored[:0]
        return {
            **self.model.learn(packed),
            "duplicate_rate": self.duplicates / max(1, self.steps),
            "cache_hit_rate": self.cache.hit_rate,
            "stale": float(self.cache.stale),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return models, optimiser, memory, cache and generator: JSON values and tensors."""
        return {
            "version": VERSION,
            "settings": self._identity(),
            "model": self.model.state_dict(),
            "cache": self.cache.state_dict(),
            "steps": [self.steps, self.duplicates],
            "scored": self._packed(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put a state back.

        Raises:
            StateError: it is of another version or other settings, or incomplete; the term is as it was.
        """
        state = check_version(state, self.name, VERSION)
        saved, own = dict(state_item(state, self.name, "settings")), self._identity()
        for key in sorted({*saved, *own}):
            if saved.get(key) != own.get(key):
                raise StateError(
                    f"{self.name}: the state was saved with {key} = {saved.get(key)!r}, this term has "
                    f"{own.get(key)!r}; make the term with the same settings, or start afresh"
                )
        parts = [state_item(state, self.name, key) for key in ("model", "cache", "scored", "steps")]
        model, cache = CuriosityModel(self.settings), AgedCache(self.settings.cache_size, self.cache.max_age)
        try:
            model.load_state_dict(parts[0])
            cache.load_state_dict(parts[1])
            scored = check_packed(parts[2])
            steps, duplicates = map(int, parts[3])
        except (KeyError, ValueError, TypeError, RuntimeError, AttributeError) as error:
            raise StateError(f"{self.name}: the state is incomplete or damaged: {error}") from error
        self.model, self.cache, self._restored, self._scored = model, cache, scored, []
        self.steps, self.duplicates = steps, duplicates

    # ------------------------------------------------------------------ private

    def _identity(self) -> dict[str, Any]:
        return {**asdict(self.settings), "encoder": self.encoder.name}

    def _see(self, memory: CuriosityMemory, step: Transition) -> Seen:
        before = memory.recall(step.observation) or self._look(step.observation)
        after = self._look(step.next_observation)
        memory.observation, memory.look = step.next_observation, after
        return before, action_text(step.action), after

    def _look(self, observation: Mapping[str, Any]) -> Look:
        look = self.encoder.look(observation)
        if look.features is None:
            look.features = self._features.get(look.digest)
        return look

    def _score_new(self, seen: Sequence[Seen]) -> list[float]:
        values = self.model.rewards(self._rows(seen)).tolist()
        for value in values:
            if not math.isfinite(value):
                raise RewardError(
                    f"{self.name}: the reward of a transition is {value}; the encoder's embeddings are too "
                    "large, scale them to a mean square of about 1"
                )
        return values

    def _packed(self) -> torch.Tensor:
        if not self._scored:
            return self._restored.clone()
        return torch.cat([self._restored, self._rows(self._scored).packed()])

    def _rows(self, seen: Sequence[Seen]) -> EncodedRows:
        """Return the encoded transitions; equal looks are encoded once."""
        features = self._encoded([before for before, _, _ in seen] + [after for _, _, after in seen])
        states, nexts = (
            torch.from_numpy(np.stack(side)) for side in (features[: len(seen)], features[len(seen) :])
        )
        actions = hash_texts([action for _, action, _ in seen], ACTION_DIMS, self.settings.seed)
        return EncodedRows(states, torch.from_numpy(actions), nexts)

    def _encoded(self, looks: Sequence[Look]) -> list[np.ndarray]:
        """Return the features of looks, and note them there; what was seen is then let go."""
        new = {look.digest: look for look in looks if look.features is None}
        known: dict[bytes, np.ndarray] = {}
        if new:
            rows = self.encoder.encode(list(new.values()))
            rows = check_features(rows, (len(new), STATE_DIMS), self.encoder.name, self.name)
            known = {digest: row.copy() for digest, row in zip(new, rows, strict=True)}  # none keeps them all
        for digest, row in known.items():
            self._features.put(digest, row)
        for look in looks:
            if look.features is None:
                look.features, look.seen = known[look.digest], None
        return [look.features for look in looks if look.features is not None]


def _carried_out(step: Transition) -> bool:
    return all(call.get("ok", True) for call in step.calls)


def _spread(values: Iterable[float], counts: Sequence[bool]) -> list[float]:
    """Return the next value where one counts, 0 elsewhere."""
    left = iter(values)
    return [next(left) if one else 0.0 for one in counts]


def _key(before: Look, action: str, after: Look) -> bytes:
    done = blake2b(action.encode("utf-8", "surrogatepass"), digest_size=16)
    return before.digest + done.digest() + after.digest
