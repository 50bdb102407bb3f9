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


def test_the_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
