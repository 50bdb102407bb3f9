"""Scorers for the tests of watching, named as ``watch_scorers:Class``."""

from __future__ import annotations

import re
from collections import Counter


def said(episode):
    text = "".join(segment.text for segment in episode.segments if segment.sampled)
    return re.sub(r"<\|\w+\|>", "", text)


class Letters:
    """How many different letters an episode's text has, of ``most``."""

    def __init__(self, most=4):
        self.most = most

    def __call__(self, episodes):
        return [len({sign for sign in said(one) if sign.isalpha()}) / self.most for one in episodes]


class Variety:
    """1 − Σ p² over the shares p of the signs of an episode's text (Simpson 1949), 0 for no text."""

    def __call__(self, episodes):
        return [self._of(said(one)) for one in episodes]

    def _of(self, text):
        return 1 - sum((count / len(text)) ** 2 for count in Counter(text).values()) if text else 0.0


class Reward:
    """The reward itself, times a factor."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def __call__(self, episodes):
        return [self.factor * one.reward for one in episodes]


class TooFew:
    def __call__(self, episodes):
        return [1.0]


class NotFinite:
    def __call__(self, episodes):
        return [float("nan") for _ in episodes]


NOTHING = dict
