"""Flags and YAML from a dataclass of options, with errors that fit on one line."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from jsonargparse import ActionYesNo, ArgumentParser, DefaultHelpFormatter

from pixelis.agents.grpo.options import choices_of, default_of, expectation, option_of
from pixelis.errors import ConfigError, suggest


class _Format(DefaultHelpFormatter):
    """Help lines as they are written in the options, without jsonargparse's notes on types."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _get_help_string(self, action: argparse.Action) -> str:
        return action.help or ""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in text.splitlines())


class Arguments:
    """A command line whose flags are the fields of a dataclass of options, plus ``--config FILE``.

    Args:
        program: name shown in the help.
        description: first lines of the help.
        settings: the dataclass, its fields made with `pixelis.agents.grpo.options.option`.
        examples: last lines of the help.
    """

    def __init__(self, program: str, description: str, settings: type[Any], examples: str = "") -> None:
        self._settings = settings
        self._parser = ArgumentParser(
            prog=program,
            usage=f"{program} [--config FILE] [--flag value ...]",
            description=description,
            epilog=examples,
            exit_on_error=False,
            print_config=None,
            formatter_class=_Format,
        )
        self._parser.add_argument(
            "--config", action="config", metavar="FILE", help="YAML file of settings; flags override it"
        )
        self._groups: dict[str, Any] = {}
        self._extra: list[str] = []
        self._add_settings()

    def add(self, group: str, flag: str, metavar: str, help: str) -> None:
        """Add a flag that takes text and is not a field of the settings; None unless given."""
        self._group(group).add_argument(flag, type=str, default=None, metavar=metavar, help=help)
        self._extra.append(_key(flag))

    def parse(
        self, arguments: Sequence[str], base: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings' values and those of the extra flags.

        What a flag says wins over what ``--config`` says, whatever their order, and that over ``base``.

        Args:
            arguments: the words of the command line.
            base: values that replace the dataclass's defaults.

        Raises:
            ConfigError: an unknown flag or key, or a value of the wrong type; one line, with a suggestion.
            SystemExit: ``--help`` was asked for.
        """
        if base:
            self._parser.set_defaults(dict(base))
        words = _config_first(arguments)
        try:
            found = self._parser.parse_args(words).as_dict()
        except argparse.ArgumentError as error:
            raise self._explained(str(error)) from error
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot read the settings: {' '.join(str(error).split())}") from error
        names = [item.name for item in fields(self._settings)]
        return {name: found[name] for name in names}, {name: found[name] for name in self._extra}

    # ------------------------------------------------------------------ private

    def _group(self, name: str) -> Any:
        if name not in self._groups:
            self._groups[name] = self._parser.add_argument_group(name)
        return self._groups[name]

    def _add_settings(self) -> None:
        hints = get_type_hints(self._settings)
        for item in fields(self._settings):
            hint, default = hints[item.name], default_of(item)
            options: dict[str, Any] = {"default": default, "help": option_of(item).help + _shown(default)}
            if hint is bool:
                options["action"] = ActionYesNo(no_prefix="no-")
            else:
                options |= {"type": hint, "metavar": _metavar(hint)}
            self._group(option_of(item).group).add_argument(_flag(item.name), **options)

    def _flags(self) -> list[str]:
        return [_flag(name) for name in self._names()]

    def _names(self) -> list[str]:
        return [*(item.name for item in fields(self._settings)), *self._extra, "config"]

    def _explained(self, message: str) -> ConfigError:
        """Turn the parser's message into one line."""
        if unknown := re.search(r"unrecognized arguments: (\S+)", message):
            word = unknown[1].partition("=")[0]
            guess = (
                suggest(word, self._flags()) if word.startswith("-") else " Flags begin with --; see --help."
            )
            return ConfigError(f"unknown argument {word!r}.{guess}")
        if unknown := re.search(r"Option '([^']+)' is not accepted", message):
            return ConfigError(
                f"unknown setting {unknown[1]!r} in the config file.{suggest(unknown[1], self._names())}"
            )
        wrong = re.search(r'Parser key "(\w+)"', message)
        value = re.search(r"(?:Got|Given) value: (.*)", message)
        hints = get_type_hints(self._settings)
        if wrong and value and wrong[1] in hints:
            item = next(item for item in fields(self._settings) if item.name == wrong[1])
            expected = expectation(hints[wrong[1]], option_of(item).bounds)
            guess = suggest(value[1], choices_of(hints[wrong[1]])) if choices_of(hints[wrong[1]]) else ""
            return ConfigError(f"{_flag(wrong[1])} must be {expected}, got {value[1]!r}.{guess}".rstrip("."))
        return ConfigError(" ".join(message.split()))


def _key(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _shown(default: Any) -> str:
    """Return how a default is told in the help."""
    if default == {}:
        return ""
    word = str(default).lower() if default is None or isinstance(default, bool) else default
    return f" (default: {word})"


def _metavar(hint: Any) -> str:
    """Return what stands for the value in the help; the choices where there are some."""
    if get_origin(hint) is Literal:
        return "{" + ",".join(get_args(hint)) + "}"
    kinds = get_args(hint) if NoneType in get_args(hint) else (hint,)
    return {int: "N", float: "X", str: "TEXT"}.get(kinds[0], "JSON")


def _config_first(arguments: Sequence[str]) -> list[str]:
    """Put ``--config`` before the other words, and accept ``--group_size`` for ``--group-size``."""
    first: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--config" or word.startswith("--config="):
            first.append(word.partition("=")[2] or next(words, ""))
        else:
            rest.append(_hyphens(word))
    for path in first:
        if not os.path.isfile(path):
            raise ConfigError(f"--config must be followed by a YAML file, there is none at {path!r}")
    return [*(f"--config={path}" for path in first), *rest]


def _hyphens(word: str) -> str:
    match = re.match(r"--[A-Za-z_-]+", word)
    return match[0].replace("_", "-") + word[match.end() :] if match else word
