from __future__ import annotations

import pytest

from pixelis.envs.data.fields import check_names, check_needed
from pixelis.errors import DatasetError

KNOWN = ("tweet", "reply")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["tweet", "replys"], "unknown field 'replys'. Did you mean 'reply'? Rename or remove it."),
        (["zzz"], "unknown field 'zzz'. Known: reply, tweet. Rename or remove it."),
        (["Text"], "unknown field 'Text'. Did you mean 'tweet'? Rename or remove it."),
        ([3, "zzz"], "unknown field '3'. Known: reply, tweet. Rename or remove it."),
        (["x" * 99], f"unknown field '{'x' * 40}'. Known: reply, tweet. Rename or remove it."),
    ],
)
def test_a_name_that_no_row_has_is_said(names, words):
    with pytest.raises(DatasetError) as caught:
        check_names(names, KNOWN, {"text": "tweet"})
    assert str(caught.value) == words


def test_what_a_row_may_have_and_what_it_needs():
    check_names(["reply"], KNOWN)
    check_needed({"tweet": None, "more": 1}, ("tweet",))
    with pytest.raises(DatasetError, match="field 'reply' is missing; such a row needs tweet, reply"):
        check_needed({"tweet": "x"}, KNOWN)
