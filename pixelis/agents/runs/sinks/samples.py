"""What a step's episodes looked like: distributions, two pictures, one episode in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.sinks.sink import StepSample


def episode_sample(episodes: Sequence[Episode], advantages: np.ndarray | None = None) -> StepSample:
    """Return the histograms, pictures and text of a step; what there is nothing of is left out.

    In histograms so is what is no number.

    - ``rewards``, ``turns``, ``completion_lengths`` (sampled tokens): of the valid episodes.
    - ``token_surprise``: minus the log-probability of each token that was sampled, in nats. Its mean
      estimates the entropy of the policy; the histogram shows whether all tokens carry it or a few.
    - ``advantages``: those that are not padding.
    - ``first_picture``, ``last_picture``, ``episode``: of the first valid episode, one with pictures if there
      is one.

    Args:
        episodes: all of the step.
        advantages: [B], or [B, T] with one for each token and 0 where there is none; None without any.
    """
    valid = [episode for episode in episodes if episode.valid_for_training]
    found = {
        "rewards": [each.reward for each in valid],
        "turns": [each.turns for each in valid],
        "completion_lengths": [each.completion_length for each in valid if each.segments],
        "token_surprise": -np.concatenate([np.zeros(0), *map(_sampled_logprobs, valid)]),
    }
    if advantages is not None:
        found["advantages"] = advantages if advantages.ndim == 1 else advantages[advantages != 0]
    histograms = {f"histograms/{name}": np.asarray(values, np.float64) for name, values in found.items()}
    shown = next((each for each in valid if _pictures(each)), valid[0] if valid else None)
    return StepSample(
        {name: known for name, values in histograms.items() if (known := values[np.isfinite(values)]).size},
        {} if shown is None else _ends(_pictures(shown)),
        {"samples/episode": shown.text} if shown is not None and shown.text else {},
    )


def _sampled_logprobs(episode: Episode) -> np.ndarray:
    return episode.logprobs[episode.loss_mask]


def _pictures(episode: Episode) -> list[np.ndarray]:
    return [picture for picture in episode.pictures if picture is not None]


def _ends(pictures: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    if not pictures:
        return {}
    ends = {"samples/first_picture": pictures[0]}
    return ends if len(pictures) == 1 else {**ends, "samples/last_picture": pictures[-1]}
