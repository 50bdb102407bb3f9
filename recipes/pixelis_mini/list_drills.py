"""Drills of lists: pages made of nothing but elements, asked for again in another order, each with its id.

On a page of WebBrowse one or two ids are asked for among a handful, and most names differ in every word, so
that half a name is enough. Here names are made of few words, so that two that differ in one word stand on the
same page and the whole name has to be compared; the words change from page to page, and ids rise by chance,
so that a place in the list tells nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from pixelis_mini.tokenizer import as_text
from pixelis_mini.web_drills import ASKED

ROLES = ("link", "link", "button", "checkbox", "textbox", "radio")
ENDS = ("", "", "", " | {word} | {word}", " | ${number}", "\n${number}")
"""What may stand behind an element; nothing of it is asked for."""
STARTS = ("", "", "### ", "{word} {word} | ", "- ")
LARGEST_ID = 40
WORDS = 3000


def words_of(texts: Sequence[str]) -> list[str]:
    """Return the words of three letters and more that stand most often in episodes, at most `WORDS`."""
    counts = Counter(word for text in texts for word in re.findall(r"[A-Za-z]{3,}", text))
    return [word for word, _ in counts.most_common(WORDS)]


def lists(words: Sequence[str], count: int, seed: int = 0) -> Iterator[str]:
    """Yield ``count`` drills, each a page of 3 to 16 elements and the same elements said in another order.

    Args:
        words: of which names are made, each one word as it stands on a page.
        count: of drills.
        seed: of all that is drawn.
    """
    rng = np.random.default_rng([seed, 29])
    for _ in range(count):
        elements = _elements(rng, words)
        version = int(rng.integers(1, 10))
        said = [f"{name} [e{number}@v{version}]" for name, number in elements]
        page = "\n".join(_row(rng, words, each) for each in said)
        order = rng.permutation(len(said))
        yield as_text(((f"{ASKED}\nPage: {page}", ". ".join(said[i] for i in order)),))


def _elements(rng: np.random.Generator, words: Sequence[str]) -> list[tuple[str, int]]:
    """Draw the elements of a page, no two of one name, with ids that rise."""
    size = int(rng.integers(3, 17))
    some = [str(word) for word in rng.choice(words, size=max(4, size // 2 + 1), replace=False)]
    names = dict.fromkeys(_name(rng, some) for _ in range(size))
    ids = np.sort(rng.choice(LARGEST_ID, size=len(names), replace=False)) + 1
    return [(name, int(number)) for name, number in zip(names, ids, strict=True)]


def _name(rng: np.random.Generator, words: Sequence[str]) -> str:
    length = int(rng.choice((1, 2, 2, 2, 3, 3, 4)))
    text = " ".join(str(word) for word in rng.choice(words, size=length))
    return f'{ROLES[int(rng.integers(len(ROLES)))]} "{text[0].upper()}{text[1:]}"'


def _row(rng: np.random.Generator, words: Sequence[str], element: str) -> str:
    parts = [STARTS[int(rng.integers(len(STARTS)))], element, ENDS[int(rng.integers(len(ENDS)))]]
    while "{word}" in (text := "".join(parts)):
        parts = [text.replace("{word}", str(rng.choice(words)), 1)]
    return text.replace("{number}", f"{rng.integers(5, 90)}.{rng.integers(0, 100):02d}")
