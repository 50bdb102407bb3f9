"""The contract as tests of your own: subclass ``EnvContractTests`` and say how to make the environment.

    class TestMyEnv(EnvContractTests):
        def make_env(self, **keywords):
            return MyEnv(**keywords)

pytest then runs one test a clause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym

import pixelis.envs.check.contract as contract
import pixelis.envs.check.scores as scores
import pixelis.envs.check.side_by_side as side_by_side
from pixelis.envs.check.contract import Finding, Subject, run_clause
from pixelis.envs.check.secrecy import answers_are_not_told


class EnvContractTests:
    """One test a clause of the contract (see ``check.CLAUSES`` for where each stands).

    Attributes:
        seeds: the seeds to play.
        floor: greatest success rate of the players that must fail.
        processes: whether to compare with spawned processes; ``make_env`` must then be picklable, so the
            test module must be importable by its name.
    """

    seeds: Sequence[int] = range(10)
    floor: float = 0.05
    processes: bool = False

    def make_env(self, **keywords: Any) -> gym.Env[Any, Any]:
        """Return a new environment; ``keywords`` may hold ``render_mode``."""
        raise NotImplementedError("say how to make your environment: override make_env")

    def require(self, clause: Callable[[Subject], Finding]) -> None:
        """Fail the test with what was measured and what to do, unless the clause holds."""
        finding = run_clause(clause, Subject(self.make_env, self.seeds, self.floor, self.processes))
        if not finding.ok:
            raise AssertionError(
                f"{finding.clause}: {finding.measured}\nExpected: {finding.expected}\nTo do: {finding.remedy}"
            )

    def test_gymnasium_checker(self) -> None:
        """Gymnasium's own check passes without a warning."""
        self.require(contract.gymnasium_checker)

    def test_spaces_are_text(self) -> None:
        """The spaces are those of every ``ToolEnv``."""
        self.require(contract.spaces_are_text)

    def test_tool_schemas(self) -> None:
        """The tools' schemas are JSON schemas."""
        self.require(contract.tool_schemas)

    def test_same_seed_same_bytes(self) -> None:
        """The same seed and turns give the same bytes."""
        self.require(contract.same_seed_same_bytes)

    def test_seeds_differ(self) -> None:
        """Other seeds give other tasks."""
        self.require(contract.seeds_differ)

    def test_options_are_obeyed(self) -> None:
        """Options override the constructor, bad ones are clear errors."""
        self.require(contract.options_are_obeyed)

    def test_splits_are_disjoint(self) -> None:
        """No task is in both splits."""
        self.require(contract.splits_are_disjoint)

    def test_bad_actions_are_observations(self) -> None:
        """No text raises."""
        self.require(contract.bad_actions_are_observations)

    def test_only_text_is_an_action(self) -> None:
        """An action that is no string raises ``ActionTypeError``."""
        self.require(contract.only_text_is_an_action)

    def test_the_end(self) -> None:
        """Truncation, termination, and ``ResetNeeded`` after them."""
        self.require(contract.the_end)

    def test_info_is_complete(self) -> None:
        """``info`` has its keys and is JSON."""
        self.require(contract.info_is_complete)

    def test_frames(self) -> None:
        """Rendered frames are uint8 pictures of one size."""
        self.require(contract.frames)

    def test_oracle_succeeds(self) -> None:
        """The oracle succeeds on every seed."""
        self.require(scores.oracle_succeeds)

    def test_floors_hold(self) -> None:
        """What must fail, fails."""
        self.require(scores.floors_hold)

    def test_gap_holds(self) -> None:
        """Failures stay as far below successes as is declared."""
        self.require(scores.gap_holds)

    def test_progress_holds(self) -> None:
        """Progress grows along the oracle to 1, and pays no failure."""
        self.require(scores.progress_holds)

    def test_answers_are_not_told(self) -> None:
        """Nothing says the answer before the end."""
        self.require(answers_are_not_told)

    def test_pickles(self) -> None:
        """Spaces, observations and info go through pickle."""
        self.require(side_by_side.pickles)

    def test_threads_equal_sync(self) -> None:
        """Threads give what one after the other gives."""
        self.require(side_by_side.threads_equal_sync)

    def test_processes_equal_sync(self) -> None:
        """Spawned processes give what ``SyncVectorEnv`` gives."""
        self.require(side_by_side.processes_equal_sync)
