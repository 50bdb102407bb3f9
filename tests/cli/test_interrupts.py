"""Signals: wait for the end of a step where asked, stop at once elsewhere."""

from __future__ import annotations

import os
import signal

import pytest

from pixelis.cli.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_outside_the_block_a_signal_stops_at_once(number):
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    assert not interrupts.requested


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_inside_the_block_the_first_waits_and_the_second_does_not(number, capsys):
    with Interrupts() as interrupts, interrupts.deferred():
        os.kill(os.getpid(), number)
        assert interrupts.requested
        assert "stopping after this step" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_an_error_the_first_waits_until_it_is_told(number, capsys):
    with pytest.raises(ZeroDivisionError), Interrupts() as interrupts:
        try:
            with interrupts.deferred():
                raise ZeroDivisionError
        finally:
            os.kill(os.getpid(), number)
            assert interrupts.requested
    assert not capsys.readouterr().err


def test_an_error_that_was_told_does_not_hold_back_what_comes_later():
    with Interrupts() as interrupts:
        with pytest.raises(ZeroDivisionError), interrupts.deferred():
            raise ZeroDivisionError
        with interrupts.deferred():
            pass
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_the_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
