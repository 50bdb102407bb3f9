"""The models with a name of their own, which need no hub: those inside the package, and ``smollm2``."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from importlib import resources
from pathlib import Path

from pixelis.errors import ModelLoadError
from pixelis.rewards.text.smollm2 import SMOLLM2_NAME, has_smollm2, smollm2_folder

_LOG = logging.getLogger(__name__)

TINY_NAME = "pixelis-tiny"
MINI_NAME = "pixelis-mini"
TOOLS_NAME = "pixelis-mini-tools"
WIRE_NAME = "pixelis-mini-wire"
"""An adapter on that."""
CHOOSE = "auto"
"""The value of ``--model`` that leaves the choice to `default_model`."""


SHIPPED = (TINY_NAME, MINI_NAME, TOOLS_NAME, WIRE_NAME)
"""The models inside the package; an adapter is one."""
TAUGHT = "taught.json"
"""In the folder of each: environment → difficulties that it was taught."""


def tiny_folder() -> Path:
    """Return the folder of the model inside the package that sees.

    Raises:
        ModelLoadError: the installation lacks it.
    """
    return shipped_folder(TINY_NAME)


def shipped_folder(name: str) -> Path:
    """Return the folder of a model inside the package, one of `SHIPPED`.

    Raises:
        ModelLoadError: the installation lacks it.
    """
    folder = Path(str(resources.files("pixelis") / "models" / name))
    if not any((folder / name).is_file() for name in ("config.json", "adapter_config.json")):
        raise ModelLoadError(
            f"this installation lacks the {name} model; reinstall pixelis or give another --model"
        )
    return folder


NAMED_MODELS: Mapping[str, Callable[[], Path]] = {
    **{name: partial(shipped_folder, name) for name in SHIPPED},
    SMOLLM2_NAME: smollm2_folder,
}


def default_model(env_id: str | None, shows_images: bool) -> str:
    """Return the name of the model that plays an environment when none is named, and log why.

    Args:
        env_id: the environment; None where it is not known.
        shows_images: whether observations hold pictures, which only ``pixelis-tiny`` sees;
            ``pixelis-mini-tools`` and ``pixelis-mini-wire`` go by what the tools say, in environments that
            they were taught.
    """
    if shows_images:
        return next((name for name in SHIPPED if env_id in taught(name)), TINY_NAME)
    if has_smollm2():
        _LOG.info("model %s: the environment is text, and a real language model is at hand", SMOLLM2_NAME)
        return SMOLLM2_NAME
    _LOG.warning("model %s: %s is not here (`make real-model` brings it)", MINI_NAME, SMOLLM2_NAME)
    return MINI_NAME


def taught(name: str) -> Mapping[str, list[int]]:
    """Return what a model was taught, environment → difficulties; nothing of one that is not ours."""
    if name not in SHIPPED:
        return {}
    found: Mapping[str, list[int]] = json.loads((shipped_folder(name) / TAUGHT).read_text(encoding="utf-8"))
    return found


def note_untaught(name: str, env_id: str, difficulty: int | None) -> None:
    """Log that a model of ours is to play what it was never taught; it plays all the same.

    Args:
        name: of a model.
        env_id: the environment it is to play.
        difficulty: of its tasks; None where that is not known.
    """
    known = taught(name)
    if not known:
        return
    if env_id not in known:
        _LOG.warning("model %s was taught %s, not %s: expect little of it", name, ", ".join(known), env_id)
    elif difficulty is not None and difficulty not in known[env_id]:
        levels = " and ".join(map(str, known[env_id]))
        _LOG.warning(
            "model %s was taught %s at difficulty %s, not %s: it plays all the same",
            name,
            env_id,
            levels,
            difficulty,
        )
