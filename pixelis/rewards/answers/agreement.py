"""What a group of answers agrees on, without a truth: the majority's answer, as TTRL counts it.

Source: Zuo et al. 2025, TTRL: Test-Time Reinforcement Learning (arXiv 2504.16084), section 2.2. There answers
are equal or not; here numbers, boxes and points agree within a tolerance, and a group may abstain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.errors import AnswerError
from pixelis.rewards.answers.typed import TypedAnswer

SAME = 1e-9
"""Weights that differ by less count as equal."""
_EXAMPLES = {"box": "[0, 0, 1, 1]", "point": "[0, 0]"}


@dataclass(frozen=True)
class AnswerForm:
    """How answers to a question are compared with each other; attributes as those of `TypedAnswer`.

    Attributes:
        kind: one of ``ANSWER_TYPES``.
        choices: the texts to choose from, for ``choice`` alone.
        tolerance: how far two answers that agree may be apart.
        tagged: whether an answer stands in ``<answer>``; else the whole last turn is one.

    Raises:
        AnswerError: the kind is none, or takes no such choices or tolerance.
    """

    kind: str = "text"
    choices: tuple[str, ...] = ()
    tolerance: float | Mapping[str, float] | None = None
    tagged: bool = True

    def __post_init__(self) -> None:
        example = self.choices[0] if self.choices else _EXAMPLES.get(self.kind, "1")
        TypedAnswer(self.kind, example, self.choices, self.tolerance)

    def read(self, text: str | None) -> TypedAnswer | None:
        """Return an answer that others can be compared with; None where it is none of this form."""
        if text is None:
            return None
        try:
            return TypedAnswer(self.kind, text, self.choices, self.tolerance)
        except AnswerError:
            return None

    def to_info(self) -> dict[str, Any]:
        """Return it as an environment reports it in ``info["answer_form"]``; see `form_from`."""
        shared = self.tolerance
        tolerance = dict(shared) if isinstance(shared, Mapping) else shared  # the info is the reader's
        return {**vars(self), "choices": list(self.choices), "tolerance": tolerance}


def form_from(values: Mapping[str, Any]) -> AnswerForm:
    """Return the form that `AnswerForm.to_info` wrote."""
    return AnswerForm(**{**values, "choices": tuple(values.get("choices") or ())})


@dataclass(frozen=True)
class Ballot:
    """What n members of a group voted for.

    Attributes:
        agrees: bool [n], whose answer is the majority's; all False where the group abstains.
        share: of all weight, the members without an answer included, what the majority has, 0-1; that of the
            largest part where the group abstains.
        entropy: of the shares of the different answers among those given, in nats; 0 where there are none.
        answered: members that gave an answer.
        abstains: why there is no majority: ``no answer``, ``alone``, ``tie``, ``threshold``; empty where
            there is one.
    """

    agrees: np.ndarray
    share: float
    entropy: float
    answered: int
    abstains: str = ""


def vote(
    answers: Sequence[str | None],
    form: AnswerForm,
    weights: Sequence[float] | None = None,
    threshold: float = 0.0,
) -> Ballot:
    """Let answers vote.

    The support s of an answer is the weight of all that agree with it, its own included:

        s_i = sum_j w_j [a_i agrees with a_j],   majority = those that agree with all answers of the largest s

    Two answers agree if either would be right were the other the truth. Within a tolerance answers form no
    chain: of 1.0, 1.1, 1.2 and 1.3 at a tolerance of 0.1 the majority is 1.1 and 1.2; each of the others is
    too far from one of them. An answer that is none of the form counts as none.

    The group abstains where nobody answered, where the largest support is that of a single member (``alone``,
    except that different answers of equal support are a ``tie``), where answers of the largest support do not
    all agree with each other (a ``tie``), and where the majority's share is below ``threshold``.

    Args:
        answers: of n members, None for a member that gave none.
        form: how they are compared.
        weights: of the members, float > 0 [n]; None: 1 each.
        threshold: least share of all weight that a majority needs, 0-1.
    """
    read = [form.read(answer) for answer in answers]
    w = np.ones(len(read)) if weights is None else np.asarray(weights, dtype=np.float64)
    agrees = np.array([[_agree(one, other) for other in read] for one in read]).reshape(len(read), len(read))
    support, given = agrees @ w, np.array([one is not None for one in read], dtype=bool)
    nobody = np.zeros(len(read), dtype=bool)
    if not given.any():
        return Ballot(given, 0.0, 0.0, 0, "no answer")
    best = float(support.max())
    leaders = np.flatnonzero(support > best - SAME)
    share, entropy = best / float(w.sum()), _entropy(agrees, support, w)
    if not agrees[np.ix_(leaders, leaders)].all():
        return Ballot(nobody, share, entropy, int(given.sum()), "tie")
    right = np.all(agrees[leaders], axis=0)
    share = float(w[right].sum() / w.sum())
    reason = "alone" if right.sum() < 2 else "threshold" if share < threshold - SAME else ""
    return Ballot(nobody if reason else right, share, entropy, int(given.sum()), reason)


def _agree(one: TypedAnswer | None, other: TypedAnswer | None) -> bool:
    if one is None or other is None:
        return False
    return one.matches(other.truth) or other.matches(one.truth)


def _entropy(agrees: np.ndarray, support: np.ndarray, weights: np.ndarray) -> float:
    """Return the entropy of the parts: the best supported answer and all that agree with it, and so on."""
    left, parts = agrees.diagonal().copy(), []
    total = float(weights[left].sum())
    while left.any():
        first = max(np.flatnonzero(left), key=lambda place: support[place])
        part = left & agrees[first]
        parts.append(float(weights[part].sum()) / total)
        left &= ~part
    return max(0.0, -sum(share * math.log(share) for share in parts))
