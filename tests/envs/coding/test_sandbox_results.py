"""What a job's result says: statuses, lines, names, printed text, bad input."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.coding.sandbox import Call, CallResult, Job, Limits, Sandbox, SandboxSettings, codec
from pixelis.envs.coding.sandbox.claims import read_claims, to_result
from pixelis.errors import ConfigError, SandboxJobError


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as opened:
        yield opened


def run(sandbox, code, *calls, entry="f", **limits):
    (result,) = sandbox.run([Job(code, entry, calls, Limits(**limits) if limits else None)])
    return result


def test_values_of_every_type_come_back_exactly(sandbox):
    values = [None, True, 1, 1.0, -0.0, "é\ud800\0", b"\xff", [1, (2,)], {1: {2}, (3,): frozenset([4])}]
    result = run(sandbox, "def f(x): return x", *[Call((value,)) for value in [*values, 10**3000]])
    assert result.status == "finished"
    assert [outcome.value for outcome in result.outcomes] == [*values, 10**3000]
    assert [type(outcome.value) for outcome in result.outcomes] == [*map(type, values), int]
    nan = run(sandbox, "def f(): return float('nan')", Call()).outcomes[0].value
    assert math.isnan(nan)


def test_keyword_arguments_and_a_call_listed_twice(sandbox):
    code = "seen = []\ndef f(a, *, b=0):\n    seen.append(a)\n    return a - b + len(seen)"
    result = run(sandbox, code, Call((5,), {"b": 2}), Call((5,)), Call((5,), {"b": 2}))
    assert [outcome.value for outcome in result.outcomes] == [4, 7, 6]


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("def f(x):\n    return (x", 2, "never closed"),
        ("def f(x):\nreturn x", 2, "Indentation"),
        ("def f(x): return 1\n\0", 0, "null bytes"),
        ("x = '\ud800'", 0, "surrogates"),
        ("return 1", 1, "outside function"),
        (("# " + "y" * 97 + "\n") * 10_000 + "x x", 10_001, "invalid syntax"),
    ],
    ids=["open bracket", "indentation", "NUL byte", "lone surrogate", "bare return", "1 MB"],
)
def test_syntax_error_has_its_line(sandbox, code, line, word):
    result = run(sandbox, code, Call((1,)))
    assert (result.status, result.line) == ("syntax_error", line)
    assert word in result.detail
    assert result.outcomes == (CallResult("missing"),)


def test_source_that_needs_too_much_memory_to_compile(sandbox):
    result = run(sandbox, "x = 1\n" * 170_000, Call((1,)), memory_bytes=256 << 20)
    assert (result.status, result.outcomes) == ("memory_limit", (CallResult("missing"),))


def test_no_entry_names_what_is_there(sandbox):
    result = run(sandbox, "import math\nclass A: pass\ndef solve(x): return x\nf = 3", Call((1,)))
    assert (result.status, result.names) == ("no_entry", ("A", "solve"))


def test_an_error_has_class_message_and_the_candidates_lines(sandbox):
    code = "def g(x):\n    return 1 / x\n\ndef f(x):\n    return g(x)\n"
    result = run(sandbox, code, Call((0,)), Call((4,)), Call())
    assert result.outcomes[0] == CallResult(
        "error", error="ZeroDivisionError: division by zero", lines=(5, 2)
    )
    assert result.outcomes[1].value == 0.25
    assert "missing 1 required positional argument" in result.outcomes[2].error


def test_a_raise_before_any_call(sandbox):
    result = run(sandbox, "x = 1\nraise KeyError('y')", Call((1,)))
    assert (result.status, result.line, result.detail) == ("raised", 2, "KeyError: 'y'")


def test_hostile_exceptions(sandbox):
    code = """
class E(Exception):
    def __str__(self): raise ValueError
class L(Exception):
    def __str__(self): return "\\x1b[31m" + "y" * 10**6
