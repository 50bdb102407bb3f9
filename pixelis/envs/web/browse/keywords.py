"""What the keywords of ``Pixelis/WebBrowse-v0`` may be, beyond what is everybody's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

from annotated_types import Interval
from pydantic import PlainValidator

from pixelis.envs.keywords import Expected, Names, Number, declared
from pixelis.envs.web.browse.reward import WebRewardConfig
from pixelis.envs.web.browse.tasks import MIX
from pixelis.envs.web.browse.tools import page_tools
from pixelis.envs.web.families.family import families
from pixelis.envs.web.sites.levels import WebDifficulty
from pixelis.errors import ConfigError, DifficultyError, shown, suggest

_SIZES = {
    one.name: declared(f"rewards: {one.name}", Annotated[Number, Interval(ge=0, le=1_000)])
    for one in fields(WebRewardConfig)
}


def reward_sizes(given: Any) -> WebRewardConfig:
    """Return the sizes of the reward's terms: given whole, or as names and values.

    Raises:
        ConfigError: an unknown name, or a size out of range.
        ValueError: neither sizes nor a mapping.
    """
    if isinstance(given, WebRewardConfig):
        return given
    if not isinstance(given, Mapping):
        raise ValueError("for example {'goal': 0.1}")
    for name in given:
        if not isinstance(name, str) or name not in _SIZES:
            raise ConfigError(f"rewards has no size {shown(name, 60)}.{suggest(name, _SIZES)}")
    return WebRewardConfig(**{name: _SIZES[name].read(value) for name, value in given.items()})


FamilyNames = Annotated[str | Sequence[str], Names(families, "'shop'", every=MIX)]
ToolNames = Annotated[
    Sequence[str], Names(lambda: [tool.name for tool in page_tools()], "('CLICK', 'TYPE')", single=False)
]
WebDials = Annotated[
    int | Mapping[str, int],
    PlainValidator(WebDifficulty.of),
    Expected("a difficulty from 0 to 5 or a mapping of dials", error=DifficultyError),
]
RewardSizes = Annotated[
    WebRewardConfig | Mapping[str, float],
    PlainValidator(reward_sizes),
    Expected("WebRewardConfig or a mapping of its sizes"),
]
