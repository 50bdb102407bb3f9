"""``Pixelis/CodeProblem-v0``: write a function that passes hidden tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from typing_extensions import Unpack

from pixelis.envs.actions import MAX_ACTION_LENGTH, BadCall, ParsedAction
from pixelis.envs.coding.answers.extraction import extract_code
from pixelis.envs.coding.code_problem.answer_tag import parse_turn
from pixelis.envs.coding.code_problem.attempt import TOOLS, Attempt
from pixelis.envs.coding.code_problem.keywords import (
    FamilyNames,
    PartialCredit,
    ProblemPath,
    SandboxKeyword,
    sandbox_settings,
)
from pixelis.envs.coding.code_problem.players import code_problem_players
from pixelis.envs.coding.code_problem.tasks import FamilyTasks, FileTasks, problem_of
from pixelis.envs.coding.families import FAMILIES
from pixelis.envs.coding.families.registry import DIFFICULTIES
from pixelis.envs.coding.problems.problem_file import ProblemFile
from pixelis.envs.coding.verification.sandbox_lease import SandboxLease
from pixelis.envs.keywords import Difficulty, Split, checked_keywords
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.rendering import TextKeywords, text_keywords
from pixelis.envs.tasks import Task, TaskSource
from pixelis.envs.tool_env import TEXT_METADATA, ToolEnv, Verdict
from pixelis.envs.tools import Toolset
from pixelis.errors import ConfigError

_TURNS = {"single": 2, "multi": 6}
_NO_CALL = (
    "Nothing was run or handed in. Write a ```python block, then "
    '<tool_call>{"name": "RUN"}</tool_call> or <tool_call>{"name": "SUBMIT"}</tool_call>.'
)
_NO_CODE = "No code found. Write one ```python block with the whole function."


class CodeProblemEnv(ToolEnv[Attempt]):
    r"""Write a function that passes hidden tests.

    ## Description

    A function is described, with its signature and a few examples. What the agent writes runs in a sandbox
    on about 20 inputs that are drawn anew for each episode and never shown. The outputs it claims are
    compared in this process, so there is no verdict in the sandbox to be forged
    (docs/reference/coding_sandbox.md). A quarter of the inputs are asked twice, out of order, and both
    answers must be right.

    32 families draw the problems, at difficulties 1 to 10 (docs/reference/coding_problems.md): numbers, words
    and rules differ from one to the next, and no rule is in both splits. A file of your own, or of
    HumanEval's or MBPP's shape, takes their place with `problems=`.

    ## Action space

    `Utf8Text(16384)`: one whole assistant turn; a longer one is not read.

    * `mode="single"`: the code in the turn is handed in, in `<answer>…</answer>` or without it.
    * `mode="multi"`: there are two tools, and only `SUBMIT` and `<answer>` hand in.

    | tool | arguments | meaning |
    |---|---|---|
    | `RUN` | `code`, optional | runs the examples; what fails first, what was printed, where it raised |
    | `SUBMIT` | `code`, optional | hands in and ends the episode |

    Without `code` a tool takes the code in front of the first call; `SUBMIT` else what ran last.

    Which code of a text counts: all of it where it is Python as it stands. Else, of fenced blocks
    (backticks or tildes, any label, the last perhaps cut off) the last that defines the function asked for,
    else the last that defines any, else the last. Without a fence, of the parts of the text that Python's
    parser takes, the first that defines the function. Other blocks or parts go with it where it uses names
    that only they define. If nothing parses, the lines that look like code are taken, and the mistake in
    them is told. What stands in `<answer>` or `code` is handed in even if it does not look like code; an
    `<answer>` that is part of the code, as in a docstring, is no answer, nor one without an end behind the
    code. Where a file's row shows the start of a function, what completes it may be handed in alone.

    Lines without a fence that could only raise NameError (`Done`, `Time: O(n)`) are taken for prose.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | at reset the problem; then what RUN says; at the end tests passed |

    ## Rewards

    1 if every hidden test passed, else 0.5 times what the share of passed tests exceeds the best constant
    answer by: max(0, (share - c) / (1 - c)), c being the share that a function passes which always returns
    the same, and knows the tests that the prompt of a file's row tells. So a constant earns 0.
    A run that does not get to its end (time, memory, an exit, a crash) passes no test.

    | in `info` | meaning |
    |---|---|
    | `reward_terms` | at the end: `task`, the reward; `tests_passed`, the share; `tests_corrected` for c |
    | `problem` | every turn: `id`, `family`, `difficulty` |
    | `verification` | at the end: `status`, `detail` (in words) and `passed` |
    | `sandbox_layers` | once something ran: the layers of the sandbox that hold on this machine |
    | `success` | at the end: every hidden test passed |

    `status` is `finished`, or why the run did not get to its end: `syntax_error`, `no_entry` (no function of
    that name), `raised` (before any call), `timeout`, `cpu_limit`, `memory_limit`, `output_limit`, `killed`,
    `exited`, `protocol` (something else than results came out) or `sandbox_failed`. The last is no fault of
    the agent: `valid_for_training` is then False, `failure_reason` says why, and the reward is 0.

    ## Starting state

    A problem of the split, difficulty and families, and the seed of its tests, drawn from `reset(seed=…)`
    alone. `reset(options={"family": …, "difficulty": …})` chooses for one episode; a family without a
    difficulty is played at the one it covers that is nearest to the environment's. `level_dials` has the
    values of both; not every family covers every difficulty, `level_exists` says which.

    ## Episode end

    * Termination: code was handed in.
    * Truncation: `max_turns` turns.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `difficulty` | `None` | 1 to 10; `None`: the easiest of the families |
    | `split` | `train` | `train` or `test` |
    | `mode` | `single` | `single`: one answer; `multi`: with RUN and SUBMIT |
    | `max_turns` | `None` | turns before truncation; `None`: 2 (a turn without code is told so), `multi` 6 |
    | `family` | `None` | name or list of names; `None`: all |
    | `problems` | `None` | a JSONL file (docs/reference/coding_problems.md); the difficulty is then 0 |
    | `partial_credit` | 0.5 | factor of the share above a constant's, from 0 to below 1 |
    | `sandbox` | `None` | `isolation`, `allow_threads` and limits by name, or `SandboxSettings` |
    | `render_mode` | `None` | `ansi`: `render` returns the transcript of the episode, a text |

    A candidate has 2 seconds of processor time and 6 of wall time for all inputs together, and 512 MB:
    `sandbox={"cpu_seconds": 5, "isolation": "strict"}` gives it more, and refuses to run where a layer of the
    sandbox is missing.

    The environments of one process share one sandbox server. It starts when code first runs, and ends when
    the last environment is closed. A fork or a spawned process starts its own.

    Rows of a file whose tests could not be read as calls and values are left out, with a warning that counts
    them; a file with no other rows is refused. Their scripts would have to run beside the agent's code.

    ```python
    import gymnasium as gym

    import pixelis

    env = gym.make("Pixelis/CodeProblem-v0", family="fizzbuzz", difficulty=3)
    observation, info = env.reset(seed=0)
    print(observation["text"])
    solution = env.unwrapped.task.answer
    observation, reward, terminated, truncated, info = env.step(f"Here it is:\n```python\n{solution}\n```")
    assert terminated and reward == 1.0 and info["success"]
    env.close()
    ```

    ## Version history

    * v0: first version.

    ## Source

    Hidden tests and half of the share as partial credit are those of the project that this one follows.
    Families, correction by a constant, sandbox and code are our own.
    """

    metadata: dict[str, Any] = {**TEXT_METADATA}  # noqa: RUF012  # as ToolEnv
    family_difficulties: ClassVar[Mapping[str, range]] = MappingProxyType(
        {name: family.difficulties for name, family in FAMILIES.items()}
    )
    option_names = (*ToolEnv.option_names, "family")

    @checked_keywords
    def __init__(
        self,
        *,
        difficulty: Difficulty | None = None,
        split: Split = "train",
        mode: Literal["single", "multi"] = "single",
        family: FamilyNames | None = None,
        problems: ProblemPath | None = None,
        partial_credit: PartialCredit = 0.5,
        sandbox: SandboxKeyword | None = None,
        **others: Unpack[TextKeywords],
    ) -> None:
        if problems is not None and family is not None:
            raise ConfigError("give problems (a file) or family, not both: a file's rows are of no family")
        self.mode, self.partial_credit = mode, float(partial_credit)
        self.task_gap = 1.0 - self.partial_credit
        self.lease = SandboxLease(sandbox_settings(sandbox or {}))
        if problems is None:
            source: FamilyTasks | FileTasks = FamilyTasks(tuple(FAMILIES) if family is None else family)
        else:
            source = FileTasks(ProblemFile.open(problems))
        self.source: FamilyTasks | FileTasks
        super().__init__(
            source=source,
            toolset=Toolset(TOOLS if mode == "multi" else (), self._open),
            verifier=self._judge,
            difficulty=source.difficulties[0] if difficulty is None else difficulty,
            split=split,
            **text_keywords(others, _TURNS[mode]),
        )

    @property
    def instructions(self) -> str:
        """How to hand in."""
        if self.mode == "single":
            return "Answer with one Python code block."
        return "Write a Python code block, then call RUN to try it on the examples or SUBMIT to hand it in."

    @property
    def what_to_say(self) -> str:
        """What a turn without code or call is told."""
        if self.mode == "single":
            return _NO_CODE
        return _NO_CALL

    @property
    def failure(self) -> str:
        """Why the sandbox failed; empty when it has not."""
        return self.workspace.failure

    @property
    def is_over(self) -> bool:
        """Whether SUBMIT has ended the episode."""
        return self.workspace.is_over

    def source_for(self, options: Mapping[str, Any]) -> TaskSource:
        """Return the families that the reset options ask for."""
        return FamilyTasks(options["family"] or tuple(FAMILIES)) if "family" in options else self.source

    @property
    def level_dials(self) -> Mapping[str, Sequence[Any]]:
        """Families and the difficulties they cover; none where a file's rows are played."""
        if isinstance(self.source, FileTasks):
            return {}
        return {"family": self.source.names, "difficulty": self.source.covered}

    @property
    def task_difficulties(self) -> range:
        """0, which a file's rows have, and all that families cover: any problem may be given."""
        return range(DIFFICULTIES.stop)

    def level_exists(self, level: Mapping[str, Any]) -> bool:
        """Return whether a family, given beside a ``difficulty`` by name, covers it."""
        return level["difficulty"] in self.family_difficulties[level["family"]]

    def parse(self, action: str) -> ParsedAction:
        """Return calls and answer; without tools, a turn that holds code is an answer as it stands."""
        if len(action) > MAX_ACTION_LENGTH:
            what = (
                f"The turn has {len(action):,} characters; at most {MAX_ACTION_LENGTH:,} are read. Be brief."
            )
            return ParsedAction((BadCall("too_long", what),), None)
        assert self.task is not None  # step() has checked it
        self.workspace.turn = action
        parsed = parse_turn(action, self.workspace.problem.entry, self._code_in)
        if parsed.answer is not None:
            return parsed
        if self.mode == "single" and not parsed.is_thought and self._code_in(action) is not None:
            return ParsedAction((), action)
        return parsed

    def hear(self, answer: str) -> str | None:
        """Verify an answer, unless something was handed in before it."""
        if not self.workspace.is_over:
            code = self._code_in(answer)
            self.workspace.hand_in(answer.strip() if code is None else code)
        return None

    def nearness(self) -> float:
        """Return half of the greatest share of the visible tests that a RUN has passed; 0 without RUNs."""
        runs = [result.data for result in self.results if result.tool == "RUN" and result.data.get("tests")]
        return 0.5 * max((data["passed"] / data["tests"] for data in runs), default=0.0)

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, the baselines and the exploits of this environment."""
        return {**super().players(), **code_problem_players(self.mode)}

    def close(self) -> None:
        """Give the sandbox back; the last environment of the process to do so ends it."""
        self.lease.close()
        super().close()

    def choose_task(self, options: Mapping[str, Any]) -> Task:
        """Return the episode's task; a family without a difficulty is played at its nearest one."""
        if "family" in options and "difficulty" not in options:
            source = self.source_for(options)
            assert isinstance(source, FamilyTasks)  # what a family option leads to
            options = {**options, "difficulty": source.nearest(self.difficulty)}
        return super().choose_task(options)

    def build_observation(self, text: str) -> dict[str, Any]:
        """Return the observation; the last one says how the code was judged."""
        verification = self.workspace.verification
        if self.workspace.is_over and self.verdict is not None and verification is not None:
            text = "\n".join(
                [*([text] if text else []), f"{verification.detail[0].upper()}{verification.detail[1:]}."]
            )
        return super().build_observation(text)

    def build_info(self, results: list[Any]) -> dict[str, Any]:
        """Return the info, with the problem, the sandbox and the verification."""
        attempt = self.workspace
        info = super().build_info(results)
        problem = attempt.problem
        info["problem"] = {"id": problem.id, "family": problem.family, "difficulty": problem.difficulty}
        if attempt.layers:
            info["sandbox_layers"] = list(attempt.layers)
        if attempt.verification is not None:
            one = attempt.verification
            info["verification"] = {"status": one.status, "detail": one.detail, "passed": one.passed}
        return info

    # ------------------------------------------------------------------ private

    def _code_in(self, text: str) -> str | None:
        return extract_code(text, self.workspace.problem.entry, self.workspace.problem.prefix)

    def _open(self, task: Task) -> Attempt:
        problem, seed, tests = problem_of(task)
        return Attempt(problem, seed, tests, self.lease)

    def _judge(self, task: Task, answer: str | None, workspace: Attempt) -> Verdict:
        verification = workspace.verification
        if verification is None or self.failure:
            return Verdict(False, {"task": 0.0, "tests_passed": 0.0, "tests_corrected": 0.0})
        earned = 1.0 if verification.passed else self.partial_credit * verification.corrected
        return Verdict(
            verification.passed,
            {"task": earned, "tests_passed": verification.share, "tests_corrected": verification.corrected},
        )
