"""CodeProblem played by hand: handing in, RUN and SUBMIT, dials, files, and a sandbox that fails."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import signal
from pathlib import Path

import gymnasium as gym
import pytest

import pixelis  # noqa: F401
from pixelis.envs.check.scores import score
from pixelis.envs.coding.code_problem.env import CodeProblemEnv
from pixelis.envs.coding.families import FAMILIES
from pixelis.envs.coding.problems import Problem, TestCase
from pixelis.envs.coding.sandbox import Limits, SandboxSettings
from pixelis.errors import ConfigError, DatasetError, DifficultyError, SandboxUnavailableError, TaskError

SPIN = "while True: pass"


@pytest.fixture(scope="module")
def env():
    env = CodeProblemEnv()
    yield env
    env.close()


@pytest.fixture(scope="module")
def hurried():
    env = CodeProblemEnv(sandbox={"cpu_seconds": 1.0, "wall_seconds": 60.0})
    yield env
    env.close()


@pytest.fixture(scope="module")
def tools():
    env = CodeProblemEnv(mode="multi", max_turns=12)
    yield env
    env.close()


def task_with(tests, examples=(), **fields):
    """A task to double x, as somebody writes it by hand."""
    problem = Problem(
        *("by-hand", "own", 0, "train", "Double x.", "double", (("x", "int"),), "int"),
        tests=tuple(tests),
        examples=tuple(examples),
        **fields,
    )
    return {"question": problem.prompt, "answer": "", "data": {"problem": problem.to_json(), "seed": 7}}


DOUBLE = task_with(
    [TestCase((x,), 2 * x) for x in range(10, 20)], [TestCase((1,), 2), TestCase((2,), 4), TestCase((3,), 6)]
)


def play(env, *turns, task=DOUBLE):
    env.reset(seed=0, options={"task": task})
    for turn in turns:
        said = env.step(turn)
    return said


def fenced(code):
    return f"```python\n{code}\n```"


def call(name, **arguments):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


# ---------------------------------------------------------------------- handing in

RIGHT = "def double(x):\n    return x + x"


@pytest.mark.parametrize(
    "turn",
    [
        fenced(RIGHT),
        RIGHT,
        f"<answer>{RIGHT}</answer>",
        f"<answer>\n{fenced(RIGHT)}\n</answer>",
        f"I add x to itself.\n\n{fenced(RIGHT)}\n\nIt takes constant time.",
        f"<think>{fenced('def double(x): return x')}</think>{fenced(RIGHT)}",
        f"```\n{RIGHT}",
        "<answer>double = lambda x: x * 2</answer>",
        f"{fenced(RIGHT)}{call('SUBMIT')}",
    ],
)
def test_code_is_handed_in_as_models_write_it(env, turn):
    observation, reward, terminated, truncated, info = play(env, turn)
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert info["reward_terms"] == {"task": 1.0, "tests_passed": 1.0, "tests_corrected": 1.0}
    assert observation["text"] == "Passed 10 of 10 hidden tests."
    assert info["verification"] == {
        "status": "finished",
        "detail": "passed 10 of 10 hidden tests",
        "passed": True,
    }
    assert "valid_for_training" not in info and info["sandbox_layers"] == list(env.lease.get().layers)


def test_partial_credit_by_hand():
    half = "def double(x): return 2 * x if x < 15 else 10"  # 5 of 10; the best constant passes 1 of 10
    with CodeProblemEnv(partial_credit=0.25) as env:
        _, reward, _, _, info = play(env, fenced(half))
        assert info["reward_terms"] == pytest.approx(
            {"task": 0.25 * 4 / 9, "tests_passed": 0.5, "tests_corrected": 4 / 9}
        )
        assert reward == info["reward_terms"]["task"] and not info["success"]
        assert play(env, fenced("def double(x): return 20"))[1] == 0.0
    with CodeProblemEnv(partial_credit=0) as env:
        assert play(env, fenced(half))[1] == 0.0 and play(env, fenced(RIGHT))[1] == 1.0


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        (
            "def double(x):\n    return (x",
            "syntax_error",
            "error in line 2: SyntaxError: '(' was never closed",
        ),
        (
            "def duoble(x): return 2 * x",
            "no_entry",
            "only duoble; call it 'double': def double(x: int) -> int:",
        ),
        (f"def double(x):\n    {SPIN}", "cpu_limit", "used 1 s of processor time"),
        ("def double(x): return 2 * x\nexit(0)", "raised", "NameError"),
        ("import os\nos._exit(0)\ndef double(x): return 2 * x", "exited", "ended its process"),
        ("def double(x): return 2 * x\nX = '\0'", "syntax_error", "null bytes"),
    ],
)
def test_failures_are_told_and_are_the_candidates(hurried, code, status, words):
    observation, reward, terminated, _, info = play(hurried, fenced(code))
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert info["verification"]["status"] == status and words in observation["text"]
    assert "valid_for_training" not in info


def test_a_turn_without_code_is_told_so_and_a_long_one_is_not_read(env):
    for turn, code in (
        ("It is easy.", "no_action"),
        (fenced("#" * 20_000), "too_long"),
        ("x" * 10**6, "too_long"),
    ):
        observation, reward, terminated, truncated, info = play(env, turn)
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert [result["error_code"] for result in info["tool_calls"]] == [code] and observation["text"]
    assert play(env, "It is easy.", "Very.")[3]  # truncated
    with CodeProblemEnv(max_turns=1) as strict:
        _, reward, terminated, truncated, info = play(strict, "It is easy.")
        assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)


# ---------------------------------------------------------------------- tools


def test_run_shows_the_first_failing_example_and_what_was_printed(tools):
    code = "def double(x):\n    print('x is', x)\n    return 2 * x if x != 2 else 5"
    observation, reward, terminated, _, info = play(tools, fenced(code) + call("RUN"))
    assert observation["text"] == (
        "2 of 3 visible tests passed.\ndouble(2) returned 5, expected 4.\nPrinted: x is 1\nx is 2\nx is 3\n"
    )
    assert (reward, terminated) == (0.0, False)
    assert info["tool_calls"][0]["data"] == {"status": "finished", "passed": 2, "tests": 3}


def test_a_traceback_holds_the_candidates_lines_only(tools):
    parse = "import json\ndef parse(x):\n    return json.loads('{' + str(x))\n"
    code = f"{parse}\ndef double(x):\n    return parse(x)"
    text = play(tools, call("RUN", code=code))[0]["text"]
    assert text.startswith("0 of 3 visible tests passed.\ndouble(1) raised JSONDecodeError: ")
    assert text.endswith("\n  line 6: return parse(x)\n  line 3: return json.loads('{' + str(x))")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def double(): return 2", "It is called with 1 argument(s): def double(x: int) -> int:"),
        ("def double(x):\n  return 2 *", "Not run to the end: the code has an error in line 2: SyntaxError"),
        ("def double(x):\n  return 2 *", "  line 2: return 2 *"),
        ("def dbl(x): return 2 * x", "there is no function 'double', only dbl; call it 'double'"),
        ("def double(x): return 10 ** 8000", "returned a int too large to show, expected 2."),
        ("def double(x): return [x] * 999", "…, expected 2."),
        ("def double(x): print('y' * 9999); return 2 * x", "y[… cut]"),
        ("def double(x): raise ValueError(object())", "object at 0x…>"),
        ("import os\ndef double(x): os._exit(1)", "It had not answered double(1)."),
        (RIGHT, "All 3 visible tests passed."),
    ],
)
def test_what_run_says(tools, code, words):
    text = play(tools, call("RUN", code=code))[0]["text"]
    assert words in text and len(text) < 1500


def test_submit_ends_with_the_argument_the_block_or_what_ran_last(tools):
    for turns in (
        [call("SUBMIT", code=RIGHT)],
        [call("SUBMIT", code=fenced(RIGHT))],
        [fenced(RIGHT) + call("SUBMIT")],
        [fenced(RIGHT) + call("RUN"), call("SUBMIT")],
        [fenced("def double(x): return 1") + call("RUN"), fenced(RIGHT) + call("SUBMIT")],
        [fenced(RIGHT) + call("RUN"), f"<answer>{RIGHT}</answer>"],
        [f"<tool_call><function=SUBMIT><parameter=code>\n{RIGHT}\n</parameter></function></tool_call>"],
        [call("SUBMIT", code=RIGHT) + call("RUN", code="def double(x): pass") + call("SUBMIT", code="x")],
        [call("SUBMIT", code=RIGHT) + "<answer>def double(x): pass</answer>"],
    ):
        _, reward, terminated, truncated, info = play(tools, *turns)
        assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_calls_without_code_are_told_what_to_write(tools):
    for turn, code in ((call("RUN"), "no_code"), (call("SUBMIT"), "no_code"), (fenced(RIGHT), "no_action")):
        observation, _, terminated, _, info = play(tools, turn)
        assert info["tool_calls"][0]["error_code"] == code and not terminated
        assert "```python" in observation["text"]
    assert info["tool_calls"][0]["tool"] == ""
    late = play(tools, call("SUBMIT", code=RIGHT) + call("RUN", code=RIGHT))
    assert [result["error_code"] for result in late[4]["tool_calls"]] == [None, "is_over"]


def test_a_problem_without_examples_says_so(tools):
    task = task_with([TestCase((1,), 2)])
    assert play(tools, call("RUN", code=RIGHT), task=task)[0]["text"] == (
        "The code runs and defines double; there are no visible tests."
    )


# ---------------------------------------------------------------------- tasks


def test_hidden_tests_are_fresh_and_nowhere_to_be_seen(env):
    seen = []
    for seed in (0, 1, 0):
        observation, info = env.reset(seed=seed, options={"family": "digits", "difficulty": 2})
        inputs = [case.args for case in env.workspace.tests.cases]
        assert not any(
            f"{case.call(env.workspace.problem.entry)}" in observation["text"]
            for case in env.workspace.tests.cases
        )
        assert "seed" not in json.dumps(info)
        seen.append((observation["text"], inputs))
    assert seen[0] == seen[2] != seen[1]


def test_a_task_survives_json_with_its_tests(env):
    env.reset(seed=4, options={"difficulty": 6})
    task, tests = env.task, env.workspace.tests
    _, info = env.reset(seed=99, options={"task": json.loads(json.dumps(task.to_json()))})
    assert env.workspace.tests == tests and info["task"]["hash"] == task.content_hash
    assert env.step(fenced(task.answer))[4]["success"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problem": None}, "must be an object"),
        ({"seed": -1}, "must be an integer"),
        ({"seed": True}, "must be an integer"),
        ({"problem": {"id": "x"}}, "cannot be read"),
        ({"problem": {**DOUBLE["data"]["problem"], "tests": []}}, "at least one test case"),
        ({"problem": {**DOUBLE["data"]["problem"], "script": "assert 1", "tests": []}}, "not run"),
        ({"problem": {**DOUBLE["data"]["problem"], "family": "digits", "tests": []}}, "none of the family"),
    ],
)
def test_bad_tasks_are_refused_and_change_nothing(env, change, words):
    env.reset(seed=1)
    before = env.task
    with pytest.raises(TaskError, match=words):
        env.reset(options={"task": {**DOUBLE, "data": {**DOUBLE["data"], **change}}})
    assert env.task is before


def test_prompts_are_short_where_small_models_begin(env):
    for difficulty in (1, 2, 3, 4):
        texts = [env.reset(seed=seed, options={"difficulty": difficulty})[0]["text"] for seed in range(40)]
        assert max(map(len, texts)) < 1000
        assert all(text.count("```python") == 1 and "Examples:" in text for text in texts)


# ---------------------------------------------------------------------- dials


def test_the_dials_of_an_environment():
    whole = CodeProblemEnv()
    assert set(whole.level_dials["family"]) == set(FAMILIES)
    assert tuple(whole.level_dials["difficulty"]) == tuple(range(1, 11))
    assert whole.level_exists({"family": "fizzbuzz", "difficulty": 3})
    assert not whole.level_exists({"family": "fizzbuzz", "difficulty": 9})
    env = CodeProblemEnv(family=["letters", "brackets"])
    assert {name: tuple(values) for name, values in env.level_dials.items()} == {
        "family": ("letters", "brackets"),
        "difficulty": (1, 2, 6, 7, 8),
    }
    assert env.difficulty == 1


def test_every_level_that_exists_is_played(env):
    for family in FAMILIES:
        for difficulty in (
            level for level in range(1, 11) if env.level_exists({"family": family, "difficulty": level})
        ):
            for split in ("train", "test"):
                options = {"family": family, "difficulty": difficulty, "split": split}
                _, info = env.reset(seed=3, options=options)
                assert info["problem"] == {
                    "id": info["task"]["id"],
                    "family": family,
                    "difficulty": difficulty,
                }
                assert info["task"]["split"] == split


def test_a_family_is_chosen_for_an_episode():
    with CodeProblemEnv(difficulty=5) as env:
        for family, difficulty in (
            ("brackets", 6),
            ("letters", 2),
            (["letters", "automata"], 2),
            ("factors", 5),
        ):
            _, info = env.reset(seed=0, options={"family": family})
            assert info["problem"]["difficulty"] == difficulty  # the nearest that is covered
            assert info["problem"]["family"] in family
        assert env.reset(seed=0)[1]["problem"]["difficulty"] == 5


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"family": "letters", "difficulty": 9}, DifficultyError),
        ({"family": ["letters", "brackets"], "difficulty": 4}, DifficultyError),
        ({"family": "leters"}, ConfigError),
        ({"family": []}, ConfigError),
        ({"family": 3}, ConfigError),
        ({"families": "letters"}, ConfigError),
        ({"difficulty": 0}, DifficultyError),
        (3, ConfigError),
    ],
)
def test_bad_options_are_refused(env, options, error):
    with pytest.raises(error):
        env.reset(options=options)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"mode": "mutli"}, ConfigError, "'multi'"),
        ({"family": "fizbuzz"}, ConfigError, "'fizzbuzz'"),
        ({"family": "fizzbuzz", "difficulty": 9}, DifficultyError, "3 to 4"),
        ({"partial_credit": 1}, ConfigError, "partial_credit"),
        ({"partial_credit": float("nan")}, ConfigError, "partial_credit"),
        ({"max_turns": 0}, ConfigError, "max_turns"),
        ({"problems": __file__, "family": "digits"}, ConfigError, "not both"),
        ({"problems": "no/such.jsonl"}, DatasetError, "no/such.jsonl"),
        ({"sandbox": {"cpu_second": 1}}, ConfigError, "cpu_seconds"),
        ({"sandbox": {"cpu_seconds": 0}}, ConfigError, "above 0"),
        ({"sandbox": {"isolation": "none"}}, ConfigError, "strict"),
        ({"sandbox": 3}, ConfigError, "mapping"),
    ],
)
def test_bad_keywords_are_refused(keywords, error, words):
    with pytest.raises(error, match=words):
        CodeProblemEnv(**keywords)


def test_the_sandbox_is_set_by_names_or_whole():
    env = CodeProblemEnv(sandbox={"isolation": "strict", "wall_seconds": 9})
    assert env.lease.settings == SandboxSettings("strict", Limits(wall_seconds=9, cpu_seconds=2.0))
    whole = SandboxSettings(limits=Limits(cpu_seconds=1))
    assert CodeProblemEnv(sandbox=whole).lease.settings is whole


# ---------------------------------------------------------------------- files


def own_row(number, **fields):
    tests = [{"args": [x], "expected": number * x} for x in (1, 2, 3)]
    return {
        "statement": f"Multiply by {number}.",
        "entry": "times",
        "tests": tests,
        "solution": f"def times(x): return {number} * x",
        "split": ("train", "test")[number % 2],
        **fields,
    }


SCRIPTED = {
    "prompt": "def f(x):\n    '''Sorts.'''\n",
    "entry_point": "f",
    "test": "def check(candidate):\n    for x in range(3):\n        assert candidate([x]) == [x]\n",
    "split": "train",
}


def test_a_file_of_ones_own(tmp_path, caplog):
    path = tmp_path / "mine.jsonl"
    scripted = [{**SCRIPTED, "task_id": f"scripted/{number}"} for number in range(3)]
    path.write_text("\n".join(json.dumps(row) for row in [*map(own_row, range(6)), *scripted]))
    with CodeProblemEnv(problems=path) as env:
        assert "left out are 3 rows" in caplog.text
        assert env.level_dials == {} and tuple(env.source.difficulties) == (0,)
        statements = set()
        for seed in range(30):
            env.reset(seed=seed, options={"split": ("train", "test")[seed % 2]})
            statements.add(env.task.data["problem"]["statement"])
            assert env.step(fenced(env.task.answer))[4]["success"]
        assert statements == {f"Multiply by {number}." for number in range(6)}
        assert score(env, "exploit_constant", range(6)).success < 1  # times 0 is a constant


def test_a_file_that_nobody_can_judge_is_refused(tmp_path):
    path = tmp_path / "scripts.jsonl"
    path.write_text(json.dumps(SCRIPTED))
    with pytest.raises(DatasetError, match="only 1 rows whose tests are no test cases"):
        CodeProblemEnv(problems=path)
    path.write_text(json.dumps({**own_row(1), "tests": []}))
    with pytest.raises(DatasetError, match="line 1: field 'tests' is empty"):
        CodeProblemEnv(problems=path)
    path.write_text(json.dumps(own_row(1)))
    with pytest.raises(TaskError, match="no rows of split 'train'"):
        CodeProblemEnv(problems=path).reset()


# ---------------------------------------------------------------------- infrastructure


def children():
    pid = os.getpid()
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_environments_share_a_server_that_ends_with_the_last():
    before = set(children())
    settings = {"memory_bytes": 300 << 20}
    first, second = CodeProblemEnv(sandbox=settings), CodeProblemEnv(sandbox=settings)
    first.reset(seed=0)
    assert set(children()) == before  # none until code runs
    for one in (first, second):
        assert play(one, fenced(RIGHT))[1] == 1.0
    assert len(set(children()) - before) == 1
    first.close()
    assert play(second, fenced(RIGHT))[1] == 1.0
    second.close()
    second.close()
    assert set(children()) == before
    assert play(first, fenced(RIGHT))[1] == 1.0  # an environment that was closed may play again
    del first, one
    gc.collect()
    assert set(children()) == before


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("mode", ["single", "multi"])
def test_an_environment_is_copied_in_mid_episode(copy_of, mode):
    with CodeProblemEnv(mode=mode) as env:
        play(env, fenced(RIGHT) + call("RUN") if mode == "multi" else "wait")
        with copy_of(env) as twin:
            turn = call("SUBMIT") if mode == "multi" else fenced(RIGHT)
            said, said_by_twin = env.step(turn), twin.step(turn)
            assert said[1] == said_by_twin[1] == 1.0 and said[4] == said_by_twin[4]


@pytest.mark.parametrize("mode", ["single", "multi"])
def test_a_killed_server_is_no_zero_and_the_next_episode_works(mode):
    killer = "import time\ndef double(x):\n    time.sleep(30)"
    with CodeProblemEnv(mode=mode, sandbox={"wall_seconds": 60}) as env:
        assert play(env, f"<answer>{RIGHT}</answer>")[1] == 1.0
        server = env.lease.get()._server.process.pid
        watched = Path(f"/proc/{server}/task/{server}/children")
        child = os.fork()
        if child == 0:
            while not watched.read_text():
                pass
            os.kill(server, signal.SIGKILL)
            os._exit(0)
        turn = f"<answer>{killer}</answer>" if mode == "single" else call("RUN", code=killer)
        _, reward, terminated, _, info = play(env, turn)
        os.waitpid(child, 0)
        assert info["valid_for_training"] is False and "server died" in info["failure_reason"]
        if mode == "multi":
            assert info["tool_calls"][0]["error_code"] == "sandbox_failed" and not terminated
            reward, info = env.step(f"<answer>{RIGHT}</answer>")[1::3]
            assert info["valid_for_training"] is False  # the episode has lost a turn to it
        assert (reward, info["success"]) == (0.0, False)
        _, reward, _, _, info = play(env, f"<answer>{RIGHT}</answer>")
        assert reward == 1.0 and "valid_for_training" not in info


def test_a_sandbox_that_cannot_start_is_a_failure_of_the_episode_only(monkeypatch):
    with CodeProblemEnv() as env:

        def refuse():
            raise SandboxUnavailableError("expected every layer, this machine lacks landlock")

        monkeypatch.setattr(env.lease, "get", refuse)
        _, reward, terminated, _, info = play(env, fenced(RIGHT))
        assert (reward, terminated, info["success"], info["valid_for_training"]) == (0.0, True, False, False)
        assert "lacks landlock" in info["failure_reason"]


@pytest.mark.slow
def test_vectors_of_processes_leave_nothing():
    before = set(children())
    envs = gym.make_vec(
        "Pixelis/CodeProblem-v0", 2, vectorization_mode="async", vector_kwargs={"context": "fork"}
    )
    envs.reset(seed=[1, 2])
    said = envs.step([fenced("def x(): pass")] * 2)
    assert said[2].all() and said[4]["verification"]["status"][0] == "no_entry"
    envs.close()
    gc.collect()
    assert set(children()) <= before
