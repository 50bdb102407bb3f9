"""What watches a training run: scorers of finished episodes, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.errors import ConfigError, MissingDependencyError, PixelisError, RewardError, suggest
from pixelis.user_code import failed_code, load, user_code


class EpisodeScorer(Protocol):
    """Scores finished episodes; nothing that trains ever sees the numbers."""

    def __call__(self, episodes: Sequence[Episode]) -> Sequence[float]:
        """Return one finite number for each episode, higher for better."""
        ...


def make_scorers(values: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, EpisodeScorer]:
    """Return name → scorer for name → keywords of its constructor (None: none).

    Args:
        values: the names are known ones, or ``module:Class`` of your own.
        known: name → ``module:Class`` of the environment's own, see `ToolEnv.scorers`.

    Raises:
        ConfigError: a name or a keyword is unknown, or what was made cannot be called.
    """
    return {name: _make(name, given, known) for name, given in values.items()}


def _make(name: str, given: Any, known: Mapping[str, str]) -> EpisodeScorer:
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(
            f"watch: {name}: expected keywords such as {{}}, got {given!r}; write watch: {{{name}: {{}}}}"
        )
    if ":" not in name and name not in known:
        own = suggest(name, known) if known else " The environment has none of its own."
        raise ConfigError(f"watch: there is no scorer {name!r}.{own} One of yours is module:Class.")
    with user_code(f"watch: importing {name}"):
        kind = load(known.get(name, name))
    try:
        scorer = kind(**dict(given or {}))
    except (ConfigError, MissingDependencyError):
        raise
    except TypeError as error:
        raise ConfigError(f"watch: {name}: {error}") from error
    except PixelisError:
        raise
    except Exception as error:
        raise failed_code(f"watch: making {name}", error) from error
    if not callable(scorer):
        raise ConfigError(
            f"watch: {name}: expected something that takes episodes, got {type(scorer).__name__}"
        )
    return cast(EpisodeScorer, scorer)


def mean_score(name: str, scorer: EpisodeScorer, episodes: Sequence[Episode]) -> float | None:
    """Return the mean score of episodes, None without any.

    Raises:
        RewardError: the scorer gave something else than one finite number for each; the message names it.
        UserCodeError: it raised.
    """
    if not episodes:
        return None
    with user_code(f"watch: {name}"):
        scores = np.asarray(scorer(episodes), dtype=np.float64)
    if scores.shape != (len(episodes),) or not np.isfinite(scores).all():
        raise RewardError(
            f"watch: {name}: expected {len(episodes)} finite numbers, one for each episode, got "
            f"{scores.tolist() if scores.size < 20 else scores.shape}"
        )
    return float(scores.mean())
