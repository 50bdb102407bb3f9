"""The executable contract of environments: ``check_env`` and ``python -m pixelis.envs.check ENV``.

    pixelis check-env Pixelis/ZoomRead-v0 --seeds 20

prints one line a clause with what was measured, then what the environment costs, and exits with 1 when a
clause does not hold. Your own is checked the same way, as ``your_module:YourEnv-v0``; for tests there is
``tests.EnvContractTests``. An environment that is no ``ToolEnv`` is asked what any of Gymnasium's can keep
(``plain``).
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import gymnasium as gym

import pixelis.envs.check.contract as contract
import pixelis.envs.check.plain as plain
import pixelis.envs.check.scores as scores
import pixelis.envs.check.side_by_side as side_by_side
from pixelis.envs.check.contract import Finding, MakeEnv, Subject, run_clause
from pixelis.envs.check.figures import Figures, measure
from pixelis.envs.check.secrecy import answers_are_not_told
from pixelis.envs.registration import check_env_id
from pixelis.envs.tool_env import ToolEnv
from pixelis.errors import ConfigError, PixelisError, shown

CLAUSES: tuple[Callable[[Subject], Finding], ...] = (
    contract.gymnasium_checker,
    contract.spaces_are_text,
    contract.tool_schemas,
    contract.same_seed_same_bytes,
    contract.seeds_differ,
    contract.options_are_obeyed,
    contract.splits_are_disjoint,
    contract.bad_actions_are_observations,
    contract.only_text_is_an_action,
    contract.the_end,
    contract.info_is_complete,
    contract.frames,
    scores.oracle_succeeds,
    scores.floors_hold,
    scores.gap_holds,
    scores.progress_holds,
    answers_are_not_told,
    side_by_side.pickles,
    side_by_side.threads_equal_sync,
    side_by_side.processes_equal_sync,
)


@dataclass(frozen=True)
class CheckReport:
    """What ``check_env`` found.

    Attributes:
        env: name of the environment.
        findings: one a clause, in the order of ``CLAUSES`` (``plain.CLAUSES`` for no ``ToolEnv``).
        figures: what it costs; None where it cannot be played.
    """

    env: str
    findings: tuple[Finding, ...]
    figures: Figures | None = None

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that do not hold."""
        return tuple(finding for finding in self.findings if not finding.ok)

    @property
    def ok(self) -> bool:
        """Whether all of the contract holds."""
        return not self.failures

    def __str__(self) -> str:
        """Return a table for people."""
        width = max(len(finding.clause) for finding in self.findings)
        lines = [
            f"{self.env}: {len(self.findings) - len(self.failures)} of {len(self.findings)} clauses hold"
        ]
        for finding in self.findings:
            lines.append(
                f"  {'ok  ' if finding.ok else 'FAIL'}  {finding.clause:<{width}}  {finding.measured}"
            )
            if not finding.ok:
                lines.append(f"  {'':4}  {'':{width}}  expected: {finding.expected}")
                lines.append(f"  {'':4}  {'':{width}}  → {finding.remedy}")
        return "\n".join([*lines, *([f"  {self.figures}"] if self.figures else [])])

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "env": self.env,
            "ok": self.ok,
            "findings": [asdict(finding) for finding in self.findings],
            "figures": self.figures.to_json() if self.figures else None,
            "versions": {name: metadata.version(name) for name in ("pixelis", "gymnasium", "numpy")},
        }


def check_env(
    env: str | MakeEnv,
    *,
    seeds: int | Sequence[int] = 20,
    floor: float = 0.05,
    processes: bool = True,
    keywords: Mapping[str, Any] | None = None,
) -> CheckReport:
    """Check an environment against the whole contract, or that of plain ones; plays some hundred episodes.

    Args:
        env: a Gymnasium id (``module:Id-v0`` included), or what makes the environment: a class or a function.
            It must be picklable for the comparison with spawned processes.
        seeds: the seeds to play, or how many (then 0, 1, …).
        floor: how far above ``env.chance`` the success of the players that must fail may be, see
            ``scores.greatest_floor``.
        processes: whether to compare with spawned processes, which takes seconds.
        keywords: for the constructor of a Gymnasium id.

    Raises:
        UnknownEnvError: nothing is registered under the id.
        ConfigError: it cannot be made.
        MissingDependencyError: it needs a package that is not installed.
    """
    if isinstance(env, str):
        name, make = env, functools.partial(make_env, check_env_id(env), **(keywords or {}))
    else:
        if isinstance(env, gym.Env | gym.vector.VectorEnv):
            raise ConfigError(
                f"check_env makes environments itself, also in other processes; got one that is made, {env}: "
                "give its id, its class, or a function that makes it"
            )
        name, make = getattr(env, "__name__", shown(env)), env
    has_tools = issubclass(_kind(name, make), ToolEnv)
    subject = Subject(make, range(seeds) if isinstance(seeds, int) else list(seeds), floor, processes)
    clauses, cost = (CLAUSES, measure) if has_tools else (plain.CLAUSES, plain.measure)
    findings = tuple(run_clause(clause, subject) for clause in clauses)
    return CheckReport(name, findings, cost(subject))


def _kind(name: str, make: MakeEnv) -> type[gym.Env[Any, Any]]:
    """Make the environment once, so that what it lacks as a whole is told once and not by every clause."""
    try:
        env = make()
        kind = type(env.unwrapped)
        env.close()
    except PixelisError:
        raise
    except Exception as error:  # a stranger's constructor may fail in any way
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(f"{name} cannot be made: {reason}") from error
    return kind


def make_env(env_id: str, **keywords: Any) -> gym.Env[Any, Any]:
    """Make a registered environment without Gymnasium's checking wrappers, in a spawned process too."""
    return gym.make(env_id, disable_env_checker=True, **keywords)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="pixelis check-env", description="Check an environment.")
    parser.add_argument(
        "env", help="a Gymnasium id, for example Pixelis/ZoomRead-v0 or your_module:YourEnv-v0"
    )
    parser.add_argument("--seeds", type=int, default=20, help="episodes a player and difficulty (default 20)")
    parser.add_argument(
        "--floor", type=float, default=0.05, help="greatest success of baselines (default 0.05)"
    )
    parser.add_argument("--no-processes", action="store_true", help="leave spawned processes out")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.add_argument(
        "--make",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="constructor argument, JSON or text; repeat for more",
    )
    options = parser.parse_args(arguments)
    try:
        report = check_env(
            options.env,
            seeds=max(1, options.seeds),
            floor=options.floor,
            processes=not options.no_processes,
            keywords=dict(map(_keyword, options.make)),
        )
    except PixelisError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    print(json.dumps(report.to_json(), indent=1) if options.json else report)
    return 0 if report.ok else 1


def _keyword(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a JSON value is what it says, anything else is text."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
