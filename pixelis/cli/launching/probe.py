"""What only the trainer knows before a training starts, looked at in a process of its own.

``python -m pixelis.cli.launching.probe FILE WORDS...`` reads the words of ``pixelis train``, makes the
environment, looks for the model and counts CUDA devices, then writes what it found into FILE. The launcher
itself stays small, and what an environment leaves behind ends with the process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pixelis.cli.train import COMMAND
from pixelis.errors import PixelisError, UserCodeError


@dataclass
class Probed:
    """What was found.

    Attributes:
        problems: why the training cannot start, a line each; the device is no part of it.
        device_problem: what is wrong with the device; empty for nothing.
        env: the environment's id.
        model: what is trained.
        output: the run folder.
        folders: the run folders that come to be, that of a warm start included.
        cuda_devices: that torch sees.
        has_warm_start: whether the settings ask for an SFT run first.
    """

    problems: list[str] = field(default_factory=list)
    device_problem: str = ""
    env: str = ""
    model: str = ""
    output: str = ""
    folders: list[str] = field(default_factory=list)
    cuda_devices: int = 0
    has_warm_start: bool = False

    @classmethod
    def read(cls, path: Path) -> Probed:
        """Return what a probe has written."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def probe(words: Sequence[str]) -> Probed:
    """Look at what ``pixelis train`` with these words would start with."""
    import torch

    found = Probed(cuda_devices=torch.cuda.device_count())
    try:
        config, resume = COMMAND.read(words)
        found.device_problem = _device_problem(config.device, found.cuda_devices)
        kind = COMMAND.run(config)
        env, _ = kind.opened_env(config)
        config = kind.choose_model(config, env)
        found.env, found.model = str(config.env), str(getattr(config, "model", "a small network"))
        _look_for_model(config)
        if resume is None:
            config = kind.with_output(config)
            found.has_warm_start = getattr(config, "warm_start", None) is not None
        _look_at_run(config, resume)
        found.output = str(config.output)
        found.folders = [found.output]
        if found.has_warm_start:
            from pixelis.agents.rl.warm_start import sft_settings

            found.folders.append(str(sft_settings(config).output))
    except PixelisError as error:
        log = error.log if isinstance(error, UserCodeError) else None
        where = f"; the traceback is in {log}" if log else ""
        found.problems.append(" ".join(str(error).split()) + where)
    return found


def main(words: Sequence[str]) -> int:
    """Write what is found with the words after the first into the file that the first one names."""
    found = probe(words[1:])
    Path(words[0]).write_text(json.dumps(asdict(found)), encoding="utf-8")
    return 0


def _device_problem(device: str, count: int) -> str:
    """Return what is wrong with a CUDA device that was asked for by name."""
    name, _, number = device.partition(":")
    index = int(number) if number.isdecimal() else 0
    if name != "cuda" or index < count:
        return ""
    return f"device {device!r} was asked for, torch sees {count} CUDA devices; leave --device out, or say cpu"


def _look_for_model(config: Any) -> None:
    """Check that the model can be had.

    Raises:
        PixelisError: it is not there.
    """
    if not hasattr(config, "model"):  # an agent without language
        return
    from pixelis.agents.models.loading import find_folder, require_hub_model

    if find_folder(config.model) is None:
        require_hub_model(config.model)


def _look_at_run(config: Any, resume: str | None) -> None:
    """Check that a new run has a folder for itself, or that an old one has a checkpoint to go on from.

    Raises:
        PixelisError: it is not so.
    """
    from pixelis.agents.run_files.run_folder import RunFolder
    from pixelis.agents.run_files.saved_run import checkpoint_of

    if resume is None:
        RunFolder(Path(config.output)).check_free()
    else:
        checkpoint_of(resume)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
