"""Each clause of the contract fails for an environment that breaks it, and holds for one that does not."""

from __future__ import annotations

import itertools
import time
import warnings
import zlib

import numpy as np
import pytest

from pixelis.envs.actions import ToolCall
from pixelis.envs.check import CLAUSES, check_env, contract, secrecy, side_by_side
from pixelis.envs.check import scores as contract_scores
from pixelis.envs.check.contract import Subject, run_clause
from pixelis.envs.check.playing import same
from pixelis.envs.check.secrecy import answers_are_not_told
from pixelis.envs.check.tests import EnvContractTests
from pixelis.envs.players import NothingPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.envs.tools import Tool, ToolOutput, Toolset

COUNTER = itertools.count()


class Secrets:
    family = "secrets"
    difficulties = range(2)

    def sample(self, rng, difficulty, split):
        secret = str(2 * int(rng.integers(10**6)) + (split == "test"))
        return Task(
            f"s-{zlib.crc32(secret.encode())}", self.family, difficulty, split, "What is the secret?", secret
        )


class Say:
    def __init__(self, *turns):
        self.turns = iter(turns)

    def act(self, observation, info):
        return next(self.turns, "")


class Oracle:
    def act(self, observation, info):
        if info["tool_calls"]:
            return f"<answer>{observation['text']}</answer>"
        return '<tool_call>{"name": "ASK", "arguments": {}}</tool_call>'


def answered(env):
    return Say(f"<answer>{env.task.answer if env.task else ''}</answer>")


def ask(secret, arguments):
    return ToolOutput(secret)


def judge(task, answer, secret):
    return Verdict(answer == task.answer, {"task": float(answer == task.answer)})


class SecretEnv(ToolEnv[str]):
    tool = Tool("ASK", "Ask for the secret.", {"properties": {}}, ask)
    source_type = Secrets
    verifier_function = staticmethod(judge)

    def __init__(self, **keywords):
        toolset = Toolset([self.tool], lambda task: task.answer)
        super().__init__(
            source=self.source_type(), toolset=toolset, verifier=self.verifier_function, **keywords
        )

    def players(self):
        mine = {
            "oracle": lambda env: Oracle(),
            "tool_free": lambda env: Say("<answer>0</answer>"),
            "exploit_silence": lambda env: NothingPlayer(),
        }
        return {**super().players(), **mine}


class TestSecretEnv(EnvContractTests):
    """The mix-in, as a third party would use it, on an environment that keeps the contract."""

    def make_env(self, **keywords):
        return SecretEnv(**keywords)


# ---------------------------------------------------------------------- environments that break a clause


class NoDraw(Secrets):
    def sample(self, rng, difficulty, split):
        return Task("s", self.family, difficulty, split, f"What is the secret of {split}?", "7")


class OwnDice(Secrets):
    def sample(self, rng, difficulty, split):
        return super().sample(np.random.default_rng(next(COUNTER)), difficulty, split)


class OneSplit(Secrets):
    def sample(self, rng, difficulty, split):
        return Task("s", self.family, difficulty, split, "?", str(rng.integers(5)))


class Deaf(Secrets):
    def sample(self, rng, difficulty, split):
        return super().sample(rng, 0, split)


class Clock(SecretEnv):
    tool = Tool("ASK", "Ask.", {}, lambda secret, arguments: ToolOutput(f"{secret} {time.perf_counter_ns()}"))


class BadSchema(SecretEnv):
    tool = Tool("ASK", "Ask.", {"properties": {"x": {"type": "nonsense"}}}, ask)


class NoWords(SecretEnv):
    tool = Tool("ASK", "", {}, ask)


class Raises(SecretEnv):
    def step(self, action):
        if "\0" in action:
            raise ValueError("NUL")
        return super().step(action)


class Deals(SecretEnv):
    """Takes an argument that it does not name."""

    tool = Tool("ASK", "Ask.", {"additionalProperties": True}, ask)


class TakesAll(SecretEnv):
    def step(self, action):
        return super().step(str(action))


class Endless(SecretEnv):
    def step(self, action):
        self.turn = min(self.turn, 3)
        return super().step(action) if self.turn < 3 else (*self.reset(seed=0)[:1], 0.0, False, True, {})


class NotJson(SecretEnv):
    tool = Tool("ASK", "Ask.", {}, lambda secret, arguments: ToolOutput(secret, {"x": np.float32(1)}))


class NoTerms(SecretEnv):
    verifier_function = staticmethod(lambda task, answer, secret: Verdict(answer == task.answer, {}))


class GreyFrames(SecretEnv):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012

    def render(self):
        return np.zeros((4, 4), np.uint8)


class WrongImage(SecretEnv):
    def __init__(self):
        super().__init__(image_size=8)

    def observe_image(self):
        return np.zeros((4, 4, 3), np.uint8)


