"""Coherence: whether an episode's tool calls follow from one another."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.terms.checks import check_finite, check_name_mapping, check_name_pairs, check_names
from pixelis.rewards.terms.registry import make_settings
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.user_code import load

Encoder = Callable[[Mapping[str, Any]], np.ndarray]
"""From an observation to its embedding, float32 [d]."""
ENCODERS = ("hashed", "sentence-transformer", "clip")
"""Those that ``pixelis.rewards.features.encoder`` makes by name."""


@dataclass(frozen=True)
class CoherenceSettings:
    """What is rewarded and by how much.

    Pairs, prerequisites, repeatable and ignored tools that are not given here are those that the environment
    declares (see `CoherenceTerm.adapt`); where it declares none, there are none.

    Attributes:
        good_pairs: (tool, next tool) that belong together, when both calls were carried out.
        good: value of such a pair.
        repetition: value of a call that repeats the one before, or of two calls that repeat an earlier two;
            the arguments must be equal.
        contradiction: value of a call that needs another tool's result before any call made one.
        prerequisites: tool → tool that must have been carried out before.
        repeatable: tools of which the same call twice in a row is no repetition.
        ignored: tools without effect; calls of them neither join nor part two others.
        near: bounds of the mean cosine similarity that is right, and its value.
        same: the similarity above which states hardly change, and its value.
        unrelated: the similarity below which states have nothing to do with each other, and its value.
    """

    good_pairs: frozenset[tuple[str, str]] = frozenset()
    good: float = 0.2
    repetition: float = -0.5
    contradiction: float = -0.3
    prerequisites: Mapping[str, str] = field(default_factory=dict)
    repeatable: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    near: tuple[float, float, float] = (0.3, 0.7, 0.3)
    same: tuple[float, float] = (0.9, -0.2)
    unrelated: tuple[float, float] = (0.1, -0.3)

    def __post_init__(self) -> None:
        """Take YAML's lists as the sets and tuples they stand for, and check kinds and numbers."""
        checked: dict[str, Any] = {
            name: check_finite(f"coherence: {name}", getattr(self, name))
            for name in ("good", "repetition", "contradiction")
        }
        for name, size in (("near", 3), ("same", 2), ("unrelated", 2)):
            value = getattr(self, name)
            if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != size:
                raise ConfigError(f"coherence: {name} takes {size} finite numbers, got {value!r:.80}")
            checked[name] = tuple(check_finite(f"coherence: {name}", each) for each in value)
        for name in ("repeatable", "ignored"):
            checked[name] = frozenset(check_names(f"coherence: {name}", getattr(self, name)))
        checked["good_pairs"] = check_name_pairs("coherence: good_pairs", self.good_pairs)
        checked["prerequisites"] = check_name_mapping("coherence: prerequisites", self.prerequisites)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class ReportedCall:
    """What coherence keeps of a tool call: name, arguments as canonical JSON, and whether it was done."""

    tool: str
    arguments: str
    ok: bool

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> ReportedCall:
        """Return the call of a record of ``info["tool_calls"]``; one without ``ok`` counts as done."""
        arguments = json.dumps(record.get("arguments") or {}, sort_keys=True, default=repr)
        return cls(str(record.get("tool", "")), arguments, bool(record.get("ok", True)))


def coherence(
    calls: Sequence[Mapping[str, Any] | ReportedCall],
    similarity: float | None = None,
    settings: CoherenceSettings | None = None,
) -> float:
    """Return the coherence of an episode, in [-1, 1].

    The mean of the terms that apply, clipped to ±1: one for each good pair, repetition and contradiction, and
    one for the similarity of states. 0 for fewer than two calls, and when no term applies. A pair in the
    other order is no fault: a second object is measured.

    Args:
        calls: the episode's calls in order, records or ``ReportedCall``.
        similarity: mean cosine of consecutive state embeddings, in [-1, 1]; None leaves the term out.
        settings: the constants.
    """
    settings = settings or CoherenceSettings()
    made = [call if isinstance(call, ReportedCall) else ReportedCall.of(call) for call in calls]
    made = [call for call in made if call.tool not in settings.ignored]
    if len(made) < 2:
        return 0.0
    terms = [*_pair_terms(made, settings), *_contradictions(made, settings)]
    if similarity is not None:
        terms += _similarity_term(similarity, settings)
    return max(-1.0, min(1.0, sum(terms) / len(terms))) if terms else 0.0


def _pair_terms(calls: Sequence[ReportedCall], settings: CoherenceSettings) -> list[float]:
    terms: list[float] = []
    seen: set[tuple[str, str, str, str]] = set()
    for a, b in itertools.pairwise(calls):
        pair = (a.tool, a.arguments, b.tool, b.arguments)
        if {a.tool, b.tool} <= settings.repeatable:
            continue
        if pair[:2] == pair[2:] or pair in seen:
            terms.append(settings.repetition)
        elif a.ok and b.ok and (a.tool, b.tool) in settings.good_pairs:
            terms.append(settings.good)
        seen.add(pair)
    return terms


def _contradictions(calls: Sequence[ReportedCall], settings: CoherenceSettings) -> list[float]:
    terms: list[float] = []
    done: set[str] = set()
    for call in calls:
        needed = settings.prerequisites.get(call.tool)
        if needed is not None and needed not in done:
            terms.append(settings.contradiction)
        if call.ok:
            done.add(call.tool)
    return terms


