"""The command that judges samples: results, Pass@k by hand, resuming after a kill, and bad files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pixelis.cli.verify_solutions import main

ROOT = Path(__file__).parents[2]
DOUBLE = {
    "task_id": "T/double",
    "prompt": 'def double(x):\n    """Return twice x."""\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(5) == 10\n",
}
BIGGER = {
    "task_id": 7,
    "text": "Write a function to find the bigger one.",
    "code": "",
    "test_list": ["assert bigger(1, 2) == 2", "assert bigger(9, 3) == 9", "assert bigger(-1, -5) == -1"],
}
SCRIPTED = {
    **DOUBLE,
    "task_id": "T/script",
    "test": "def check(candidate):\n    for i in range(9):\n        assert candidate(i) == 2 * i\n",
}
RIGHT, WRONG = "    return x + x\n", "    return x * x\n"
MAXIMUM = "def bigger(a, b):\n    return max(a, b)\n"


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def sample(task, text):
    return {"task_id": task, "completion": text}


@pytest.fixture
def problems(tmp_path):
    return write(tmp_path / "problems.jsonl", [DOUBLE, BIGGER])


def judged(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_results_and_pass_at_k_by_hand(tmp_path, problems, capsys):
    """double: 1 of 3 pass; bigger: 3 of 3. Pass@1: (1/3 + 1) / 2; Pass@2: (1 - 1/3 + 1) / 2."""
    samples = write(
        tmp_path / "samples.jsonl",
        [
            sample("T/double", RIGHT),
            sample("T/double", WRONG),
            sample(7, MAXIMUM),
            sample("mbpp/7", "bigger = max"),
            {"task_id": "7", "solution": MAXIMUM, "model": "any"},
            sample("T/double", "    return (x\n"),
        ],
    )
    assert main([problems, samples, "--k", "2,1,4"]) == 0
    told = capsys.readouterr().out
    assert "6 samples of 2 problems judged, 4 passed" in told
    assert "pass@1  0.6667\npass@2  0.8333\npass@4  not known" in told
    rows = judged(tmp_path / "samples_results.jsonl")
    assert [row["passed"] for row in rows] == [True, False, True, True, True, False]
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["task_id"] for row in rows] == ["T/double"] * 2 + ["mbpp/7"] * 3 + ["T/double"]
    assert (rows[1]["status"], rows[1]["share"]) == ("finished", 0.5)  # 2 * 2 is right, 5 * 5 is not
    assert rows[5]["status"] == "syntax_error" and "line 1" in rows[5]["detail"]
    assert sorted(os.listdir(tmp_path)) == ["problems.jsonl", "samples.jsonl", "samples_results.jsonl"]


def test_hostile_samples_are_failures_of_their_own(tmp_path, problems):
    texts = [
        "    import os; os._exit(0)\n",
        "    raise SystemExit(0)\n",
        "\0",
        "",
        "    while True: pass\n",
        "    return " + "x +" * 100_000 + " x\n",
        "#" + "y" * 900_000 + "\n" + RIGHT,
        RIGHT,
    ]
    samples = write(tmp_path / "samples.jsonl", [sample("T/double", text) for text in texts])
    output = tmp_path / "out.jsonl"
    limits = ["--cpu-seconds", "0.5", "--wall-seconds", "60"]
    assert main([problems, samples, "--output", str(output), "--workers", "2", *limits]) == 0
    rows = judged(output)
    assert [row["passed"] for row in rows] == [False] * 6 + [True, True]
    assert [rows[0]["status"], rows[2]["status"]] == ["exited", "syntax_error"]
    assert rows[4]["status"] == "cpu_limit"


def test_extraction_and_scripts(tmp_path, capsys):
    problems = write(tmp_path / "problems.jsonl", [BIGGER, SCRIPTED])
    prose = f"Here it is:\n```python\n{MAXIMUM}```\nIt uses max."
    samples = write(tmp_path / "samples.jsonl", [sample(7, prose), sample("T/script", RIGHT)])
    assert main([problems, samples, "--extract", "--k", "1", "--no-scripts"]) == 0
    told = capsys.readouterr().out
    assert "pass@1  1.0000" in told and "1 samples not judged: their problems' tests are scripts" in told
    rows = judged(tmp_path / "samples_results.jsonl")
    assert [row["passed"] for row in rows] == [True, None]
    assert rows[1]["status"] == "needs_script"
    replayed = write(tmp_path / "scripted.jsonl", [sample("T/script", RIGHT), sample("T/script", WRONG)])
    assert main([problems, replayed, "--k", "1"]) == 0
    assert [row["passed"] for row in judged(tmp_path / "scripted_results.jsonl")] == [True, False]


RUN_ALONE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from pixelis.cli.verify_solutions import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("end_it", "exit_code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_run_that_was_ended_goes_on_and_ends_in_the_same_file(
    tmp_path, problems, capsys, end_it, exit_code
):
    slow = "    import time\n    time.sleep(0.05)\n    return x + x\n"
    rows = [sample("T/double", slow if at % 2 else WRONG) for at in range(60)]
    samples = write(tmp_path / "samples.jsonl", rows)
    whole, output = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    assert main([problems, samples, "--output", str(whole)]) == 0
    program = ["scripts/verify_solutions.py"] if end_it == signal.SIGKILL else ["-c", RUN_ALONE]
    command = [sys.executable, *program, problems, samples, "--output", str(output)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    part = Path(f"{output}.part")
    end = time.monotonic() + 60
    while not part.exists() or part.read_bytes().count(b"\n") < 10:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(end_it)
    assert process.wait() == exit_code
    assert not output.exists()
    found = part.read_bytes()
    assert 10 <= found.count(b"\n") < 61
    if end_it == signal.SIGKILL:
        part.write_bytes(found[:-7])  # as if it had hit the middle of a row
    capsys.readouterr()
    assert main([problems, samples, "--output", str(output)]) == 0
    assert "going on after" in capsys.readouterr().out
    assert output.read_bytes() == whole.read_bytes()
    assert not part.exists()


def test_results_of_another_evaluation_are_not_mixed_in(tmp_path, problems, capsys):
    samples = write(tmp_path / "samples.jsonl", [sample("T/double", RIGHT)])
    output = tmp_path / "out.jsonl"
    Path(f"{output}.part").write_text('{"identity": {"seed": 5}}\n{"task_id": "T/double"}\n')
    assert main([problems, samples, "--output", str(output)]) == 2
    assert "other files or settings" in capsys.readouterr().err
    Path(f"{output}.part").unlink()
    assert main([problems, samples, "--output", str(output)]) == 0
    before = output.read_bytes()
    assert main([problems, samples, "--output", str(output)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert output.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            '{"task_id": "T/dubble", "completion": ""}',
            "line 2: no problem is called 'T/dubble'. Did you mean",
        ),
        ('{"completion": ""}', "line 2: field 'task_id' is missing"),
        ('{"task_id": "T/double"}', "line 2: expected one text, in the field 'completion'"),
        ('{"task_id": "T/double", "completion": "", "solution": ""}', "line 2: expected one text"),
        ('{"task_id": ["T/double"], "completion": ""}', "line 2: no problem is called"),
        ('{"task_id": "T/double", "completion": 3}', "line 2: expected one text"),
        ("[1, 2]", "line 2: expected one JSON object, got list"),
        ("half {", "line 2: expected one JSON object"),
        ('{"task_id": "T/double", "completion": "' + "x" * (1 << 20) + '"}', "line 2: expected at most"),
    ],
    ids=lambda value: value[:30],
)
def test_bad_samples_are_named_by_line_before_anything_runs(tmp_path, problems, capsys, line, words):
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps(sample("T/double", RIGHT)) + "\n" + line + "\n")
    assert main([problems, str(samples)]) == 2
    assert words in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["problems.jsonl", "samples.jsonl"]


def test_bad_files_and_flags(tmp_path, problems, capsys):
    def refused(*words):
        assert main(list(words)) == 2
        return capsys.readouterr().err

    samples = write(tmp_path / "samples.jsonl", [sample("T/double", RIGHT)])
    (tmp_path / "latin").write_bytes(b'{"task_id": "T/double", "completion": "\xe9"}\n')
    (tmp_path / "empty").write_text("\n")
    no_tests = {name: value for name, value in DOUBLE.items() if name != "test"}
    assert "line 1: expected UTF-8" in refused(problems, str(tmp_path / "latin"))
    assert "has no rows" in refused(problems, str(tmp_path / "empty"))
    assert "expected a JSONL file of samples" in refused(problems, str(tmp_path / "nothing"))
    assert "line 2" in refused(write(tmp_path / "bad.jsonl", [DOUBLE, no_tests]), samples)
    assert "a second problem is called" in refused(write(tmp_path / "two.jsonl", [DOUBLE, DOUBLE]), samples)
    assert "two files before the flags" in refused(problems)
    assert "k must be whole numbers" in refused(problems, samples, "--k", "0,x")
    assert "workers" in refused(problems, samples, "--workers", "0")
    assert main([problems, samples, "--output", str(tmp_path / "no" / "where")]) == 1
    assert "cannot write to" in capsys.readouterr().err


def test_help_lines_are_short(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) < 80
