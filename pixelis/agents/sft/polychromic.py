"""Polychromic SFT: a term of the loss for the diversity of what the policy itself would say.

    L = CE - lambda E[D(y_1 … y_m)],   y_i drawn from the policy

D is a number that a measure gives for sampled texts: no derivative leads from it to the weights, and taking
it off the loss as it is changes nothing. What depends on the weights is how probable the samples are. With
the score function, and D of the set without y_i, which does not depend on y_i, as its baseline,

    grad E[D] = E[ sum_i A_i grad log p(y_i) ],   A_i = D(S) - D(S without i)

which has no bias (Williams 1992, REINFORCE; the baseline: Kool et al. 2019). `marginal_diversity` is A.
Source of the loss: github.com/Sohailm25/reply-guyd, where D is taken off as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from pixelis.agents.episodes.answers import DIVERSITIES, answer_in, distances_between, set_metrics
from pixelis.agents.episodes.episode import Episode, Segment, join_images
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.decoding import Decoder
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.runs.metrics import Row
from pixelis.envs.actions import parse_action
from pixelis.rewards.text.diversity import marginal_diversity, mean_distance


@dataclass(frozen=True)
class DiversitySettings:
    """How sets are drawn and what their diversity is worth.

    Attributes:
        measure: a name in ``DIVERSITIES``.
        weight: lambda, >= 0; 0 only measures.
        samples: m, texts of a set, at least 2.
        prompts: sets a step, at least 1; those of the first demonstrations of the batch.
        sampling: how to draw; with ``top_p`` 1, or the gradient is biased.
        seed: for the samples.
        micro_batch_size: samples a forward pass; changes memory, not the gradient.
    """

    measure: str
    weight: float = 0.3
    samples: int = 4
    prompts: int = 4
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    seed: int = 0
    micro_batch_size: int = 8


@dataclass(frozen=True)
class SampledSets:
    """What the policy said to some prompts.

    Attributes:
        episodes: the samples, a prompt and a turn each; ``group`` is the prompt.
        advantages: float64, one for each: what it adds to its set's diversity, over the number of sets.
        diversity: mean of D over the sets.
        metrics: what is written down of them.
    """

    episodes: tuple[Episode, ...]
    advantages: np.ndarray
    diversity: float
    metrics: Row


class DiversityTerm:
    """Draws sets of samples and adds the gradient of their expected diversity.

    Args:
        policy: draws, and is trained by the caller.
        settings: see `DiversitySettings`.

    Raises:
        ConfigError: there is no such measure.
    """

    def __init__(self, policy: Policy, settings: DiversitySettings) -> None:
        self.policy, self.settings = policy, settings
        self._measure = DIVERSITIES.find(settings.measure)

    def draw(self, demonstrations: Sequence[Episode], step: int) -> SampledSets:
        """Draw a set for the prompt of each of the first demonstrations.

        Where a demonstration gives its answer in ``<answer>``, a sample that does not, and one that is blank,
        is at a distance of 0 from all others of its set: it adds nothing.

        Args:
            demonstrations: a batch; those whose prompt fills the model's context are passed over.
            step: the number of the step, at least 0: samples depend on it and the seed.

        Raises:
            RewardError: the measure gave no distances.
        """
        count, chosen = self.settings.samples, self._chosen(demonstrations)
        if not chosen:
            return SampledSets((), np.zeros(0), 0.0, set_metrics([], self._measure))
        turns = self._sample([prompt_of(each) for each in chosen], step)
        episodes: list[Episode] = []
        sets, advantages, diversities = [], [], []
        for group, demonstration in enumerate(chosen):
            own = turns[group * count : (group + 1) * count]
            prompt = prompt_of(demonstration)
            episodes += [Episode("sample", step, group, i, [prompt, turn]) for i, turn in enumerate(own)]
            said = [self.policy.chat.action(turn.tokens) for turn in own]
            counted = [_counts(text, demonstration) for text in said]
            texts = [answer_in(text) for text in said]
            distances = distances_between(texts, counted, self._measure)
            advantages.append(marginal_diversity(distances) / len(chosen))
            diversities.append(mean_distance(distances))
            sets.append([text for text, counts in zip(texts, counted, strict=True) if counts])
        row = set_metrics([texts for texts in sets if len(texts) > 1], self._measure)
        row["diversity/counted"] = sum(map(len, sets)) / len(episodes)
        row["diversity/objective"] = float(np.mean(diversities))
        return SampledSets(tuple(episodes), np.concatenate(advantages), float(np.mean(diversities)), row)

    def backward(self, sets: SampledSets) -> None:
        """Add the gradient of -lambda E[D] to that of the policy's parameters.

        It is that of ``-lambda sum_i A_i log p(y_i)``, log p summed over the tokens of a sample at the
        temperature it was drawn at.
        """
        size = self.settings.micro_batch_size
        moved = np.flatnonzero(sets.advantages) if self.settings.weight else ()
        for start in range(0, len(moved), size):
            places = moved[start : start + size]
            rows = [sets.episodes[place] for place in places]
            scores = self.policy.logprobs(rows, self.settings.sampling.temperature)
            advantages = torch.as_tensor(sets.advantages[places], dtype=torch.float32)
            sums = (scores.logprobs * scores.mask).sum(dim=1)
            (-self.settings.weight * (advantages.to(sums.device) * sums).sum()).backward()

    # ------------------------------------------------------------------ private

    def _chosen(self, demonstrations: Sequence[Episode]) -> list[Episode]:
        room = self.policy.max_context
        fitting = [one for one in demonstrations if room is None or len(prompt_of(one)) < room]
        return fitting[: self.settings.prompts]

    def _sample(self, prompts: Sequence[Segment], step: int) -> list[Segment]:
        settings, count = self.settings, self.settings.samples
        uniforms = [
            np.random.default_rng([settings.seed, step, group, member]).random(
                settings.sampling.max_new_tokens
            )
            for group in range(len(prompts))
            for member in range(count)
        ]
        room = self.policy.max_context
        most = settings.sampling.max_new_tokens
        limits = [most if room is None else min(most, room - len(prompt)) for prompt in prompts]
        with self.policy.folded(settings.seed):
            decoder = Decoder(self.policy)
            decoder.start(prompts, [count] * len(prompts))
            return decoder.write(np.stack(uniforms), settings.sampling, np.repeat(limits, count).tolist())


def prompt_of(demonstration: Episode) -> Segment:
    """Return all that a demonstration holds before the first turn that is learnt, as one segment."""
    given: list[Segment] = []
    for segment in demonstration.segments:
        if segment.sampled:
            break
        given.append(segment)
    if len(given) == 1:
        return given[0]
    tokens = np.concatenate([segment.tokens for segment in given]) if given else np.zeros(0, np.int64)
    images = join_images([segment.images for segment in given])
    return Segment.given(tokens, "".join(segment.text for segment in given), images)


def _counts(text: str, demonstration: Episode) -> bool:
    first = next((segment.text for segment in demonstration.segments if segment.sampled), "")
    needs_tag = parse_action(first).answer is not None
    return bool(answer_in(text).strip()) and not (needs_tag and parse_action(text).answer is None)