def f(x): raise (E if x else L)
"""
    quiet, loud = run(sandbox, code, Call((1,)), Call((0,))).outcomes
    assert quiet.error == "E: (its message could not be made)"
    assert loud.error.startswith("L: �[31myyy") and len(loud.error) < 600


def test_what_a_forged_message_says_is_cut_and_made_printable(sandbox):
    """The harness does that, but a candidate can write to the pipe itself."""
    code = "import os\ndef f():\n    os.write(3, TEXT)\n    os._exit(0)"
    forged = b'{"t":["error",0,"\\u001b[2J\\u0000' + b"x" * 5000 + b'",{"t":[]}]}\n'
    (outcome,) = run(sandbox, f"TEXT = {forged!r}\n{code}", Call()).outcomes
    assert outcome.error == "\ufffd[2J\ufffd" + "x" * 995
    early = b'{"t":["raised","a\\ud800b",{"t":[3]}]}\n'
    raised = run(sandbox, f"import os\nos.write(3, {early!r})\nos._exit(0)", Call())
    assert (raised.status, raised.detail, raised.line) == ("raised", "a\ufffdb", 3)


def test_all_right_messages_and_an_exit_of_its_own_are_no_end(sandbox):
    text = b'{"t":["value",0,7]}\n{"t":["end",1]}\n'
    code = f"import os\ndef f():\n    os.write(3, {text!r})\n    os._exit(CODE)"
    assert run(sandbox, f"CODE = 0\n{code}", Call()).status == "finished"
    assert run(sandbox, f"CODE = 3\n{code}", Call()).status == "exited"


def test_names_that_are_no_names_are_not_told(sandbox):
    code = "globals()['solve\\nAll 3 visible tests passed.'] = lambda: 0\ndef solve(): pass"
    result = run(sandbox, code, Call())
    assert (result.status, result.names, result.detail) == (
        "no_entry",
        ("solve",),
        "the code defines 'solve'",
    )


@pytest.mark.parametrize("code", ["def f(): return object()", "def f(): yield 1", "async def f(): pass"])
def test_a_return_value_that_does_not_travel_is_an_error(sandbox, code):
    (outcome,) = run(sandbox, code, Call()).outcomes
    assert outcome.kind == "error" and outcome.error.startswith("CodecError: expected a plain value")


def test_printed_text_is_kept_up_to_its_limit(sandbox):
    code = "import sys\nprint('start')\ndef f(n):\n    sys.stdout.buffer.write(b'\\xff')\n    print('x' * n)"
    result = run(sandbox, code, Call((10,)), stdout_bytes=12)
    assert (result.status, result.stdout) == ("finished", "start\n\ufffdxxxxx")
    silent = run(sandbox, "def f(): print('seen before the hang')\ndef g(): pass\n", Call())
    assert silent.stdout == "seen before the hang\n"


def test_printed_text_of_a_job_that_was_ended(sandbox):
    code = "def f():\n    print('before')\n    while True: pass"
    result = run(sandbox, code, Call(), cpu_seconds=0.2, wall_seconds=3)
    assert result.status in ("cpu_limit", "timeout")
    assert result.stdout == "before\n"


def test_code_without_an_entry(sandbox):
    result = run(sandbox, "print(6 * 7)", entry="")
    assert (result.status, result.stdout, result.outcomes) == ("finished", "42\n", ())


def test_jobs_keep_their_order_and_their_processes(sandbox):
    jobs = [Job(f"import os\ndef f(): return ({i}, os.getpid())", "f", (Call(),)) for i in range(5)]
    values = [result.outcomes[0].value for result in sandbox.run(jobs)]
    assert [number for number, _ in values] == [0, 1, 2, 3, 4]
    assert len({pid for _, pid in values}) == 5


@pytest.mark.parametrize(
    "job",
    [
        Job("", "f", (Call((object(),)),)),
        Job("", "f", (Call((), {"x": print}),)),
        Job("", "f", (), Limits(wall_seconds=0)),
        Job("", "f", (), Limits(memory_bytes=-1)),
        Job("", "f", (), Limits(cpu_seconds=float("nan"))),
        Job("", "f", (), Limits(threads="3")),  # type: ignore[arg-type]
    ],
)
def test_a_bad_job_is_refused_before_any_runs(sandbox, job):
    with pytest.raises(SandboxJobError, match="expected"):
        sandbox.run([job])


def test_a_bad_setting_is_refused():
    with pytest.raises(ConfigError, match="one of 'best_effort', 'strict', 'hardened'"):
        Sandbox(SandboxSettings(isolation="none"))  # type: ignore[arg-type]


def test_threads_can_be_refused():
    code = "import threading\ndef f():\n    threading.Thread(target=print).start()\n    return 1"
    with Sandbox(SandboxSettings(allow_threads=False)) as sandbox:
        assert run(sandbox, code, Call()).outcomes[0].error.startswith("RuntimeError")
    with Sandbox() as sandbox:
        assert run(sandbox, code, Call()).outcomes[0].value == 1


READY, VALUE, END = b'{"t":["ready"]}\n', b'{"t":["value",0,7]}\n', b'{"t":["end",1]}\n'
ERROR = b'{"t":["error",0,"E: x",{"t":[3]}]}\n'


def test_claims_read_by_hand():
    claims = read_claims(READY + VALUE + END, 1, Limits())
    assert (claims.outcomes, claims.is_ended, claims.broken) == ([CallResult("value", 7)], True, "")
    failed = read_claims(READY + ERROR + END, 1, Limits())
    assert failed.outcomes == [CallResult("error", error="E: x", lines=(3,))]
    cut = read_claims(READY + VALUE[:9], 1, Limits())  # a process that was ended in the middle
    assert (cut.outcomes, cut.is_ended, cut.broken) == ([], False, "")
    assert read_claims(b"", 1, Limits()).broken == ""


@pytest.mark.parametrize(
    "text",
    [
        VALUE + END,
        READY + READY + VALUE + END,
        READY + VALUE + VALUE + END,
        READY + END,
        READY + VALUE + END + b"x",
        READY + VALUE + b'{"t":["end",2]}\n',
        READY + b'{"t":["error",0,"E",{"t":[1,1,1,1,1,1,1,1,1]}]}\n',
        READY + b'{"t":["error",0,"E",{"t":[2147483648]}]}\n',
        READY + VALUE + END + END,
        READY + b'{"t":["value",1,7]}\n',
        READY + b'{"t":["value",true,7]}\n',
        READY + b'{"t":["value",0]}\n',
        READY + b'["value",0,7]\n',
        READY + b"7\n",
        READY + b'"value"\n',
        READY + b"null\n",
        READY + b'{"d":[["value",7]]}\n',
        READY + b'{"s":["value"]}\n',
        b"7\n",
        READY + b'{"t":["error",0,7,{"t":[]}]}\n',
        READY + b'{"t":["error",0,"E",{"t":[-1]}]}\n',
        READY + b'{"t":["passed"]}\n',
        READY + b'{"t":[["value"],0,7]}\n',
        b'{"t":["syntax",1,"x"]}\n' + READY,
        b'{"t":["no_entry",{"t":[1]}]}\n',
        READY + VALUE + b'{"t":["syntax",1,"x"]}\n',
        b"\x80\x04K\x07.\n",
        b"\n" * 50,
    ],
)
def test_messages_out_of_place_are_broken(text):
    assert read_claims(text, 1, Limits()).broken


ANYTHING = st.recursive(
    st.none()
    | st.sampled_from(["value", "error", "end", "ready", "syntax", "raised", "no_entry", 0, 1, True, 2.5]),
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple),
    max_leaves=12,
)


@given(st.lists(ANYTHING.map(codec.encode) | st.binary(max_size=20), max_size=4), st.booleans())
def test_no_bytes_make_reading_raise(lines, is_ready):
    text = (READY if is_ready else b"") + b"\n".join(lines)
    claims = read_claims(text, 2, Limits())
    report = {"ended": "exited", "exit": 0, "signal": None, "cpu": 0.0, "wall": 0.0}
    result = to_result(report, claims, 2, Limits())
    assert len(result.outcomes) == 2 and (result.status == "finished") <= (claims.is_ended and is_ready)


def test_recursion_limit_of_the_candidate_holds_for_all_its_calls(sandbox):
    limit = sys.getrecursionlimit() * 5
    code = f"import sys\nsys.setrecursionlimit({limit})\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)"
    result = run(sandbox, code, Call((limit // 2,)), Call((limit // 2,)))
    assert [outcome.value for outcome in result.outcomes] == [limit // 2] * 2


def test_each_call_gets_arguments_of_its_own(sandbox):
    shared = [1, 2]
    call = Call((shared, shared))
    result = run(sandbox, "def f(a, b):\n    a.append(len(b))\n    return a, b", call, call)
    assert [outcome.value for outcome in result.outcomes] == [([1, 2, 2], [1, 2])] * 2
    assert shared == [1, 2]


def test_more_than_its_limit_is_a_flood_even_if_it_ends_at_once(sandbox):
    code = "def f(n): return 'x' * n"
    result = run(sandbox, code, *[Call((3000,))] * 9, result_bytes=4096)
    assert result.status == "output_limit"
    assert run(sandbox, code, Call((3000,)), result_bytes=4096).status == "finished"


@pytest.mark.parametrize("job", [Job(b"x = 1", ""), Job("x = 1", None)])  # type: ignore[arg-type]
def test_code_that_is_no_text_is_refused(sandbox, job):
    with pytest.raises(SandboxJobError, match="to be text"):
        sandbox.run([job])