class WarnsWithoutWords(SecretEnv):
    def reset(self, **settings):
        warnings.warn("", UserWarning, stacklevel=1)
        return super().reset(**settings)


class Unsolvable(SecretEnv):
    verifier_function = staticmethod(lambda task, answer, secret: Verdict(False, {"task": 0.0}))


class Generous(SecretEnv):
    verifier_function = staticmethod(lambda task, answer, secret: Verdict(answer is not None, {"task": 1.0}))


class NoExploits(SecretEnv):
    def players(self):
        return {name: make for name, make in super().players().items() if not name.startswith("exploit")}


class NoToolFree(SecretEnv):
    def players(self):
        return {name: make for name, make in super().players().items() if name != "tool_free"}


class SharedState(SecretEnv):
    """Every observation counts calls of all environments together."""

    tool = Tool("ASK", "Ask.", {}, lambda secret, arguments: ToolOutput(f"{secret} {next(COUNTER)}"))


class NoTools(SecretEnv):
    """Has no tools, and nobody who answers without reading."""

    def __init__(self):
        super().__init__()
        self.toolset = Toolset([], lambda task: task.answer)


class PaysForAnswers(SecretEnv):
    """An exploit never succeeds, and earns nine tenths of the reward."""

    @staticmethod
    def verifier_function(task, answer, secret):
        success = answer == task.answer
        return Verdict(success, {"task": 1.0 if success else 0.9 * (answer is not None)})


class OverstatesItsGap(PaysForAnswers):
    task_gap = 1.0


class FailsAboveItsLine(PaysForAnswers):
    task_gap, success_line = 0.0, 0.5


class HasNoLine(PaysForAnswers):
    task_gap = 0.0


class Unending(SecretEnv):
    """Says something back to every answer."""

    def hear(self, answer):
        return "And?"


def with_source(source):
    return type(source.__name__, (SecretEnv,), {"source_type": source})


class HasAHeadStart(SecretEnv):
    def nearness(self):
        return 0.5


class SlipsBack(SecretEnv):
    def nearness(self):
        return 0.5 if self.turn == 1 else 0.0

    def players(self):
        """The oracle asks twice, and is told the second time that it is as far away as at first."""
        ask = '<tool_call>{"name": "ASK", "arguments": {}}</tool_call>'
        return {**super().players(), "oracle": lambda env: AsksTwice(ask)}


class AsksTwice(Oracle):
    def __init__(self, ask):
        self.asks = iter([ask, ask])

    def act(self, observation, info):
        return next(self.asks, None) or super().act(observation, info)


class IsThereTooSoon(SecretEnv):
    def nearness(self):
        return float(bool(self.results))


class PaysForTrying(SecretEnv):
    """Says of itself how it ended, and forgets that a failure has got nowhere."""

    def progress(self):
        return self.turn / 2 if self.verdict is None or self.verdict.success else 0.25

    def nearness(self):
        return 0.0


class Peeks(SecretEnv):
    """Asking asks for the secret."""

    def nearness(self):
        self.results.append(self.run_call(ToolCall("ASK", {})))
        return 0.5 * (self.turn > 0)

    def build_info(self, results):
        return {**super().build_info(results), "calls": len(self.results)}


class NamesItsTasks(Secrets):
    """The id of a task is its answer."""

    def sample(self, rng, difficulty, split):
        task = super().sample(rng, difficulty, split)
        return Task(f"secret {task.answer}!", *[getattr(task, name) for name in AFTER_ID])


AFTER_ID = ("family", "difficulty", "split", "question", "answer")


class Whispers(SecretEnv):
    """Says the answer beside a picture."""

    def __init__(self):
        super().__init__(image_size=8)

    def observe_image(self):
        return np.zeros((8, 8, 3), np.uint8)

    def build_observation(self, text):
        return super().build_observation(f"{text} ({self.task.answer})")


class Reads(SecretEnv):
    """Says the answer in its question, so that no tool is needed."""

    def build_observation(self, text):
        return super().build_observation(f"{text} ({self.task.answer})")


class TakesLists(SecretEnv):
    """Takes every answer that holds the right one."""

    @staticmethod
    def verifier_function(task, answer, secret):
        success = answer is not None and task.answer in answer
        return Verdict(success, {"task": float(success)})


class TakesTheFirst(SecretEnv):
    """Takes every answer that begins with the right one."""

    @staticmethod
    def verifier_function(task, answer, secret):
        success = answer is not None and answer.startswith(task.answer)
        return Verdict(success, {"task": float(success)})


class KeepsALock(SecretEnv):
    def build_info(self, results):
        return {**super().build_info(results), "lock": Ephemeral()}


class Ephemeral:
    """What is unpickled is something else."""


