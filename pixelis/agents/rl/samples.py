"""Sample episodes of a step as plain data, for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.rl.batch import StepBatch
from pixelis.agents.runs.transcripts import episode_row


def sample_rows(episodes: Sequence[Episode], batch: StepBatch, tokenizer: Any) -> list[dict[str, Any]]:
    """Return the members of one group as plain data: the first that was trained on, else the first.

    The advantage is a list, one a turn, where credit is given by turn. Each turn has what was ``sampled``:
    a token's text, its log-probability and, where it was kept, the entropy of what it was drawn from.
    """
    trained = [each.group for each in batch.episodes if each.group >= 0]  # those below are replayed
    group = min(trained, default=0)
    advantages = {
        (each.group, each.member): _by_turn(each, value)
        for each, value in zip(batch.episodes, batch.advantages, strict=True)
    }
    chosen = [each for each in episodes if each.group == group]
    rows = [episode_row(each) for each in chosen]
    for each, row in zip(chosen, rows, strict=True):
        row["advantage"] = advantages.get((each.group, each.member), 0.0)
        turns = [segment for segment in each.segments if segment.sampled]
        for exchange, turn in zip(row["exchanges"], turns, strict=False):
            exchange["sampled"] = sampled_tokens(turn, tokenizer)
    return rows


def sampled_tokens(turn: Segment, tokenizer: Any) -> list[tuple[Any, ...]]:
    """Return the text and, at five digits, log-probability and entropy of each token written in a turn.

    A token is read together with the one before it: by itself some tokenizers would lose its blank. One that
    holds a part of a character has ``\ufffd`` in its text.
    """
    found: list[tuple[Any, ...]] = []
    tokens = turn.tokens.tolist()
    numbers = [each.tolist() for each in (turn.logprobs, turn.entropies) if each is not None]
    for place, (token, *values) in enumerate(zip(tokens, *numbers, strict=True)):
        before = tokens[place - 1 : place] if place else []
        alone, both = tokenizer.decode([token]), tokenizer.decode([*before, token])
        start = tokenizer.decode(before) if before else ""
        text = both[len(start) :] if both.startswith(start) else alone
        found.append((text, *(float(f"{value:.5g}") for value in values)))
    return found


def _by_turn(episode: Episode, advantage: np.ndarray) -> float | list[float]:
    """Return an episode's advantage, or those of its turns when there is one for each token."""
    if np.ndim(advantage) == 0:
        return float(advantage)
    starts = np.cumsum([0, *map(len, episode.segments)])
    return [
        float(advantage[start + int(segment.loss_mask.argmax())])
        for start, segment in zip(starts, episode.segments, strict=False)
        if segment.sampled
    ]
