"""When a server counts as dead, by hand: 4 times the wall limit and 15 seconds, or 15 seconds of silence."""

from __future__ import annotations

from pixelis.envs.coding.sandbox.deadline import Deadline


def test_silence_is_death_and_a_sign_of_life_puts_it_off():
    deadline = Deadline(100.0, 50.0)
    assert not deadline.passed(65.0)
    assert deadline.passed(65.5) == "it has been silent for 16 s"
    deadline.hear(64.0, is_tidying=False)
    assert not deadline.passed(79.0) and deadline.passed(79.1)


def test_signs_of_life_alone_do_not_put_the_end_off():
    deadline = Deadline(2.0, 0.0)  # the end: 4 * 2 + 15
    for now in range(1, 23):
        deadline.hear(float(now), is_tidying=False)
        assert not deadline.passed(float(now))
    deadline.hear(23.5, is_tidying=False)
    assert deadline.passed(23.5) == "it did not end the candidate in time"


def test_tidying_up_may_take_as_long_as_it_goes_on():
    """A candidate leaves folders that take a slow disk minutes: its failure, not the sandbox's."""
    deadline = Deadline(2.0, 0.0)
    for now in range(1, 600):
        deadline.hear(float(now), is_tidying=True)
        assert not deadline.passed(now + 14.0)
    assert deadline.passed(599 + 15.5)
