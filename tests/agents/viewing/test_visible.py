"""Text that was meant to act shows as it was written."""

from __future__ import annotations

import html
import re

import pytest

from pixelis.agents.viewing.aligned import align, word_pieces
from pixelis.agents.viewing.visible import csv_of, fitted, in_html, in_plain, shortened

NASTY = "<script>alert(1)</script>\x1b[31mred\x1b[0m \u202egnirts\u202c \u200b\ud800\x00\u2028 & \"'"


def test_signs_that_act_are_named():
    plain = in_plain(NASTY)
    assert plain.startswith("<script>") and "⟨U+001B⟩[31mred" in plain
    for name in ("202E", "202C", "200B", "D800", "0000", "2028"):
        assert f"⟨U+{name}⟩" in plain
    assert in_plain("naïve 世界 👩‍💻 a\n\tb") == "naïve 世界 👩‍💻 a\n\tb"
    assert in_plain("\u202e" * 1_000) == "⟨U+202E ×1,000⟩"


def test_html_is_text():
    shown = str(in_html(NASTY))
    tags = re.findall(r"<[^>]*>", shown)
    assert tags and all(tag == "</i>" or tag.startswith('<i class="sign" title="') for tag in tags)
    assert 'title="RIGHT-TO-LEFT OVERRIDE">U+202E</i>' in shown
    assert html.unescape(re.sub(r"<i[^>]*>(.*?)</i>", r"⟨\1⟩", shown)) == in_plain(NASTY)


@pytest.mark.parametrize("sign", ["a", "<", "\u202ea", "é"])
def test_texts_fit_a_budget_and_short_ones_stay(sign):
    texts = [sign * 40_000, "short", sign * 4_000]
    cut = fitted(texts, 20_000)
    assert sum(len(in_html(text).encode()) for text in cut) <= 20_000
    assert cut[1] == "short" and "characters are left out here" in cut[0] and cut[0].startswith(sign * 50)
    assert fitted(texts, 10**8) == texts
    assert shortened("abc", 3) == "abc"


def test_turns_are_aligned_and_words_marked():
    pairs = align(["look", "zoom", "read", "a"], ["zoom", "read", "b", "c"])
    assert [(pair.left, pair.right, pair.same) for pair in pairs] == [
        (0, None, False),
        (1, 0, True),
        (2, 1, True),
        (3, 2, False),
        (None, 3, False),
    ]
    left, right = word_pieces("the code is K7", "the code is Q2!")
    assert left == [("the code is ", False), ("K7", True)]
    assert right == [("the code is ", False), ("Q2!", True)]
    long = "x " * 3_000
    assert word_pieces(long, f"{long}y") == ([(long, True)], [(f"{long}y", True)])


def test_cells_that_a_spreadsheet_would_run():
    assert csv_of([{"a": "=1+1", "b": None}, {"a": "x,\ud800", "b": 2}]) == 'a,b\n\'=1+1,\n"x,?",2\n'
