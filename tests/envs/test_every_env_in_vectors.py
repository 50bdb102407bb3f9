"""Every registered environment plays the same bytes alone, beside others in threads, and in a process."""

from __future__ import annotations

from functools import partial

import pytest

from pixelis.envs.check import make_env
from pixelis.envs.check.contract import Subject, run_clause
from pixelis.envs.check.side_by_side import processes_equal_sync, threads_equal_sync
from pixelis.envs.registration import ENVIRONMENTS


def subject(env_id, seeds):
    reads_nothing = env_id in ("Pixelis/TweetReply-v0", "Pixelis/CodeProblem-v0", "Pixelis/WebBrowse-v0")
    reader = {} if reads_nothing else {"reader": "truth"}
    return Subject(partial(make_env, env_id, **reader), seeds)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", [entry.id for entry in ENVIRONMENTS])
def test_threads_play_as_one_does(env_id):
    finding = run_clause(threads_equal_sync, subject(env_id, [3, 4]))
    assert finding.ok and finding.measured.startswith("2 threads"), finding


@pytest.mark.slow
@pytest.mark.parametrize("env_id", [entry.id for entry in ENVIRONMENTS])
def test_a_spawned_process_plays_as_this_one_does(env_id):
    finding = run_clause(processes_equal_sync, subject(env_id, [5]))
    assert finding.ok and finding.measured.startswith("1 environments"), finding
