"""The learned reward, its hybrid with the gates, and the evaluation reward that no policy is trained on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pixelis.envs.tweet.learned.features import PairFeatures, SentenceFeatures, SurfaceFeatures, TextPair
from pixelis.envs.tweet.learned.fluency import Fluency
from pixelis.envs.tweet.learned.model import PreferenceModel, load_model
from pixelis.envs.tweet.reward.reward import TweetReward
from pixelis.envs.tweet.reward.settings import TweetRewardSettings
from pixelis.rewards.text.encoders import CachedEncoder, Embed

SHIPPED = Path(__file__).parents[1] / "learned" / "weights"
"""Folders ``training`` and ``evaluation`` with the models that come with the package."""
HYBRID_WEIGHT, HYBRID_MEAN = 0.5, "harmonic"
"""Share that the learned reward has in the hybrid's points, and how the two are joined."""


class PreferenceReward:
    """Gives replies the calibrated probability that a reader prefers them to a middling one.

    Args:
        model: what was fitted.
        features: what it was fitted to.
    """

    def __init__(self, model: PreferenceModel, features: PairFeatures, encoder: str = "") -> None:
        self.model, self._features, self._encoder, self._checked = model, features, encoder, False

    def __call__(self, pairs: Sequence[TextPair]) -> list[float]:
        """Return a number in [0, 1] for each pair of tweet and raw reply; any text has one.

        Raises:
            ModelLoadError: the encoder is not the one that the model was fitted with.
            MissingDependencyError: the encoder's packages are not installed.
        """
        if not self._checked:
            self.model.check_features(self._features.name, self._features.probe(), self._encoder)
            self._checked = True
        return self.model.probability(self._features(list(pairs))).tolist() if pairs else []


class LearnedReward(PreferenceReward):
    """The preference model for training; a judge for `TweetReward`. It sees sentence vectors.

    Args:
        folder: of `scripts/train_tweet_reward.py`, its ``training``; None: the one that comes with the
            package.
        encoder: ``minilm``, or a function that the model was fitted with.

    Raises:
        ModelLoadError: there is no such model in the folder, or it is one for evaluation.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, encoder: str | Embed = "minilm") -> None:
        cached = encoder if isinstance(encoder, CachedEncoder) else CachedEncoder(encoder)
        model = load_model(SHIPPED / "training" if folder is None else folder, "training")
        super().__init__(model, SentenceFeatures(cached), cached.name)


class EvaluationReward(PreferenceReward):
    """The preference model for evaluation only: other tweets, other authors, other features, no gates.

    It sees letters: no encoder and no word list, so nothing in it is shared with what a policy is trained on
    but the rules by which worse replies were made and the hand that wrote the good ones.

    Args:
        folder: of `scripts/train_tweet_reward.py`, its ``evaluation``; None: the one that comes with the
            package.

    Raises:
        ModelLoadError: there is no such model in the folder, or it is one for training.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        model = load_model(SHIPPED / "evaluation" if folder is None else folder, "evaluation")
        super().__init__(model, SurfaceFeatures())


def hybrid_reward(
    folder: str | os.PathLike[str] | None = None, settings: TweetRewardSettings | None = None
) -> TweetReward:
    """Return the heuristic with its gates, and the harmonic mean of its points and the learned reward.

    It is a `TweetReward` with a `LearnedReward` as its judge: gates come first, so no learned score can buy
    a reply out of them.

    Args:
        folder: as for `LearnedReward`.
        settings: of the heuristic; by default ``robust`` with `HYBRID_WEIGHT` and `HYBRID_MEAN`.

    Raises:
        ModelLoadError: there is no such model in the folder.
    """
    settings = settings or TweetRewardSettings(judge_weight=HYBRID_WEIGHT, judge_mean=HYBRID_MEAN)
    encoder = CachedEncoder(settings.encoder, settings.cache_size, settings.threads)
    # Both look up the same vectors, so no text goes through the encoder twice.
    return TweetReward(replace(settings, encoder=encoder), LearnedReward(folder, encoder))


def fluent_reward(settings: TweetRewardSettings | None = None) -> TweetReward:
    """Return the heuristic with its gates, and its points times `Fluency`: never more than without it.

    Args:
        settings: of the heuristic; by default ``robust``, and all of the points times it.
    """
    settings = settings or TweetRewardSettings(judge_weight=1.0, judge_mean="product")
    return TweetReward(settings, Fluency())
