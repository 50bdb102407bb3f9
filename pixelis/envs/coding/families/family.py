"""A family of coding problems: a rule is drawn, and statement, solutions and test cases follow from it.

The solutions are texts in which the function is called ``solve`` and the rule's values are globals with its
names. What a candidate could have written is that text with the values on top (``ProblemFamily.reference``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from pixelis.envs.coding.answers.best_constant import best_constant
from pixelis.envs.coding.answers.comparison import EXACT, AnswerComparison, canonical
from pixelis.envs.coding.problems.problem import Problem, TestCase
from pixelis.envs.coding.problems.trusted import trusted_function
from pixelis.envs.data.splits import hashed_split
from pixelis.envs.tasks import check_difficulty, check_split
from pixelis.errors import TaskError, shown

Rule = Mapping[str, Any]
Arguments = tuple[Any, ...]

EXAMPLES = 3
HIDDEN_TESTS = 20
MAX_TRIES = 1_000
_ENTRY = "solve"


@dataclass(frozen=True)
class HiddenTests:
    """Test cases that decide a reward.

    Attributes:
        cases: in drawn order; no two have equal arguments.
        constant: the answer that is right most often, by what counts as equal; where a case is shown, of the
            others.
        constant_share: the share of cases, 0 to 1, that a solution passes which knows what is shown and else
            always returns the constant; 1 where all are shown.
    """

    cases: tuple[TestCase, ...]
    constant: Any
    constant_share: float

    @classmethod
    def of(
        cls, cases: Sequence[TestCase], comparison: AnswerComparison, shown: Sequence[TestCase] = ()
    ) -> HiddenTests:
        """Return cases with their best constant answer.

        Args:
            cases: all that must pass.
            comparison: what counts as an equal answer, unless a case says it.
            shown: those that the prompt shows with their answers; whoever copies these has earned nothing.
                Their calls count alone.

        Raises:
            TaskError: there are none.
        """
        if not cases:
            raise TaskError("expected at least one test case, got none; a problem without tests has no truth")
        known = {case.call("f") for case in shown}
        unknown = [case for case in cases if case.call("f") not in known]
        constant, right = best_constant(
            [(case.expected, case.comparison or comparison) for case in unknown or cases]
        )
        copied = len(cases) - len(unknown)
        return cls(tuple(cases), constant, (copied + right) / len(cases) if unknown else 1.0)


@dataclass(frozen=True)
class ProblemFamily:
    """How problems of one kind are drawn.

    Attributes:
        name: the family's name.
        difficulties: which of 1 to 10 it covers.
        entries: names the function may have.
        parameters: names and types of its parameters.
        returns: type of its value.
        wordings: the rule put in at least three different ways; each says everything that was drawn.
        draw_rule: draws JSON values by upper-case name at a difficulty.
        draw_args: draws one call's arguments.
        edges: arguments every hidden test set holds and no example shows.
        reference_text: source of a right solution.
        brute_force_text: source of another by an independent method, mostly slower.
        mistakes: wrong-but-plausible solutions by name: a source, or (old, new) to replace in the reference.
        comparison: what counts as an equal answer.
    """

    name: str
    difficulties: range
    entries: tuple[str, ...]
    parameters: Mapping[str, str]
    returns: str
    wordings: Callable[[Rule], Sequence[str]]
    draw_rule: Callable[[Random, int], dict[str, Any]]
    draw_args: Callable[[Random, Rule], Arguments]
    edges: Callable[[Rule], Sequence[Arguments]]
    reference_text: str
    brute_force_text: str
    mistakes: Mapping[str, str | tuple[str, str]]
    comparison: AnswerComparison = EXACT

    def draw(self, rng: np.random.Generator, difficulty: int, split: str = "train") -> Problem:
        """Draw a problem from ``rng`` alone. One rule belongs to one split, whatever the difficulty.

        Raises:
            DifficultyError: the family does not cover it.
            SplitError: neither ``train`` nor ``test``.
            TaskError: no rule of that split came up (a family with too few rules).
        """
        difficulty, split = check_difficulty(difficulty, self.difficulties), check_split(split)
        random = Random(int(rng.integers(2**63)))
        rule = self._rule(random, difficulty, split)
        problem = Problem(
            id="",
            family=self.name,
            difficulty=difficulty,
            split=split,
            statement=random.choice(self.wordings(rule)),
            entry=random.choice(self.entries),
            parameters=tuple(self.parameters.items()),
            returns=self.returns,
            comparison=self.comparison,
            rule=rule,
        )
        problem = replace(problem, examples=self._examples(random, rule))
        digest = hashlib.sha256(json.dumps(problem.to_json(), sort_keys=True).encode()).hexdigest()
        return replace(problem, id=f"{self.name}-{difficulty}-{digest[:8]}")

    def reference(self, problem: Problem) -> str:
        """Return the source text of a right solution."""
        return _written(self.reference_text, problem)

    def brute_force(self, problem: Problem) -> str:
        """Return the source text of a right solution by another method."""
        return _written(self.brute_force_text, problem)

    def wrong(self, problem: Problem) -> dict[str, str]:
        """Return the source texts of plausible wrong solutions, by name."""
        return {
            name: _written(_mistaken(self.reference_text, change), problem)
            for name, change in self.mistakes.items()
        }

    def hidden_tests(self, problem: Problem, seed: int, count: int = HIDDEN_TESTS) -> HiddenTests:
        """Draw the test cases that decide: the edges, then calls drawn so that answers differ.

        The same problem, seed and count give the same cases. None has an example's arguments.

        Args:
            problem: one of this family.
            seed: any integer; a fresh one an episode.
            count: how many cases, unless the edges are more or the family runs out of different calls.
        """
        random = Random(f"{problem.id}/{seed}")
        seen = {canonical(case.args) for case in problem.examples}
        cases = self._cases(problem.rule, self.edges(problem.rule), seen)
        missing = max(0, count - len(cases))
        drawn = [self.draw_args(random, problem.rule) for _ in range(3 * missing)]
        fresh = self._cases(problem.rule, drawn, seen)
        cases += _varied(random, fresh, missing, self.comparison, cases)
        random.shuffle(cases)
        return HiddenTests.of(cases, self.comparison)

    def _rule(self, random: Random, difficulty: int, split: str) -> dict[str, Any]:
        for _ in range(MAX_TRIES):
            rule = self.draw_rule(random, difficulty)
            if rule_split(self.name, rule) == split:
                return rule
        raise TaskError(f"family {self.name!r} has no rule for split {split!r} at difficulty {difficulty}")

    def _examples(self, random: Random, rule: Rule) -> tuple[TestCase, ...]:
        seen = {canonical(args) for args in self.edges(rule)}
        drawn = sorted(
            (self.draw_args(random, rule) for _ in range(8 * EXAMPLES)), key=lambda a: len(repr(a))
        )
        cases = self._cases(rule, drawn[: 4 * EXAMPLES], seen)
        return tuple(_varied(random, cases, EXAMPLES, self.comparison))

    def _cases(self, rule: Rule, drawn: Sequence[Arguments], seen: set[Any]) -> list[TestCase]:
        """Return cases for the arguments that are not yet in ``seen``, and add them to it."""
        solve = trusted_function(self.reference_text, _ENTRY, rule)
        cases = []
        for args in drawn:
            key = canonical(args)
            if key not in seen:
                seen.add(key)
                cases.append(TestCase(args, solve(*args)))
        return cases


def rule_split(family: str, rule: Rule) -> str:
    """Return the split a rule belongs to: a fifth of all rules, by SHA-256, is for testing."""
    return hashed_split(f"{family}:{json.dumps(rule, sort_keys=True)}")


def _varied(
    random: Random,
    cases: Sequence[TestCase],
    count: int,
    comparison: AnswerComparison,
    chosen: Sequence[TestCase] = (),
) -> list[TestCase]:
    """Choose cases whose answers are rarest so far, so that a constant is right as seldom as can be."""
    taken = {canonical(group[0].expected, comparison): len(group) for group in _by_answer(chosen, comparison)}
    groups = _by_answer(cases, comparison)
    random.shuffle(groups)
    ranked = []
    for group in groups:
        before = taken.get(canonical(group[0].expected, comparison), 0)
        ranked += [(before + turn, case) for turn, case in enumerate(group)]
    return [case for _, case in sorted(ranked, key=lambda pair: pair[0])[:count]]


def _by_answer(cases: Sequence[TestCase], comparison: AnswerComparison) -> list[list[TestCase]]:
    groups: dict[Any, list[TestCase]] = {}
    for case in cases:
        groups.setdefault(canonical(case.expected, comparison), []).append(case)
    return list(groups.values())


def _mistaken(reference: str, change: str | tuple[str, str]) -> str:
    if isinstance(change, str):
        return change
    if reference.count(change[0]) != 1:
        raise ValueError(
            f"{shown(change[0])} occurs {reference.count(change[0])} times in the reference, not once"
        )
    return reference.replace(*change)


def _written(text: str, problem: Problem) -> str:
    """Return a family's text as a candidate would have written it for one problem."""
    constants = "".join(f"{name} = {value!r}\n" for name, value in problem.rule.items())
    return constants + re.sub(rf"\b{_ENTRY}\b", problem.entry, text)
