"""Tasks made of the rows of a file of questions about images."""

from __future__ import annotations

from typing import Any

import numpy as np

from pixelis.envs.pixel.ask_image.question_file import QuestionFile
from pixelis.envs.pixel.ask_image.question_rows import QuestionRow, row_of
from pixelis.envs.tasks import Task
from pixelis.errors import DatasetError, TaskError, shown
from pixelis.rewards.answers import parse_box, parse_point, split_items

FAMILY = "ask_image"


class ImageQuestions:
    """Task source: the rows of a file."""

    family = FAMILY
    difficulties = range(1)

    def __init__(self, questions: QuestionFile) -> None:
        self.questions = questions

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a row of a split.

        Raises:
            TaskError: the split has no rows.
        """
        count = self.questions.count(split)
        if count == 0:
            raise TaskError(
                f"{self.questions.path} has no rows of split {shown(split)}; "
                f'give some rows "split": "{split}"'
            )
        line, row = self.questions.read(split, int(rng.integers(count)))
        return Task(
            id=f"{FAMILY}-{split}-{line}",
            family=FAMILY,
            difficulty=difficulty,
            split=split,
            question=row.question,
            answer="" if row.truth is None else row.truth.truth,
            data=row.to_data(),
        )


def row_of_task(task: Task) -> QuestionRow:
    """Return the row that a task was made of, or that was written into it by hand.

    Raises:
        TaskError: the task's answer and data are not those of a row.
    """
    value: dict[str, Any] = {**task.data, "question": task.question, "answer": task.answer or None}
    kind = value.get("answer_type")
    if not task.answer:
        pass  # of a row without one
    elif kind in ("box", "point"):
        value["answer"] = list((parse_box if kind == "box" else parse_point)(task.answer) or ())
    elif kind == "set":
        value["answer"] = split_items(task.answer)
    try:
        return row_of(value)
    except DatasetError as error:
        raise TaskError(f"this task is no question about an image: {error}") from None
