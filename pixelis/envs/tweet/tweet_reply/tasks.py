"""Tasks made of the rows of a file of tweets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pixelis.envs.tasks import Task
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.tweet_rows import TweetRow, tweet_row
from pixelis.errors import DatasetError, TaskError, shown

FAMILY = "tweet_reply"


class TweetTasks:
    """Task source: the rows of a file.

    Args:
        tweets: the file.
        held_out: another file, whose rows of split ``test`` take the place of the first file's.
        threads: whether the author writes back, where the row says what; else every tweet stands alone.
    """

    family = FAMILY
    difficulties = range(1)

    def __init__(
        self, tweets: TweetFile, held_out: TweetFile | None = None, *, threads: bool = False
    ) -> None:
        self.files = {"train": tweets, "test": held_out or tweets}
        self.threads = threads

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a row of a split.

        Raises:
            TaskError: the split has no rows.
        """
        tweets = self.files[split]
        count = tweets.count(split)
        if count == 0:
            kind = "threads" if self.threads else "rows"
            raise TaskError(
                f'{tweets.path} has no {kind} of split {shown(split)}; give some rows "split": "{split}"'
                f"{' and a thread' if self.threads else ''}, or play the other split"
            )
        line, row = tweets.read(split, int(rng.integers(count)))
        return task_of_row(row if self.threads else replace(row, thread=()), line)


def task_of_row(row: TweetRow, line: int) -> Task:
    """Return the task of replying to a row's tweet; its answer is the row's reply, perhaps empty."""
    data = row.to_json()
    for name in ("reply", "split"):
        data.pop(name, None)
    return Task(f"{FAMILY}-{row.split}-{line}", FAMILY, 0, row.split, question_of(row), row.reply, data)


def question_of(row: TweetRow) -> str:
    """Return what the agent is asked about a tweet."""
    return f"Write a reply to this tweet{by(row.author)}:\n{row.tweet}"


def by(author: str) -> str:
    """Return the words that name an author, empty if there is none."""
    return f" by @{author}" if author else ""


def row_of_task(task: Task) -> TweetRow:
    """Return the row that a task was made of, or that was written into it by hand.

    Raises:
        TaskError: the task's data are not those of a tweet.
    """
    try:
        return tweet_row({**task.data, "reply": task.answer, "split": task.split})
    except DatasetError as error:
        raise TaskError(f"this task is no tweet to reply to: {error}") from None