BROKEN = [
    (WrongImage, contract.gymnasium_checker),
    (WarnsWithoutWords, contract.gymnasium_checker),
    (WrongImage, contract.spaces_are_text),
    (BadSchema, contract.tool_schemas),
    (NoWords, contract.tool_schemas),
    (Clock, contract.same_seed_same_bytes),
    (with_source(OwnDice), contract.same_seed_same_bytes),
    (with_source(NoDraw), contract.seeds_differ),
    (with_source(Deaf), contract.options_are_obeyed),
    (with_source(OneSplit), contract.splits_are_disjoint),
    (Raises, contract.bad_actions_are_observations),
    (Deals, contract.bad_actions_are_observations),
    (TakesAll, contract.only_text_is_an_action),
    (Endless, contract.the_end),
    (NotJson, contract.info_is_complete),
    (NoTerms, contract.info_is_complete),
    (GreyFrames, contract.frames),
    (Unsolvable, contract_scores.oracle_succeeds),
    (Generous, contract_scores.floors_hold),
    (NoExploits, contract_scores.floors_hold),
    (NoToolFree, contract_scores.floors_hold),
    (NoTools, contract_scores.floors_hold),
    (PaysForAnswers, contract_scores.floors_hold),
    (TakesLists, contract_scores.floors_hold),
    (TakesTheFirst, contract_scores.floors_hold),
    (OverstatesItsGap, contract_scores.gap_holds),
    (FailsAboveItsLine, contract_scores.gap_holds),
    (HasNoLine, contract_scores.gap_holds),
    (Unsolvable, contract_scores.gap_holds),
    (HasAHeadStart, contract_scores.progress_holds),
    (SlipsBack, contract_scores.progress_holds),
    (IsThereTooSoon, contract_scores.progress_holds),
    (PaysForTrying, contract_scores.progress_holds),
    (Peeks, contract_scores.progress_holds),
    (Unending, contract.the_end),
    (with_source(NamesItsTasks), answers_are_not_told),
    (Whispers, answers_are_not_told),
    (Reads, answers_are_not_told),
    (KeepsALock, side_by_side.pickles),
    (SharedState, side_by_side.threads_equal_sync),
]


@pytest.mark.parametrize(("make", "clause"), BROKEN, ids=lambda value: value.__name__)
def test_a_broken_environment_is_found_out(make, clause):
    finding = run_clause(clause, Subject(make, range(6), processes=False))
    assert not finding.ok
    assert finding.clause == clause.__name__
    assert finding.measured
    assert finding.remedy


@pytest.mark.parametrize(
    ("declared", "line", "ok", "measured"),
    [
        (None, None, True, "not declared; 6 successes, least 1; "),
        (0.1, None, True, "declared 0.1; 6 successes, least 1; "),
        (0.0, 0.95, True, "declared 0; "),
        (0.2, None, False, "the gap is 0.1, declared 0.2; "),
    ],
)
def test_the_declared_gap_is_compared_with_recorded_episodes(declared, line, ok, measured):
    class Declares(PaysForAnswers):
        task_gap, success_line = declared, line

    finding = run_clause(contract_scores.gap_holds, Subject(Declares, range(6), processes=False))
    assert finding.ok is ok and finding.measured.startswith(measured)


@pytest.mark.parametrize(
    ("answers", "texts", "shares"),
    [
        (["7", "8"], ["it is 7", "it is 8"], (1.0, 0.0)),
        (["7", "8"], ["7 or 8", "8 or 7"], (1.0, 1.0)),  # the choices of the question
        (["7", "7"], ["77", "1.7"], (0.5, 0.0)),  # whole, and nobody has another answer
        (["", "ab"], ["ab", "AB."], (1.0, 1.0)),
        (["a.c", "x"], ["abc", "X"], (0.5, 0.0)),
    ],
)
def test_in_how_many_texts_an_answer_stands(answers, texts, shares):
    assert secrecy.shares(answers, texts) == shares


def test_where_the_answer_is_one_of_the_choices_of_the_question_text_is_not_judged():
    class Offers(Whispers):
        def chance(self, difficulty):
            return 0.5

    finding = run_clause(answers_are_not_told, Subject(Offers, range(6), processes=False))
    assert finding.ok and finding.measured.endswith("judged: info")


def test_where_reading_is_the_task_text_is_told_and_not_judged():
    class ReadsAlone(Reads):
        """Has a tool, but no player that must fail without it."""

        def players(self):
            return {name: make for name, make in super().players().items() if name != "tool_free"}

    finding = run_clause(answers_are_not_told, Subject(ReadsAlone, range(6), processes=False))
    assert finding.ok
    assert finding.measured.endswith("text 1.00 (those of others 0.00); judged: info")


