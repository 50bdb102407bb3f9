"""Flags and YAML from a dataclass of options, with errors that fit on one line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import yaml
from jsonargparse import ActionYesNo, ArgumentParser, DefaultHelpFormatter

from pixelis.agents.settings.options import check_value, choices_of, default_of, is_open, option_of, rows
from pixelis.agents.settings.yaml_files import read_settings_file
from pixelis.cli.foreign_names import about_unknown
from pixelis.errors import ConfigError, shown

S = TypeVar("S")


class _Format(DefaultHelpFormatter):
    """Help lines as they are written in the options, without jsonargparse's notes on types."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _get_help_string(self, action: argparse.Action) -> str:
        return action.help or ""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in text.splitlines())


class Arguments(Generic[S]):
    """A command line whose flags are the fields of a dataclass of options, plus ``--config FILE``.

    Args:
        program: name shown in the help.
        description: first lines of the help.
        settings: the dataclass, its fields made with `pixelis.agents.settings.options.option`.
        examples: last lines of the help.
    """

    def __init__(self, program: str, description: str, settings: type[S], examples: str = "") -> None:
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
        self._program, self._settings = program, settings
        self._items = {item.name: item for item in rows(settings)}
        self._hints = get_type_hints(settings)
        self._switches = [name for name, hint in self._hints.items() if hint is bool]
        self._groups: dict[str, Any] = {}
        self._extra: list[str] = []
        self._add_settings()

    def add(self, group: str, flag: str, metavar: str, help: str) -> None:
        """Add a flag that takes text and is not a field of the settings; None unless given."""
        self._group(group).add_argument(flag, type=str, default=None, metavar=metavar, help=help)
        self._extra.append(_key(flag))

    def read(self, words: Sequence[str]) -> S:
        """Return the settings that the words of a command line and the dataclass's defaults make.

        Raises:
            ConfigError: see `parse`; or the settings refuse a value.
            SystemExit: ``--help`` was asked for.
        """
        return self._settings(**self.parse(words)[0])

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
        files, words = _apart(arguments)
        for path in files:
            self._check_file(path)
        words, entries = self._checked(words)
        try:
            found = self._parser.parse_args([*(f"--config={path}" for path in files), *words]).as_dict()
        except (argparse.ArgumentError, OSError, ValueError) as error:
            raise ConfigError(" ".join(str(error).split())) from error
        for name, key, value in entries:
            found[name] = {**found[name], key: value}
        return {name: found[name] for name in self._items}, {name: found[name] for name in self._extra}

    # ------------------------------------------------------------------ private

    def _group(self, name: str) -> Any:
        if name not in self._groups:
            self._groups[name] = self._parser.add_argument_group(name)
        return self._groups[name]

    def _add_settings(self) -> None:
        for item in self._items.values():
            hint, default = self._hints[item.name], default_of(item)
            options: dict[str, Any] = {"default": default, "help": option_of(item).help + _shown(default)}
            if hint is bool:
                options["action"] = ActionYesNo(no_prefix="no-")
            else:
                options |= {"type": hint, "metavar": _metavar(hint)}
            self._group(option_of(item).group).add_argument(_flag(item.name), **options)

    def _check_file(self, path: str) -> None:
        """Check the keys and values of a YAML file, so that what is wrong can be told in our words."""
        for name, value in read_settings_file(path, "--config").items():
            if name not in self._items:
                hint = about_unknown(str(name), self._items, self._program, flags=False)
                raise ConfigError(f"unknown setting {shown(name)} in {path!r}.{hint}")
            self._check_value(name, name, value)

    def _checked(self, words: Sequence[str]) -> tuple[list[str], list[tuple[str, str, Any]]]:
        """Check the flags and values of the command line likewise.

        Returns:
            The words without those such as ``--env-kwargs.max_turns 4``, and these as (setting, key, value).
        """
        known = (*self._items, *self._extra, "config")
        plain: list[str] = []
        entries: list[tuple[str, str, Any]] = []
        left = iter(words)
        for word in left:
            flag, equals, text = word.partition("=")
            name, key = _key(flag.partition(".")[0]), flag.partition(".")[2]
            if flag in ("-h", "--help") or _key(flag).removeprefix("no_") in self._switches:
                plain.append(word)
                continue
            if not flag.startswith("--"):
                raise ConfigError(f"unknown argument {word!r}. Flags begin with --; see --help")
            if name not in (*self._items, *self._extra):
                hint = about_unknown(name, known, self._program, flags=True)
                raise ConfigError(f"unknown argument {shown(flag)}.{hint}")
            text = text if equals else next(left, None)
            if text is None:
                raise ConfigError(f"{flag} must be followed by a value")
            if key and name in self._items and get_origin(self._hints[name]) is dict:
                entries.append((name, key, _loaded(text)))
                continue
            if name in self._items:
                self._check_value(flag, name, text if _takes(self._hints[name], str) else _loaded(text))
            plain += [flag, text]
        return plain, entries

    def _check_value(self, shown: str, name: str, value: Any) -> None:
        hint = self._hints[name]
        if isinstance(value, str) and _takes(hint, float):
            value = _float(value)  # YAML 1.1 takes 1e-4 for text
        check_value(shown, value, hint, option_of(self._items[name]).bounds)


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
    if choices_of(hint):
        return "{" + ",".join((*choices_of(hint), *(["module:name"] if is_open(hint) else []))) + "}"
    kinds = get_args(hint) if NoneType in get_args(hint) else (hint,)
    return {int: "N", float: "X", str: "TEXT"}.get(kinds[0], "JSON")


def _loaded(text: str) -> Any:
    """Return what a word of the command line means as YAML, or the word."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _takes(hint: Any, kind: type) -> bool:
    return hint is kind or (NoneType in get_args(hint) and kind in get_args(hint))


def _float(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _apart(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files given with ``--config`` and the other words, ``--group_size`` as ``--group-size``."""
    files: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--config" or word.startswith("--config="):
            files.append(word.partition("=")[2] or next(words, ""))
        else:
            rest.append(_hyphens(word))
    return files, rest


def _hyphens(word: str) -> str:
    match = re.match(r"--[A-Za-z_-]+", word)
    return match[0].replace("_", "-") + word[match.end() :] if match else word
