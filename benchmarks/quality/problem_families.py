"""Whether every family's solutions pass and fail as they should, and what a constant answer earns.

    python benchmarks/quality/problem_families.py [--seeds 200] [--families clamp digits …]

For each family, difficulty and seed: one problem (its split is test for every fifth seed) with its hidden
tests. "reference" and "twin" count problems whose solution fails a test, which must be 0; "wrong" counts the
planted wrong solutions that passed all tests, of all that were run, which must be 0 as well. "constant" is
the share of hidden tests that the best constant answer passes, mean and worst. Solutions are a family's own
texts and run in this process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pixelis.envs.coding.answers.comparison import compare
from pixelis.envs.coding.families import FAMILIES, HiddenTests, ProblemFamily
from pixelis.envs.coding.problems import Problem
from pixelis.envs.coding.problems.trusted import trusted_function


@dataclass
class Tally:
    """What was counted for one family at one difficulty."""

    problems: int = 0
    reference: int = 0
    twin: int = 0
    wrong: int = 0
    passed: dict[str, int] = field(default_factory=dict)
    constants: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def passes(source: str, problem: Problem, tests: HiddenTests) -> bool:
    """Return whether a solution text answers every test; an exception is a wrong answer."""
    function = trusted_function(source, problem.entry)
    try:
        return all(compare(case.expected, function(*case.args), problem.comparison) for case in tests.cases)
    except Exception:
        return False


def check(family: ProblemFamily, difficulty: int, seeds: int) -> Tally:
    """Return the counts for a family's problems of ``seeds`` seeds."""
    tally = Tally()
    for seed in range(seeds):
        start = time.process_time()
        problem = family.draw(
            np.random.default_rng([seed, difficulty]), difficulty, "train" if seed % 5 else "test"
        )
        tests = family.hidden_tests(problem, seed)
        tally.seconds.append(time.process_time() - start)
        tally.constants.append(tests.constant_share)
        tally.problems += 1
        tally.reference += not passes(family.reference(problem), problem, tests)
        tally.twin += not passes(family.brute_force(problem), problem, tests)
        for name, source in family.wrong(problem).items():
            tally.wrong += 1
            if passes(source, problem, tests):
                tally.passed[name] = tally.passed.get(name, 0) + 1
    return tally


def rows(names: list[str], seeds: int) -> Iterator[str]:
    """Yield the table's lines."""
    names_of = ("family", "difficulty", "problems", "reference", "twin", "wrong", "constant mean / worst")
    yield f"| {' | '.join(names_of)} | CPU ms a draw |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name in names:
        for difficulty in FAMILIES[name].difficulties:
            tally = check(FAMILIES[name], difficulty, seeds)
            constants = f"{np.mean(tally.constants):.2f} / {max(tally.constants):.2f}"
            missed = "".join(f" {wrong} {count};" for wrong, count in tally.passed.items())
            yield (
                f"| {name} | {difficulty} | {tally.problems} | {tally.reference} | {tally.twin} | "
                f"{sum(tally.passed.values())} of {tally.wrong}{missed} | {constants} | "
                f"{1e3 * float(np.mean(tally.seconds)):.1f} |"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    arguments = parser.parse_args()
    for line in rows(arguments.families, arguments.seeds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
