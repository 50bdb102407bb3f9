"""How well a reply can be followed, as a language model sees it: nonsense in its form is unlikely.

SmolLM2 reads the tweet and says how likely each token of the reply is. A reply's first tokens carry what it
is about and are dear whatever they are, so a plain mean would hold short replies to be nonsense: the sum is
divided by a power of the length, as in beam search (Wu et al. 2016, arXiv:1609.08144, section 7).
docs/reference/tweet_reward.md has what it tells apart and what it does not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np

from pixelis.errors import MissingDependencyError
from pixelis.rewards.curiosity.lru_cache import LRUCache
from pixelis.rewards.text.quiet import quiet_libraries
from pixelis.rewards.text.smollm2 import smollm2_folder

LENGTH_POWER = 0.8
"""Of the number of tokens, by which a reply's log-likelihood is divided; 1 would be the mean a token."""
LEAST, MOST = -10.5, -9.25
"""Log-likelihoods that count 0 and 1: below them are 5 and 25 % of the good replies of the half ``dev``."""
MAX_TOKENS = 256
"""Of a tweet and of a reply that are read."""
_BEFORE, _AFTER = 'A tweet: "', '"\nA reply to it: "'
_TWEETS_KEPT = 64
_LOCK = threading.Lock()


class Fluency:
    """A judge for `TweetReward`: 1 for a reply that a language model can follow, 0 for nonsense.

    The model is loaded with the first pair. A pair is read by itself, so that a number does not depend on
    what else is judged; what was made of the last tweets is kept, so that further replies cost half.

    Args:
        folder: of a causal language model of transformers; None: SmolLM2, for which the edges were chosen.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = None if folder is None else os.fspath(folder)

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return a number in [0, 1] for each pair of tweet and raw reply.

        Raises:
            MissingDependencyError: SmolLM2 or torch is not installed.
        """
        return np.clip((self.log_likelihoods(pairs) - LEAST) / (MOST - LEAST), 0.0, 1.0).tolist()

    def log_likelihoods(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Return ln p(reply | tweet) / tokens ** `LENGTH_POWER` of each pair, natural units, float64 [n].

        A reply without tokens has minus infinity.

        Raises:
            MissingDependencyError: SmolLM2 or torch is not installed.
        """
        with _LOCK:
            reader = _reader(self._folder or os.fspath(smollm2_folder()))
            return np.array([reader.log_likelihood(*pair) for pair in pairs], dtype=np.float64)


class _Reader:
    """A model and what it has made of the last tweets."""

    def __init__(self, folder: str) -> None:
        try:
            import torch
            import transformers as hf
        except ImportError as error:
            raise MissingDependencyError(
                f"the fluency of a reply needs {error.name}: install it, or choose the reward 'robust'"
            ) from error
        with quiet_libraries():
            self._tokenizer: Any = hf.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = hf.AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, local_files_only=True
            )
        self._model = model.eval()
        self._read: LRUCache[tuple[Any, Any]] = LRUCache(_TWEETS_KEPT)

    def log_likelihood(self, tweet: str, reply: str) -> float:
        """Return what `Fluency.log_likelihoods` does, of one pair."""
        import torch

        said = self._ids(reply.strip())[:MAX_TOKENS]
        if not said:
            return float("-inf")
        with torch.inference_mode():
            first, past = self._after(tweet)
            rest = self._model(torch.tensor([said[:-1]]), past_key_values=deepcopy(past)).logits[0]
            logits = torch.cat([first, rest])
            chosen = logits[torch.arange(len(said)), torch.tensor(said)] - logits.logsumexp(-1)
        return float(chosen.double().sum()) / len(said) ** LENGTH_POWER

    def _after(self, tweet: str) -> tuple[Any, Any]:
        """Return logits of a reply's first token, [1, vocabulary], and keys and values of what is before."""
        import torch

        key = tweet.encode("utf-8", "surrogatepass")
        found = self._read.get(key)
        if found is None:
            ids = [*self._ids(_BEFORE), *self._ids(tweet)[:MAX_TOKENS], *self._ids(_AFTER)]
            out = self._model(torch.tensor([ids]), use_cache=True, logits_to_keep=1)
            found = out.logits[0], out.past_key_values
            self._read.put(key, found)
        return found

    def _ids(self, text: str) -> list[int]:
        whole = text.encode("utf-8", "replace").decode()  # no tokenizer takes half a surrogate pair
        return self._tokenizer(whole, add_special_tokens=False)["input_ids"]


@cache
def _reader(folder: str) -> _Reader:
    return _Reader(folder)
