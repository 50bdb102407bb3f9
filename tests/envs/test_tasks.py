from __future__ import annotations

import json

import numpy as np
import pytest

from pixelis.envs.tasks import Task, check_difficulty, check_split
from pixelis.errors import DifficultyError, SplitError, TaskError

TASK = Task("a-1", "toy", 2, "test", "How many?", "3", {"boxes": [1, 2]})


def test_json_round_trip():
    assert Task.from_json(json.loads(json.dumps(TASK.to_json())), family="toy") == TASK


def test_the_hash_is_of_the_content():
    same = Task("a-1", "toy", 2, "test", "How many?", "3", {"boxes": [1, 2]})
    other = Task("a-1", "toy", 2, "test", "How many?", "3", {"boxes": [2, 1]})
    assert same.content_hash == TASK.content_hash != other.content_hash
    assert len(TASK.content_hash) == 16
    int(TASK.content_hash, 16)


def test_hand_written_tasks_need_a_question_and_an_answer_only():
    task = Task.from_json({"question": "2 + 2?", "answer": "4"}, family="toy")
    assert (task.id, task.family, task.difficulty, task.split, task.data) == ("given", "toy", 0, "train", {})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "mapping"),
        ("text", "mapping"),
        ({}, "'question'"),
        ({"question": "q"}, "'answer'"),
        ({"question": 3, "answer": "a"}, "field 'question' must be text, got 3"),
        (
            {"question": "q", "answer": "a", "difficulty": "1"},
            "'difficulty' must be an integer, got '1'",
        ),
        ({"question": "q", "answer": "a", "difficulty": True}, "got True"),
        ({"question": "q", "answer": "a", "data": [1]}, "'data'"),
        ({"question": "q", "answer": "a", "qestion": "q"}, "Did you mean 'question'"),
        ({"question": "q", "answer": "a", 3: "q"}, r"unknown field '\[3\]'"),
        ({"question": "q", "answer": "a", "family": "other"}, "plays 'toy' tasks"),
        ({"question": "q", "answer": "a", "data": {"x": object()}}, "JSON"),
        ({"question": "q", "answer": "a", "data": {("x",): 1}}, "JSON"),
    ],
)
def test_a_bad_task_is_one_clear_error(value, words):
    with pytest.raises(TaskError, match=words):
        Task.from_json(value, family="toy")


def test_a_task_of_an_unknown_split_is_an_error():
    with pytest.raises(SplitError):
        Task.from_json({"question": "q", "answer": "a", "split": "validation"}, family="toy")


@pytest.mark.parametrize("good", [0, 4, np.int64(2)])
def test_difficulties_in_the_range(good):
    assert check_difficulty(good, range(5)) == int(good)


@pytest.mark.parametrize("bad", [-1, 5, 1.0, "1", True, None, [1]])
def test_difficulties_outside_it(bad):
    with pytest.raises(DifficultyError, match="from 0 to 4"):
        check_difficulty(bad, range(5))


@pytest.mark.parametrize("bad", ["Train", "", None, 1, ["train"]])
def test_splits(bad):
    assert check_split("train") == "train"
    with pytest.raises(SplitError, match="'train' or 'test'"):
        check_split(bad)
