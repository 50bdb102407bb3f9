"""What a run's ``config.yaml`` says that the monitor reads; a stranger's costs no more than ours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

from pydantic import ValidationError

from pixelis.agents.settings.alarms import AlarmThresholds
from pixelis.monitor.reading.folders import Root

LARGEST_SETTINGS = 1 << 18
"""Bytes of a settings file: ours have a few thousand, and YAML is read hundreds of times slower than JSON."""
_MOST_KEYS = 50
"""Of thresholds, and of the alarms that are off."""


def read_settings(root: Root, *parts: str) -> Mapping[str, Any]:
    """Return what a run's settings hold that is plain: texts, numbers and flags, and those of ``alarms``.

    Other lists and mappings are left out, since a few hundred bytes can stand for one of many gigabytes (a
    list of a list that is named ten times, and so on). Empty where there are no settings, or they are damaged
    or huge.
    """
    import yaml

    try:
        with root.open(*parts, "config.yaml") as file:
            text = file.read(LARGEST_SETTINGS + 1)
        found = yaml.load(text, _plain_loader()) if len(text) <= LARGEST_SETTINGS else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    settings = found if isinstance(found, dict) else {}
    plain = {name: value for name, value in settings.items() if isinstance(name, str) and _is_plain(value)}
    alarms = settings.get("alarms")
    return plain | ({"alarms": _shallow(alarms)} if isinstance(alarms, dict) else {})


def thresholds_of(settings: Mapping[str, Any]) -> AlarmThresholds | None:
    """Return what the alarms of a run are judged by, None where its settings of them are none."""
    try:
        return AlarmThresholds(**settings.get("alarms", {}))
    except (TypeError, ValidationError):
        return None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _shallow(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Return plain values and lists of them, of each as many as settings of ours have."""
    kept: dict[str, Any] = {}
    for name, value in islice(values.items(), _MOST_KEYS):
        if isinstance(name, str) and isinstance(value, list):
            kept[name] = [each for each in islice(value, _MOST_KEYS) if _is_plain(each)]
        elif isinstance(name, str) and _is_plain(value):
            kept[name] = value
    return kept


@cache
def _plain_loader() -> Any:
    """Return YAML's safe loader without merge keys, which also grow without bounds."""
    import yaml

    class Plain(yaml.SafeLoader):
        """It reads what `yaml.safe_dump` writes."""

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Leave ``<<`` as it is: that is an error."""

    return Plain
