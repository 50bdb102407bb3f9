"""Drills for WebBrowse: everything on a page said once more, in another order, each element with its id.

An episode shows once or twice which id belongs to a name; a drill shows it for every element and every row
of the page. What stands on the page is as it was rendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from pixelis_mini.tokenizer import as_text

MOST = 10
"""Elements and rows that are said of a page."""
ASKED = "Say all that this page shows."
"""Instead of a goal: under that of an episode a drill would teach to say other things than it asks for."""
_ELEMENT = re.compile(r'\w+ "[^"\n]+" \[e\d+@v\d+\]')


def drills_of(texts: Sequence[str], seed: int = 0) -> Iterator[str]:
    """Yield a drill for each episode whose first page has two elements or rows, else nothing for it.

    Args:
        texts: of episodes, see `pixelis_mini.tokenizer.as_text`.
        seed: of the order in which things are said.
    """
    rng = np.random.default_rng([seed, 13])
    for text in texts:
        page = text.split("<|end|>")[0].partition("\nPage: ")[2]
        things = shown(page)
        if len(things) > 1:
            said = [things[i] for i in rng.permutation(len(things))[:MOST]]
            yield as_text(((f"{ASKED}\nPage: {page}", ". ".join(said)),))


def shown(page: str) -> list[str]:
    """Return the elements of a page and the rows of its tables, each once, as they stand there."""
    rows = [line for line in page.splitlines() if " | " in line and '"' not in line]
    return list(dict.fromkeys([*_ELEMENT.findall(page), *rows]))
