"""What a run takes of its machine, as metrics ``system/…``, which no two runs share."""

from __future__ import annotations

import time

import psutil
import torch

from pixelis.agents.episodes.behaviour import Row

_MIB = 2**20


class SystemMeter:
    """Measures memory and use of processor and device; a reading takes well under a millisecond on a CPU.

    Args:
        device: that is trained on; of one that is no CUDA device nothing is measured.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device if device.type == "cuda" else None
        self._process = psutil.Process()
        self._clock, self._spent = time.perf_counter(), time.process_time()
        psutil.cpu_percent()  # from here on it tells the mean since the call before
        self._use_known = self._device is not None

    def read(self) -> Row:
        """Return what there is now; use is the mean since the last reading, or since this was made."""
        clock, spent = time.perf_counter(), time.process_time()
        cores = (spent - self._spent) / max(clock - self._clock, 1e-6)
        self._clock, self._spent = clock, spent
        row: Row = {
            "system/memory": self._process.memory_info().rss / _MIB,
            "system/machine_memory": psutil.virtual_memory().percent / 100,
            "system/cores": cores,
            "system/machine_cpu": min(psutil.cpu_percent() / 100, 1.0),
        }
        if self._device is not None:
            row |= {
                "system/device_memory": torch.cuda.memory_allocated(self._device) / _MIB,
                "system/device_memory_most": torch.cuda.max_memory_allocated(self._device) / _MIB,
                "system/device_memory_held": torch.cuda.memory_reserved(self._device) / _MIB,
            }
        if self._device is not None and self._use_known:
            row |= self._device_use(self._device)
        return row

    def _device_use(self, device: torch.device) -> Row:
        """Return the device's use; nothing, from now on, where nvidia-ml-py is not installed."""
        try:
            return {"system/device_use": torch.cuda.utilization(device) / 100}
        except (ModuleNotFoundError, RuntimeError):
            self._use_known = False
            return {}
