"""How different a set of texts is by its words: distinct-n and Self-BLEU."""

from __future__ import annotations

from collections.abc import Sequence

from pixelis.errors import MissingDependencyError, RewardError


def distinct_n(texts: Sequence[str], n: int, *, tokens: int | None = None) -> float:
    """Return distinct n-grams / all n-grams of a set of texts: above 0 to 1, higher is more diverse.

    N-grams do not cross texts; words are split at white space and case-folded (Li et al. 2016,
    arXiv:1510.03055). The value falls as texts grow, so compare sets at the same number of ``tokens``.

    Args:
        texts: the set.
        n: at least 1.
        tokens: look at so many words only, text by text from the first; ``None``: at all.

    Raises:
        RewardError: n is below 1, no text has an n-gram, or there are fewer words than ``tokens``.
    """
    if n < 1 or (tokens is not None and tokens < n):
        raise RewardError(
            f"distinct_n: expected n of at least 1 and at least n tokens, got n {n}, tokens {tokens}"
        )
    split = [text.casefold().split() for text in texts]
    if tokens is not None:
        split = _first_tokens(split, tokens)
    grams = [tuple(words[at : at + n]) for words in split for at in range(len(words) - n + 1)]
    if not grams:
        raise RewardError(f"distinct_n: expected texts with at least {n} words, got none; choose a smaller n")
    return len(set(grams)) / len(grams)


def _first_tokens(split: Sequence[list[str]], tokens: int) -> list[list[str]]:
    kept, left = [], tokens
    for words in split:
        kept.append(words[:left])
        left -= len(kept[-1])
    if left:
        raise RewardError(
            f"distinct_n: expected at least {tokens} tokens, got {tokens - left}; look at fewer"
        )
    return kept


def self_bleu(texts: Sequence[str]) -> float:
    """Return the mean BLEU-4 of each text against all the others, as a share 0-1: lower is more diverse.

    sacrebleu's sentence BLEU (tokeniser 13a, case kept, exponential smoothing, effective order, so that short
    texts count by the n-grams they have); Zhu et al. 2018, arXiv:1802.01886. 1 for equal texts. O(m²).

    Args:
        texts: m ≥ 2 texts, each with a word.

    Raises:
        RewardError: fewer than two texts, or one without any word.
        MissingDependencyError: sacrebleu is not installed.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise MissingDependencyError("Self-BLEU needs sacrebleu: pip install 'pixelis[text]'") from None
    if len(texts) < 2:
        raise RewardError(
            f"self_bleu: expected at least 2 texts, got {len(texts)}; draw more answers a prompt"
        )
    blank = [number for number, text in enumerate(texts) if not text.strip()]
    if blank:
        raise RewardError(f"self_bleu: text {blank[0]} has no word; leave it out and count it apart")
    bleu = BLEU(effective_order=True)
    scores = []
    for number, text in enumerate(texts):
        others = [*texts[:number], *texts[number + 1 :]]
        scores.append(min(1.0, bleu.sentence_score(text, others).score / 100))
    return sum(scores) / len(scores)
