"""What a run takes of its machine."""

from __future__ import annotations

import mmap
import resource
import time

import torch

from pixelis.agents.rl.run import train
from pixelis.agents.runs.metrics import comparable, read_metrics
from pixelis.agents.runs.system import SystemMeter

ON_CPU = {"system/memory", "system/machine_memory", "system/cores", "system/machine_cpu"}


def test_use_follows_what_the_process_does():
    meter = SystemMeter(torch.device("cpu"))
    time.sleep(0.3)
    idle = meter.read()
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    busy = meter.read()
    assert set(idle) == set(busy) == ON_CPU
    assert idle["system/cores"] < 0.3 and busy["system/cores"] > idle["system/cores"]
    assert all(0 <= busy[name] <= 1 for name in ("system/machine_memory", "system/machine_cpu"))


def test_memory_is_that_of_the_process():
    meter = SystemMeter(torch.device("cpu"))
    grown = []
    for _ in range(5):  # what others of the process or the kernel do meanwhile is no mistake of the meter
        before = meter.read()["system/memory"]
        with mmap.mmap(-1, 64 * 2**20) as block:  # malloc may hand out what the process has long held
            block[:: mmap.PAGESIZE] = bytes(len(block) // mmap.PAGESIZE)
            after = meter.read()["system/memory"]
        grown.append(after - before)
    assert 60 < sorted(grown)[2] < 80, grown
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert 0 < after <= most + 1


def test_every_row_has_them_and_no_comparison_looks_at_them(toy_config):
    rows = read_metrics(train(toy_config(steps=2)).folder.metrics)
    assert all(set(row) >= ON_CPU for row in rows)
    assert not any(name.startswith(("system/", "time/")) for row in rows for name in comparable(row))