def _similarity_term(similarity: float, settings: CoherenceSettings) -> list[float]:
    low, high, value = settings.near
    if low <= similarity <= high:
        return [value]
    if similarity > settings.same[0]:
        return [settings.same[1]]
    return [settings.unrelated[1]] if similarity < settings.unrelated[0] else []


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine of two embeddings [d], in [-1, 1]; 0 when one of them is zero."""
    scale = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return max(-1.0, min(1.0, float(np.dot(a, b)) / scale)) if scale > 0 else 0.0


@dataclass
class CoherenceMemory:
    """An episode so far.

    Attributes:
        calls: its tool calls.
        cosines: the cosine of each observation and the next.
        embedding: that of the latest observation.
    """

    calls: list[ReportedCall] = field(default_factory=list)
    cosines: list[float] = field(default_factory=list)
    embedding: np.ndarray | None = None


class CoherenceTerm:
    """Pays ``coherence`` of the whole episode with its last step, and 0 before. Not potential-based.

    It helps to find tools that belong together and are hardly ever used (ZoomRead: sooner than by the task
    alone, as far in the end). It did not help on web sites (``docs/results``, "Rewards").

    Args:
        encoder: ``(observation) -> float32 [d]``, also as ``"module:name"`` (a class is called without
            arguments), or one that curiosity takes by name (``hashed``, ``sentence-transformer``, ``clip``);
            None leaves the similarity of states out.
        name: what the term is called.
        settings: fields of ``CoherenceSettings``, by keyword.
    """

    needs_calls = True

    def __init__(
        self, *, encoder: Encoder | str | None = None, name: str = "coherence", **settings: Any
    ) -> None:
        self.name, self.settings = name, make_settings(CoherenceSettings, name, settings)
        self._given = frozenset(settings)
        self._encoder = _make_encoder(encoder, name)
        self._size: int | None = None

    def adapt(self, traits: RewardTraits) -> None:
        """Take from an environment that declares its tools what was not given."""
        if traits.tools is None:
            return
        own = {
            "good_pairs": traits.pairs,
            "prerequisites": traits.prerequisites,
            "repeatable": traits.repeatable,
            "ignored": traits.no_ops,
        }
        own = {name: value for name, value in own.items() if name not in self._given}
        self.settings = replace(self.settings, **own)

    @staticmethod
    def off(traits: RewardTraits, settings: Mapping[str, Any]) -> str:
        """Return why such a term has nothing to measure in an environment; empty where it has something."""
        if traits.tools is None or traits.tools or settings.get("encoder") is not None:
            return ""
        return "the environment has no tools, so there are no calls that could follow from one another"

    def begin(self) -> CoherenceMemory:
        """Return the memory of an episode that begins."""
        return CoherenceMemory()

    def score(self, steps: Sequence[tuple[CoherenceMemory, Transition]]) -> list[float]:
        """Return the value of each step: the episode's coherence at its end, else 0.

        Raises:
            RewardError: the encoder's embedding is not finite or not of one size.
        """
        return [self._score(memory, step) for memory, step in steps]

    def learn(self) -> dict[str, float]:
        """Learn nothing: the term is fixed."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the term is fixed."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing: the term is fixed."""

    # ------------------------------------------------------------------ private

    def _score(self, memory: CoherenceMemory, step: Transition) -> float:
        memory.calls.extend(ReportedCall.of(record) for record in step.calls)
        if self._encoder is not None:
            before = self._embed(step.observation) if memory.embedding is None else memory.embedding
            memory.embedding = self._embed(step.next_observation)
            memory.cosines.append(cosine(before, memory.embedding))
        if not step.ended:
            return 0.0
        similarity = sum(memory.cosines) / len(memory.cosines) if memory.cosines else None
        return coherence(memory.calls, similarity, self.settings)

    def _embed(self, observation: Mapping[str, Any]) -> np.ndarray:
        assert self._encoder is not None  # the caller has checked it
        embedding = np.asarray(self._encoder(observation), dtype=np.float32)
        self._size = self._size or (embedding.size if embedding.ndim == 1 else None)
        if embedding.ndim != 1 or embedding.size != self._size:
            raise RewardError(
                f"{self.name}: expected the encoder's embedding to have the shape "
                f"({self._size or 'd'},) every time, got {embedding.shape}"
            )
        if not np.isfinite(embedding).all():
            raise RewardError(f"{self.name}: the encoder's embedding holds NaN or infinity")
        return embedding


class _BatchEncoder:
    """An encoder of ``pixelis.rewards.features``, which encodes many at once, as a function of one."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        return self._encoder.encode([self._encoder.look(observation)])[0]


def _make_encoder(encoder: Encoder | str | None, component: str) -> Encoder | None:
    if isinstance(encoder, str) and encoder.partition(":")[0] in ENCODERS:
        return _BatchEncoder(
            load("pixelis.rewards.features.encoder:make_encoder")(encoder, component=component)
        )
    if isinstance(encoder, str):
        found = load(encoder)
        encoder = found() if isinstance(found, type) else found
    if encoder is not None and not callable(encoder):
        raise ConfigError(
            f"{component}: encoder is a function from an observation to numbers, also as module:name, or one "
            f"of {', '.join(ENCODERS)}; got {encoder!r:.80}"
        )
    return encoder
