"""What an episode answered in the end, whether that counts, and how far answers are apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.episodes.episode import Episode
from pixelis.envs.actions import parse_action
from pixelis.envs.verdict import FinalAnswer
from pixelis.errors import RewardError
from pixelis.registry import Registry
from pixelis.rewards.text.diversity import distinct_n, mean_distance, ngram_distances
from pixelis.rewards.text.diversity.sets import checked_distances, cosine_distances

NONE = "none"
_ENCODED = 4096  # texts whose vectors are kept

Measure = Callable[[Sequence[str]], np.ndarray]
"""From m texts to their distances, float64 [m, m]: symmetric, finite, >= 0, 0 on the diagonal."""
DIVERSITIES: Registry[Measure] = Registry("diversity")


@DIVERSITIES.register("ngrams")
def by_ngrams(texts: Sequence[str]) -> np.ndarray:
    """Return the share of 1- and 2-grams of words that two texts do not share; see `ngram_distances`."""
    return ngram_distances(texts)


@DIVERSITIES.register("encoder")
def by_encoder(texts: Sequence[str]) -> np.ndarray:
    """Return 1 - cosine of the sentence embeddings (MiniLM, loaded with the first text).

    Raises:
        MissingDependencyError: a package of the extra ``text`` is not installed.
    """
    from pixelis.rewards.text.plain import for_encoder

    seen = [for_encoder(text) for text in texts]
    return cosine_distances(_encoder()(seen), seen)


def measure_named(name: str) -> Measure | None:
    """Return the measure of a name in ``DIVERSITIES``, None for ``none``.

    Raises:
        ConfigError: there is none such.
    """
    return None if name == NONE else DIVERSITIES.find(name)


def distances_between(texts: Sequence[str], counted: Sequence[bool], measure: Measure) -> np.ndarray:
    """Return distances in which texts that do not count are as good as any other.

    Args:
        texts: m of them.
        counted: whose difference counts; the distance of any other to all is 0, so that a bad answer makes
            no set more diverse.
        measure: gives the distances of those that count.

    Returns:
        float64 [m, m].

    Raises:
        RewardError: the measure gave something else than distances.
    """
    places = [place for place, counts in enumerate(counted) if counts]
    distances = np.zeros((len(texts), len(texts)))
    if places:
        found = checked_distances(measure([texts[place] for place in places]))
        if len(found) != len(places):
            raise RewardError(f"expected the distances of {len(places)} texts, got those of {len(found)}")
        distances[np.ix_(places, places)] = found
    return distances


def final_answer(episode: Episode) -> str:
    """Return the text that the episode ended with.

    That is the text in ``info["final_answer"]`` where the env says so (`ToolEnv.final_answer`), else what
    stands in ``<answer>`` in the last turn, else that whole turn; empty without any.
    """
    said = said_of(episode)
    if said is not None:
        return said.text
    return answer_in(next((each.text for each in reversed(episode.segments) if each.sampled), ""))


def answer_in(turn: str) -> str:
    """Return what stands in ``<answer>`` in a turn, else the whole turn."""
    answer = parse_action(turn).answer
    return turn if answer is None else answer


def counts(episode: Episode) -> bool:
    """Return whether an episode's being different may be worth anything.

    Not so without an answer, where the env says that it did not accept it (``info["final_answer"]``), and
    where it says that the episode failed while it says nothing of the answer: then a wrong one could pass for
    an original one.
    """
    if not episode.valid_for_training or not final_answer(episode).strip():
        return False
    said = said_of(episode)
    return episode.success is not False if said is None else said.accepted


def answer_distances(episodes: Sequence[Episode], measure: Measure) -> np.ndarray:
    """Return the distances of the answers of a group's n episodes, float64 [n, n]; see `counts`."""
    texts = [final_answer(episode) for episode in episodes]
    return distances_between(texts, [counts(episode) for episode in episodes], measure)


def diversity_metrics(episodes: Sequence[Episode], name: str) -> Row:
    """Return how different the answers of a step are, group by group, by a measure in ``DIVERSITIES``.

    ``diversity/mean_distance`` is the mean distance of two answers of a group, answers that do not count
    left out, over the groups with two that do; ``diversity/distinct_1`` and ``_2`` the shares of distinct
    words and pairs of words in these groups; ``diversity/counted`` the share of answers that count. What
    cannot be measured is None.
    """
    measure = DIVERSITIES.find(name)
    groups: dict[int, list[str]] = {}
    valid = [episode for episode in episodes if episode.valid_for_training]
    counted = [episode for episode in valid if counts(episode)]
    for episode in counted:
        groups.setdefault(episode.group, []).append(final_answer(episode))
    row = set_metrics([texts for texts in groups.values() if len(texts) > 1], measure)
    return row | {"diversity/counted": len(counted) / len(valid) if valid else None}


def set_metrics(sets: Sequence[Sequence[str]], measure: Measure) -> Row:
    """Return the means over sets of texts, each of at least two, of mean distance, distinct-1 and -2."""
    return {
        "diversity/mean_distance": _mean([mean_distance(measure(texts)) for texts in sets]),
        "diversity/distinct_1": _mean([_distinct(texts, 1) for texts in sets]),
        "diversity/distinct_2": _mean([_distinct(texts, 2) for texts in sets]),
    }


def duplicate_answer_shares(episodes: Sequence[Episode]) -> np.ndarray:
    """Return the share of the other prompts that got nearly an episode's answer, float64 [n] in [0, 1].

    Groups with one and the same prompt count as one. Nearly: cosine of the sentence embeddings at least
    `pixelis.rewards.text.duplicates.NEAR`. 0 for an episode that is not valid for training or has no answer.

    Raises:
        MissingDependencyError: a package of the extra ``text`` is not installed.
    """
    from pixelis.rewards.text.duplicates import duplicate_shares
    from pixelis.rewards.text.plain import for_encoder

    prompts: dict[bytes, int] = {}
    answered: list[tuple[int, int, str]] = []  # place, prompt, text
    for place, episode in enumerate(episodes):
        text = final_answer(episode).strip()
        if episode.valid_for_training and text:
            prompt = prompts.setdefault(episode.tokens[: episode.prompt_length].tobytes(), len(prompts))
            answered.append((place, prompt, for_encoder(text)))
    shares = np.zeros(len(episodes))
    if len(prompts) > 1:
        vectors = _encoder()([text for *_, text in answered])
        found = duplicate_shares(vectors, [prompt for _, prompt, _ in answered])
        shares[[place for place, *_ in answered]] = found
    return shares


def said_of(episode: Episode) -> FinalAnswer | None:
    """Return what the env says of the answer in ``info["final_answer"]``; None where it says nothing.

    Raises:
        RewardError: what it says is no such answer.
    """
    said = episode.info.get("final_answer")
    if said is None:
        return None
    if not isinstance(said, Mapping) or not isinstance(said.get("text"), str):
        raise RewardError(
            f"info['final_answer'] of {episode.env_id!r}: expected {{'text': str, 'accepted': bool}}, got "
            f"{said!r:.80}; see FinalAnswer"
        )
    return FinalAnswer(said["text"], bool(said.get("accepted", True)))


def _distinct(texts: Sequence[str], n: int) -> float | None:
    try:
        return distinct_n(texts, n)
    except RewardError:  # no text has so many words
        return None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


@cache
def _encoder() -> Callable[[Sequence[str]], np.ndarray]:
    from pixelis.rewards.text.encoders import CachedEncoder

    return CachedEncoder("minilm", _ENCODED)
