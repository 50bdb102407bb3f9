"""Seeds that need no state."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.seeds import replay_generator, sampling_seed, task_seeds

run_seeds, steps = st.integers(0, 2**32 - 1), st.integers(0, 10**6)


def test_the_numbers_never_change():
    # a run that was started with an older version must resume to the same tasks
    assert task_seeds(0, 1, 3) == [450621607, 361865181, 857654339]
    assert sampling_seed(0, 1) == 3884055042


@given(run_seeds, steps)
def test_seeds_fit_gymnasium_and_do_not_depend_on_the_number_of_groups(run_seed, step):
    seeds = task_seeds(run_seed, step, 6)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert task_seeds(run_seed, step, 4) == seeds[:4]
    assert len(set(seeds)) == 6


@given(run_seeds, steps)
def test_steps_and_runs_differ(run_seed, step):
    here = (task_seeds(run_seed, step, 2), sampling_seed(run_seed, step))
    assert here != (task_seeds(run_seed, step + 1, 2), sampling_seed(run_seed, step + 1))
    assert here != (task_seeds(run_seed ^ 1, step, 2), sampling_seed(run_seed ^ 1, step))


@given(run_seeds, steps, st.integers(1, 100))
def test_rounds_differ(run_seed, step, round):
    first = (task_seeds(run_seed, step, 2), sampling_seed(run_seed, step))
    later = (task_seeds(run_seed, step, 2, round), sampling_seed(run_seed, step, round))
    assert first != later != (task_seeds(run_seed, step, 2, round + 1), sampling_seed(run_seed, step, round))
    assert first[0] != later[0] and first[1] != later[1]


@given(run_seeds, steps)
def test_what_is_replayed_depends_on_run_and_step(run_seed, step):
    draws = [replay_generator(run_seed, number).integers(2**62) for number in (step, step, step + 1)]
    assert draws[0] == draws[1] != draws[2]
