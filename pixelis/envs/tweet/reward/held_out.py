"""Measuring tweet rewards on labelled replies that nothing was fitted to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pixelis.envs.tweet.learned.calibration import area_under_curve, calibration_error
from pixelis.envs.tweet.reward.learned_rewards import (
    EvaluationReward,
    LearnedReward,
    hybrid_reward,
)
from pixelis.envs.tweet.reward.reward import TweetReward

Row = tuple[str, str, bool]
"""A tweet, a reply, and whether it is good."""
MODELS = ("learned", "evaluation")
"""Whose scores are probabilities."""
DRAWS = 1_000


def score_rows(folder: str | os.PathLike[str], rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return reward → scores, float64 [n], by ``robust``, the hybrid and the models in ``folder``.

    Raises:
        ModelLoadError: a model is missing in the folder.
        MissingDependencyError: a package of the extra ``text`` is not installed.
    """
    pairs = [(tweet, reply) for tweet, reply, _ in rows]
    return {
        "robust": _totals(TweetReward(), pairs),
        "hybrid": _totals(hybrid_reward(Path(folder) / "training"), pairs),
        "learned": np.array(LearnedReward(Path(folder) / "training")(pairs)),
        "evaluation": np.array(EvaluationReward(Path(folder) / "evaluation")(pairs)),
    }


def kinds_table(scores: Mapping[str, np.ndarray], rows: Sequence[Row], kinds: Sequence[str]) -> list[str]:
    """Return a Markdown table: the AUC of all good replies over each kind of bad one, by reward.

    Args:
        scores: reward → scores of the rows.
        rows: the labelled replies.
        kinds: theirs; bad replies without one are one kind.
    """
    good, kind = np.array([one for *_, one in rows]), np.array(kinds)
    lines = [f"| bad kind | n | {' | '.join(scores)} |", "|---|---|" + "---|" * len(scores)]
    for name in sorted(set(kind[~good].tolist())):
        bad = ~good & (kind == name)
        cells = [f"{area_under_curve(values[good], values[bad]):.2f}" for values in scores.values()]
        lines.append(f"| {name or 'other'} | {bad.sum()} | {' | '.join(cells)} |")
    return lines


def measure(scores: Mapping[str, np.ndarray], rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return reward → its numbers on labelled replies, of the scores that `score_rows` gives.

    ``pairs`` is the share of pairs of a good and a bad reply to the same tweet in which the good one scores
    higher (a tie counts half), ``auc`` the same over all pairs, ``auc_error`` its standard error over draws
    of whole tweets, ``calibration_error`` that of the probability of the good reply over the bad one, and
    ``with_robust`` Pearson's correlation with ``robust``, ``with_robust_ungated`` that among the replies that
    no gate stops.
    """
    good = np.array([one for *_, one in rows])
    tweets = np.unique([tweet for tweet, *_ in rows], return_inverse=True)[1]
    found = {}
    for name, totals in scores.items():
        margins = _margins(totals, good, tweets)
        found[name] = {
            "pairs": float(((margins > 0) + 0.5 * (margins == 0)).mean()),
            "auc": area_under_curve(totals[good], totals[~good]),
            "auc_error": _auc_error(totals, good, tweets),
        }
        if name in MODELS:
            open_ = scores["robust"] >= 0
            # A model's number is σ of its score, so the score is the number's log-odds.
            held = np.clip(totals, 1e-12, 1 - 1e-12)
            log_odds = np.log(held) - np.log1p(-held)
            found[name] |= {
                "calibration_error": calibration_error(_margins(log_odds, good, tweets)),
                "with_robust": _correlation(totals, scores["robust"]),
                "with_robust_ungated": _correlation(totals[open_], scores["robust"][open_]),
            }
    return found


def _totals(reward: TweetReward, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    scored = reward.score_batch([tweet for tweet, _ in pairs], [[reply] for _, reply in pairs])
    return np.array([group[0].total for group in scored])


def _margins(scores: np.ndarray, good: np.ndarray, tweets: np.ndarray) -> np.ndarray:
    """Return s(good) − s(bad) for every pair of replies to one tweet."""
    return np.concatenate(
        [
            (scores[(tweets == one) & good][:, None] - scores[(tweets == one) & ~good][None]).ravel()
            for one in range(tweets.max() + 1)
        ]
    )


def _auc_error(scores: np.ndarray, good: np.ndarray, tweets: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(tweets == one) for one in range(tweets.max() + 1)]
    found = []
    for _ in range(DRAWS):
        drawn = np.concatenate([rows[one] for one in rng.integers(len(rows), size=len(rows))])
        found.append(area_under_curve(scores[drawn][good[drawn]], scores[drawn][~good[drawn]]))
    return float(np.nanstd(found))


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.corrcoef(first, second)[0, 1])
