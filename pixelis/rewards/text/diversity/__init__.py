"""How good and how different many answers to one prompt are.

Nothing here returns 0 for something that was not measured: too few answers, a number that is not finite or a
package that is missing is an error.
"""

from pixelis.rewards.text.diversity.sampling import best_at_k, efficiency_ratio, pass_at_k
from pixelis.rewards.text.diversity.sets import (
    cosine_distances,
    marginal_diversity,
    mean_distance,
    ngram_distances,
)
from pixelis.rewards.text.diversity.vectors import embedding_diversity, vendi_score
from pixelis.rewards.text.diversity.words import distinct_n, self_bleu

__all__ = [
    "best_at_k",
    "cosine_distances",
    "distinct_n",
    "efficiency_ratio",
    "embedding_diversity",
    "marginal_diversity",
    "mean_distance",
    "ngram_distances",
    "pass_at_k",
    "self_bleu",
    "vendi_score",
]