class Unsolved(SecretEnv):
    """Nobody here knows what solves it."""

    knows_solutions = False

    def players(self):
        return ToolEnv.players(self)


def test_where_no_solution_is_known_clauses_about_them_say_so_and_all_others_are_checked():
    report = check_env(Unsolved, seeds=3, processes=False)
    assert report.ok, str(report)
    measured = {finding.clause: finding.measured for finding in report.findings}
    for clause in ("oracle_succeeds", "gap_holds"):
        assert measured[clause].startswith("none: knows_solutions is False")
    assert measured["floors_hold"].startswith("nothing 0.00, random 0.00; exploits: none: knows_solutions")
    assert measured["same_seed_same_bytes"] == "3 seeds, 3 episodes each, all equal"
    assert report.figures is not None and report.figures.of == "the random player"


def test_where_no_solution_is_known_a_broken_clause_is_still_found():
    class Dicey(Unsolved):
        source_type = OwnDice

    class Generous(Unsolved):
        verifier_function = staticmethod(lambda task, answer, secret: Verdict(True, {"task": 1.0}))

    found = {finding.clause for finding in check_env(Dicey, seeds=3, processes=False).failures}
    assert "same_seed_same_bytes" in found
    found = {finding.clause for finding in check_env(Generous, seeds=3, processes=False).failures}
    assert "floors_hold" in found


def test_where_tasks_are_named_seeds_and_splits_need_not_differ():
    class Named(SecretEnv):
        source_type = NoDraw
        draws_tasks = False

    for clause in (contract.seeds_differ, contract.splits_are_disjoint):
        finding = run_clause(clause, Subject(Named, range(3), processes=False))
        assert finding.ok and finding.measured.startswith("none: draws_tasks is False")


def test_an_environment_that_has_forgotten_its_oracle_does_not_pass():
    class Forgetful(SecretEnv):
        def players(self):
            return ToolEnv.players(self)

    found = {finding.clause for finding in check_env(Forgetful, seeds=2, processes=False).failures}
    assert {"oracle_succeeds", "floors_hold", "gap_holds"} <= found


def test_every_clause_has_an_environment_that_breaks_it():
    assert {clause for _, clause in BROKEN} == set(CLAUSES) - {side_by_side.processes_equal_sync}


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        (SecretEnv, 0.0),
        (TakesLists, 1.0),
        (TakesTheFirst, 0.5),  # every other seed's right answer stands first
        (Generous, None),  # what is said does not count
        (FailsAboveItsLine, None),  # rewards with degrees
        (with_source(NoDraw), None),  # one answer to all
    ],
)
def test_how_often_the_right_answer_beside_a_wrong_one_succeeds(kind, share):
    assert contract_scores.two_answers(kind(), range(6)) == share


def test_what_two_answers_at_once_reach_is_told():
    finding = run_clause(contract_scores.floors_hold, Subject(TakesLists, range(6), processes=False))
    assert finding.measured.endswith(", two answers at once 1.00")
    assert finding.remedy.startswith("compare the whole answer")


def test_the_mix_in_has_a_test_of_every_clause():
    tests = {name for name in dir(EnvContractTests) if name.startswith("test_")}
    assert tests == {f"test_{clause.__name__}" for clause in CLAUSES}


def test_the_mix_in_says_what_was_measured_and_what_to_do():
    class Tests(EnvContractTests):
        def make_env(self, **keywords):
            return NoToolFree(**keywords)

    with pytest.raises(AssertionError, match=r"missing: tool_free or overview_only(.|\n)*To do: add it"):
        Tests().test_floors_hold()
    with pytest.raises(AssertionError, match="override make_env"):
        EnvContractTests().test_the_end()


def test_a_score_is_counted():
    scores = {name: contract_scores.score(SecretEnv(), name, range(5)) for name in ("oracle", "nothing")}
    assert scores["oracle"] == contract_scores.Score("oracle", 5, 1.0, 1.0, 2.0)
    assert scores["nothing"] == contract_scores.Score("nothing", 5, 0.0, 0.0, 8.0)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        ({"a": [1, (2,)]}, {"a": [1, (2,)]}, True),
        ({"a": 1}, {"b": 1}, False),
        ([1], [1, 2], False),
        (np.zeros(2), np.zeros(2), True),
        (np.zeros(2), np.zeros(2, np.float32), False),
        (np.zeros(2), np.zeros(3), False),
        (np.array([{"x": np.ones(1)}]), np.array([{"x": np.ones(1)}]), True),
        (np.array([{"x": np.ones(1)}]), np.array([{"x": np.zeros(1)}]), False),
        ({"a": np.array([1])}, {"a": np.array([2])}, False),
    ],
)
def test_same_by_hand(a, b, equal):
    assert same(a, b) is equal
