"""Verify a JSONL file's own solutions in the sandbox: all should pass, and no body of ``pass`` should.

    python benchmarks/quality/verify_rows.py HumanEval.jsonl

Prints the counts, what failed, and the time a verdict took; scripts are replayed.
"""

from __future__ import annotations

import statistics

from problem_rows import asked_rows

from pixelis.envs.coding.problems.problem_rows import ProblemRow
from pixelis.envs.coding.sandbox import Sandbox
from pixelis.envs.coding.verification.verification import verify


def candidates_of(row: ProblemRow) -> dict[str, str]:
    """Return what is tried on a row: its solution, the same as a completion, and nothing."""
    problem = row.problem
    tried = {"solution": row.solution}
    if problem.prefix and row.solution.startswith(problem.prefix):
        tried["completion"] = row.solution[len(problem.prefix) :]
    return {**tried, "pass": "    pass\n" if problem.prefix else f"def {problem.entry}(*args): pass"}


def main() -> None:
    """Print the counts."""
    rows = asked_rows(__doc__)
    passed: dict[str, int] = {}
    tried: dict[str, int] = {}
    seconds, surprises = [], []
    with Sandbox() as sandbox:
        for row in rows:
            programs = candidates_of(row)
            results = verify(
                row.problem, list(programs.values()), sandbox=sandbox, seed=0, replay_scripts=True
            )
            for name, result in zip(programs, results, strict=True):
                tried[name] = tried.get(name, 0) + 1
                passed[name] = passed.get(name, 0) + result.passed
                seconds.append(result.wall_seconds)
                if result.passed == (name == "pass"):
                    surprises.append(f"{row.problem.id} {name}: {result.status}, {result.detail}")
    for name, count in tried.items():
        print(f"{name}: {passed[name]} of {count} pass")
    print(f"run of a candidate: median {1e3 * statistics.median(seconds):.1f} ms, most {max(seconds):.2f} s")
    print("\n".join(surprises) or "no surprise")


if __name__ == "__main__":
    main()
