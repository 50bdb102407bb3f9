"""Several replies in one: a numbered list of suggestions, as assistants write, instead of a reply."""

from __future__ import annotations

import regex

from pixelis.envs.tweet.reading.reading import ReadText

_ITEM = regex.compile(r"(?:^|(?<=\s))\(?([1-9]|[a-d])[.)]\s+(?=\S)|^\s*[-*•–—]\s+", regex.MULTILINE)
_ADDRESS = frozenset(("i", "i'm", "i'd", "i'll", "i've", "my", "me", "we", "you", "you're", "you've", "your"))
_LEAST_WORDS = 4


def offers_candidates(reply: ReadText) -> bool:
    """Return whether a reply lists several replies: two or more items that each speak to somebody.

    Items begin with 1., 2. … or a), b) … anywhere, or with a bullet on a line of its own. An item speaks to
    somebody if it has four words or more and says I, you or the like, or asks or exclaims. A list of things
    or of steps does not.
    """
    text = reply.lower
    marks = list(_ITEM.finditer(text)) if _may_list(text) else []
    if len(marks) < 2 or not _counts_up([mark.group(1) for mark in marks]):
        return False
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    items = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    return sum(map(_speaks, items)) >= 2


def _may_list(text: str) -> bool:
    return ("1" in text and "2" in text) or ("a)" in text and "b)" in text) or "\n" in text


def _counts_up(labels: list[str | None]) -> bool:
    """Return whether the labels are bullets, or begin with 1, 2 or a, b: a year or a score is no label."""
    return labels[:2] in ([None, None], ["1", "2"], ["a", "b"])


def _speaks(item: str) -> bool:
    words = regex.findall(r"[\w']+", item)
    return len(words) >= _LEAST_WORDS and (not _ADDRESS.isdisjoint(words) or item[-1] in "?!")
