"""What comes before reinforcement learning where a model cannot do the task at all: an SFT run of its own.

`warm_start` in the settings names a file of SFT settings (`scripts/train_sft.py`). That run is an ordinary
one, in a folder next to the main run's; its adapter is then the model that the main run starts from.
"""

from __future__ import annotations

from pathlib import Path

from pixelis.agents.models.named_models import CHOOSE
from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.settings.files import read_settings_file
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.run import SftRun
from pixelis.errors import ConfigError

FOLDER = "-warm-start"
"""What the folder of the SFT run is called after: the main run's folder and this."""


def open_warm_start(config: TrainConfig) -> SftRun:
    """Return the SFT run, new, or where an earlier start of the same run left it.

    Args:
        config: the settings of the main run, `warm_start` and ``output`` among them.

    Raises:
        ConfigError: the file cannot be read, or holds other than SFT settings.
        PixelisError: see `Run.start` and `Run.resume`.
    """
    sft = sft_settings(config)
    folder = RunFolder(Path(str(sft.output)))
    return SftRun.resume(folder.path, sft) if list_checkpoints(folder.checkpoints) else SftRun.start(sft)


def started_from(config: TrainConfig, run: SftRun) -> TrainConfig:
    """Return the settings of the main run when the warm start is over."""
    return config.with_values(model=str(run.adapter), warm_start=None)


def sft_settings(config: TrainConfig) -> SftConfig:
    """Return the settings of the SFT run: the file's, but for model, device, seed and folder.

    Raises:
        ConfigError: the file cannot be read, or holds other than SFT settings.
    """
    values = read_settings_file(str(config.warm_start), "warm_start")
    model = values.get("model", CHOOSE) if config.model == CHOOSE else config.model
    own = {"model": model, "device": config.device, "seed": config.seed, "output": f"{config.output}{FOLDER}"}
    try:
        return SftConfig.from_mapping({**values, **own})
    except ConfigError as error:
        raise ConfigError(f"warm_start {config.warm_start!r}: {error}") from error
