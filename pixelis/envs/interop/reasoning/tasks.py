"""Questions of reasoning-gym as tasks: which there are, at which levels, and in which split."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pixelis.envs.data.splits import hashed_split
from pixelis.envs.interop.randomness import GlobalRandomness
from pixelis.envs.interop.reasoning.grading import worth
from pixelis.envs.interop.reasoning.library import CURRICULA, DATASETS
from pixelis.envs.spaces import clean_text
from pixelis.envs.tasks import Task
from pixelis.errors import ConfigError, SplitError, shown, suggest
from pixelis.user_code import RAISED, described

FAMILY = "reasoning_gym"
MOST_DRAWS = 200
"""Questions that are drawn until one belongs to a split."""
MOST_LEVELS = 10
_SHOWN_ANSWERS = ("possible_answer", "example_answer", "example_correct_answer")
"""Where a question with many answers keeps one of them, in its metadata."""


LEFT_OUT: Mapping[str, str] = {
    "composite": "it only mixes others",
    **dict.fromkeys(
        ("isomorphic_strings", "knight_swap", "polynomial_multiplication", "ransom_note"),
        "it goes through a set of words, so that a seed is another question in another process",
    ),
    "propositional_logic": "it pays whatever follows, and so a premise as it stands",
}
"""Tasks of reasoning-gym 0.1.25 that are none here, and why."""


def task_names() -> tuple[str, ...]:
    """Return the names of reasoning-gym's tasks without those of `LEFT_OUT`."""
    return tuple(sorted(DATASETS.keys() - LEFT_OUT.keys()))


class Questions:
    """The questions of some of reasoning-gym's tasks.

    A question belongs to ``test`` or ``train`` by a hash of its text, so that the splits never meet.

    Args:
        names: the tasks; each question is of one of them, drawn uniformly.
        config: fields of a task's configuration, which go before those of the level; for one task alone.

    Raises:
        ConfigError: an unknown task, fields that one does not have, or a configuration that it refuses.
    """

    family = FAMILY

    def __init__(self, names: Sequence[str], config: Mapping[str, Any]) -> None:
        if config and len(names) > 1:
            raise ConfigError(
                f"config belongs to one task, got {len(names)} tasks; name one, or leave it out"
            )
        self.names = tuple(names)
        self._config = dict(config)
        self.difficulties = range(min(len(_levels(name)) for name in names))
        for name in names:  # so that a bad field is told before the first question
            _dataset(name, 0, 0, self._config)

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a question of a split.

        Raises:
            SplitError: none of `MOST_DRAWS` questions belonged to it.
        """
        name = self.names[int(rng.integers(len(self.names)))]
        for _ in range(MOST_DRAWS):
            seed = int(rng.integers(2**31))
            dataset, entry = _question(name, seed, difficulty, self._config)
            question = clean_text(str(entry["question"]))
            if hashed_split(question) == split:
                return Task(
                    id=f"{name}-{difficulty}-{seed}",
                    family=self.family,
                    difficulty=difficulty,
                    split=split,
                    question=question,
                    answer=_answer(dataset, entry),
                    data={"task": name, "seed": seed, "config": self._config},
                )
        raise SplitError(
            f"{name} at difficulty {difficulty} has so few questions that none of {MOST_DRAWS} is for "
            f"{split!r}; play another difficulty, or the other split"
        )


def question_of(task: Task) -> tuple[Any, Mapping[str, Any]]:
    """Return the dataset and the entry of a task, made anew from what it says.

    Raises:
        ConfigError: its configuration is refused, there is no such task, or another question comes of its
            seed, as by another version of reasoning-gym.
    """
    made = question_after(task, 0)
    if clean_text(str(made[1]["question"])) != task.question:
        raise ConfigError(
            f"task {task.id}: reasoning-gym makes another question of its seed here; play it with the "
            "version and the settings that it was drawn with"
        )
    return made


def question_after(task: Task, count: int) -> tuple[Any, Mapping[str, Any]]:
    """Return the dataset and the entry of the question that many seeds behind a task's own.

    Raises:
        ConfigError: its configuration is refused, or there is no such task.
    """
    data = task.data
    seed = (int(data["seed"]) + count) % 2**31
    return _question(str(data["task"]), seed, task.difficulty, dict(data["config"]))


def _answer(dataset: Any, entry: Mapping[str, Any]) -> str:
    """Return an answer that its scorer takes for right; empty where reasoning-gym tells none."""
    shown_ones = (entry["metadata"].get(key) for key in _SHOWN_ANSWERS)
    for answer in (entry["answer"], *shown_ones):
        text = answer if isinstance(answer, str) else json.dumps(answer, default=str)
        if answer and clean_text(text) == text and worth(dataset, entry, text) >= 1:
            return text
    return ""


def _question(
    name: str, seed: int, difficulty: int, config: Mapping[str, Any]
) -> tuple[Any, Mapping[str, Any]]:
    """Return a dataset of one question, and that; some tasks draw from the global generators."""
    with GlobalRandomness(seed).lent():
        dataset = _dataset(name, seed, difficulty, config)
        return dataset, dataset[0]


def _dataset(name: str, seed: int, difficulty: int, config: Mapping[str, Any]) -> Any:
    if name in LEFT_OUT:
        raise ConfigError(f"reasoning-gym's {name} is no task here: {LEFT_OUT[name]}; name another")
    if name not in DATASETS:
        raise ConfigError(f"reasoning-gym has no task {shown(name)}.{suggest(name, task_names())}")
    kind, _ = DATASETS[name]
    settings = copy.deepcopy(_levels(name)[difficulty])
    fields = [field for field in vars(settings) if field not in ("seed", "size")]
    if unknown := [field for field in config if field not in fields]:
        raise ConfigError(
            f"config: {name} has no field {shown(unknown[0], 60)}.{suggest(str(unknown[0]), fields)}"
        )
    try:
        for field, value in {**config, "seed": seed, "size": 1}.items():
            setattr(settings, field, tuple(value) if isinstance(value, list) else value)
        return kind(config=settings)  # which validates them
    except RAISED as error:
        given = f" with config {shown(dict(config), 80)}" if config else ""
        raise ConfigError(f"{name} cannot be made{given}: {described(error)}") from error


@functools.cache
def _levels(name: str) -> tuple[Any, ...]:
    """Return a task's configurations by difficulty: those of its curriculum that hold, else its defaults."""
    kind, settings = DATASETS[name]
    found: list[Any] = []
    for level in range(MOST_LEVELS if name in CURRICULA else 0):
        make: Any = CURRICULA[name]
        curriculum = make()
        attributes = list(curriculum.attributes.values())
        if level >= max((len(attribute.levels) for attribute in attributes), default=0):
            break
        for attribute in attributes:
            curriculum.set_attr_level(attribute.name, min(level, len(attribute.levels) - 1))
        try:
            made = curriculum.generate_configuration({"size": 1, "seed": 0})
            kind(config=made)  # which validates it
        except RAISED:  # some curricula lead out of what the task itself allows
            break
        found.append(made)
    return tuple(found) or (settings(size=1, seed=0),)
