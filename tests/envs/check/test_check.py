from __future__ import annotations

import json
import mmap
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from pixelis.envs.check import CheckReport, check_env, main
from pixelis.envs.check.contract import Finding, Subject
from pixelis.envs.check.figures import Figures, measure, size_of
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv
from pixelis.errors import ConfigError, DifficultyError, UnknownEnvError

ROOT = Path(__file__).parents[3]
ZOOM_READ = "Pixelis/ZoomRead-v0"


def test_a_report_is_a_table():
    held = Finding("one", True, "3 of 3", expected="All.")
    report = CheckReport("Env-v0", (held, Finding("second", False, "1", "mend it", "Two.")))
    assert not report.ok
    assert [finding.clause for finding in report.failures] == ["second"]
    assert str(report).splitlines() == [
        "Env-v0: 1 of 2 clauses hold",
        "  ok    one     3 of 3",
        "  FAIL  second  1",
        "                expected: Two.",
        "                → mend it",
    ]


def test_a_report_as_json():
    figures = Figures(2, 5, 123.4, 1.5, 2.5, 4096, 0.0)
    finding = Finding("one", False, "1 of 3", "mend it", "All.", {"share": 0.3})
    report = CheckReport("Env-v0", (finding,), figures)
    found = json.loads(json.dumps(report.to_json()))
    assert found["env"] == "Env-v0" and found["ok"] is False
    assert found["findings"] == [
        {
            **{"clause": "one", "ok": False, "measured": "1 of 3", "remedy": "mend it", "expected": "All."},
            "numbers": {"share": 0.3},
        }
    ]
    assert found["figures"]["steps_per_second"] == 123.4
    assert set(found["versions"]) == {"pixelis", "gymnasium", "numpy"}
    assert str(report).splitlines()[-1] == (
        "  123 steps/s (99 % within 1.5 ms), reset 2.5 ms, observations to 4,096 bytes, grown by 0.0 MB: "
        "2 episodes of the oracle, 5 steps"
    )


def test_figures_are_those_of_the_episodes():
    figures = measure(Subject(lambda: ZoomReadEnv(reader="truth"), range(2), processes=False))
    assert figures is not None
    assert (figures.episodes, figures.steps) == (10, 20)
    assert figures.observation_bytes > 384 * 384 * 3
    assert figures.steps_per_second > 0 and figures.step_p99_ms > 0 and figures.reset_ms > 0
    assert measure(Subject(Faulty, range(1), processes=False)) is None


def test_growth_is_what_the_second_half_adds():
    figures = measure(Subject(lambda: Hoarding(reader="truth"), range(2), processes=False))
    assert figures is not None and figures.grown_mb is not None
    assert (
        150 < figures.grown_mb < 240
    )  # ten episodes, five in each half, of 32 MB; a renderer's buffers besides


def test_bytes_of_an_observation_by_hand():
    assert size_of({"text": "é1", "image": np.zeros((2, 3), np.uint16)}) == 3 + 12


class Broken(gym.Env):
    def __init__(self):
        raise RuntimeError("no licence\nfor this machine")


class Hoarding(ZoomReadEnv):
    """A tool environment that keeps 32 MB of every episode."""

    def reset(self, **settings):
        held = mmap.mmap(-1, 2**25)  # malloc might hand out what the process has long held
        held[:: mmap.PAGESIZE] = bytes(len(held) // mmap.PAGESIZE)
        self.hoard = [*getattr(self, "hoard", ()), held]
        return super().reset(**settings)


class Faulty(ZoomReadEnv):
    """A tool environment whose steps fail."""

    def __init__(self):
        super().__init__(reader="truth")

    def step(self, action):
        raise RuntimeError("a bug")


@pytest.fixture(scope="module")
def registered():
    for kind in (Broken, Faulty):
        gym.register(f"{kind.__name__}Check-v0", entry_point=kind)
    yield
    for kind in (Broken, Faulty):
        del gym.registry[f"{kind.__name__}Check-v0"]


def test_an_environment_that_is_made_already_is_told_so():
    with pytest.raises(ConfigError, match=r"got one that is made, .*CartPole.*: give its id, its class, or"):
        check_env(gym.make("CartPole-v1"))
    with pytest.raises(ConfigError, match=r"got one that is made, .*: give its id, its class, or"):
        check_env(gym.make_vec("CartPole-v1", 2))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Pixelis/ZoomReed-v0"], "Did you mean 'Pixelis/ZoomRead-v0'"),
        (["no_such_module:Env-v0"], "no_such_module"),
        (["CartPole-v1", "--make", "lenght=3"], "lenght"),
        ([ZOOM_READ, "--make", "view_sise=64"], "Did you mean 'view_size'"),
        ([ZOOM_READ, "--make", "view_size=3"], "view_size must be an integer from 64 to 1024, got 3"),
        (["BrokenCheck-v0"], "cannot be made: RuntimeError: no licence for this machine"),
    ],
)
def test_what_cannot_be_checked_is_one_line(registered, words, said, capsys):
    assert main([*words, "--seeds", "1", "--no-processes"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert said in printed.err


def test_unknown_ids():
    with pytest.raises(UnknownEnvError, match="Did you mean"):
        check_env("Pixelis/ZoomReed-v0")


def test_the_command_says_unknown_ids_in_one_line(capsys):
    assert main(["Pixelis/ZoomReed-v0"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "Did you mean 'Pixelis/ZoomRead-v0'" in said.err


def test_the_command_exits_with_1_on_failure(registered, capsys):
    assert main(["FaultyCheck-v0", "--seeds", "1", "--no-processes"]) == 1
    assert "FAIL  the_end" in capsys.readouterr().out


@pytest.mark.slow
def test_zoom_read_keeps_the_contract(capsys):
    """In one process; with the reader of pixels."""
    assert main([ZOOM_READ, "--seeds", "2", "--no-processes"]) == 0
    assert "20 of 20 clauses hold" in capsys.readouterr().out


@pytest.mark.slow
def test_zoom_read_keeps_the_contract_as_a_command_with_processes():
    words = [sys.executable, "-W", "error", "-m", "pixelis", "check-env", ZOOM_READ]
    words += ["--seeds", "2", "--make", "reader=truth", "--make", "max_turns=6"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "processes_equal_sync" in done.stdout


def test_bad_constructor_arguments_are_told_at_once():
    with pytest.raises(DifficultyError, match="got 9"):
        check_env(lambda **keywords: gym.make(ZOOM_READ, difficulty=9), seeds=1, processes=False)
