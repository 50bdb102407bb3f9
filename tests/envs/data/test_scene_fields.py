from __future__ import annotations

import math

import pytest

from pixelis.envs.data.scene_fields import flag, one_of, reading_scene, real, whole, word
from pixelis.errors import TaskError


def test_right_values_pass():
    assert (whole(3, 0, 3), whole(-1, -1, 1)) == (3, -1)
    assert (real(2, 0, 2.5), real(0.25, 0, 1)) == (2.0, 0.25)
    assert (flag(True), flag(False)) == (True, False)
    assert one_of("b", ("a", "b")) == "b"
    assert word("sky blue", 8) == "sky blue"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: whole(True, 0, 3), "True where a whole number from 0 to 3"),
        (lambda: whole(1.0, 0, 3), "whole number"),
        (lambda: whole(4, 0, 3), "4 where"),
        (lambda: real(math.nan, 0, 1), "nan where a number from 0 to 1"),
        (lambda: real("1", 0, 1), "'1' where"),
        (lambda: real(True, 0, 1), "True where"),
        (lambda: real(1.5, 0, 1), "1.5 where"),
        (lambda: flag(1), "true or false"),
        (lambda: one_of("c", ("a", "b")), "where one of"),
        (lambda: one_of(["a"], ("a", "b")), "where one of"),
        (lambda: word("", 8), "1 to 8 characters"),
        (lambda: word("x" * 9, 8), "1 to 8 characters"),
        (lambda: word("a\nb", 8), "printable"),
        (lambda: word(None, 8), "None where"),
    ],
)
def test_wrong_values_say_what_belongs_there(check, words):
    with pytest.raises(ValueError, match=words):
        check()


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: {}["size"], "no field 'size'"),
        (lambda: whole(9, 0, 3), "9 where a whole number"),
        (lambda: len(3), "expected a scene as Toy.to_json writes it"),
        (lambda: (3).items(), "Toy.to_json"),
    ],
)
def test_reading_turns_every_mistake_into_one_error(read, words):
    with pytest.raises(TaskError, match=words), reading_scene("Toy"):
        read()


def test_reading_leaves_other_errors_alone():
    with pytest.raises(ZeroDivisionError), reading_scene("Toy"):
        _ = 1 / 0
