"""Flags and YAML of settings: words become one mapping, which the settings check themselves.

``--loss.surrogate.type sapo`` is the flag of a setting in a section; ``--help`` tells the settings that are
used first, ``--help.loss`` those of a section, ``--help.more`` the rest.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pixelis.agents.settings.base import (
    Section,
    Settings,
    SettingsError,
    choices_of,
    is_number,
    kinds_of,
    note_of,
    tags_of,
)
from pixelis.agents.settings.files import loaded, read_settings_file
from pixelis.agents.settings.plain import Path, merged
from pixelis.cli import in_words_of_caller
from pixelis.cli.foreign_names import about_unknown
from pixelis.errors import ConfigError, shown

S = TypeVar("S", bound=Settings)
_WIDTH, _INDENT = 79, 28


class _Missing:
    """The value of a flag that nothing followed: true for a switch."""


class Words:
    """The words of a command line, taken apart.

    Attributes:
        files: what ``--config`` named, in order.
        flags: path of a setting → its text, or that nothing followed.
        help: the section that ``--help.section`` asks for, empty for ``--help``, None without.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.files: list[str] = []
        self.flags: dict[Path, str | _Missing] = {}
        self.help: str | None = None
        left = [str(word) for word in words]
        while left:
            word = left.pop(0)
            if word == "-h" or word.startswith("--help"):
                self.help = word.partition(".")[2].replace("-", "_")
                continue
            if not word.startswith("--"):
                raise ConfigError(f"unknown argument {word!r}. Flags begin with --; see --help")
            flag, equals, text = word.partition("=")
            path = (flag.partition(".")[0][2:].replace("-", "_"), *flag.split(".")[1:])
            follows = bool(left) and not left[0].startswith("--")
            value = text if equals else left.pop(0) if follows else _Missing()
            if path == ("config",):
                self.files.append("" if isinstance(value, _Missing) else value)
            else:
                self.flags[path] = value


class Arguments(Generic[S]):
    """A command line whose flags are settings, plus ``--config FILE``.

    Args:
        program: name shown in the help.
        description: first lines of the help.
        settings: their class, or what returns it for the settings as they were written.
        examples: last lines of the help.
        resumes: whether there is ``--resume FOLDER``.
        takes_file: whether the help tells of ``--config FILE``.
        switches: flags that the command reads itself → what the help says of them.
    """

    def __init__(
        self,
        program: str,
        description: str,
        settings: type[S] | Callable[[Mapping[str, Any]], type[S]],
        examples: str = "",
        *,
        resumes: bool = False,
        takes_file: bool = True,
        switches: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._program, self._description, self._examples = program, description, examples
        self._settings, self._resumes, self._takes_file = settings, resumes, takes_file
        self._switches = switches

    def read(self, words: Sequence[str]) -> S:
        """Return the settings that the words of a command line ask for.

        Raises:
            ConfigError, CheckpointError, SystemExit: see `read_run`.
        """
        return self.read_run(words)[0]

    def read_run(self, words: Sequence[str]) -> tuple[S, str | None]:
        """Return the settings that words ask for, and the run to resume if there is one.

        What a flag says wins over what ``--config`` says, whatever their order, and that over what the run to
        resume was started with.

        Raises:
            ConfigError: unknown or wrong settings, in the words, a file or a run.
            CheckpointError: there is no such run.
            SystemExit: help was asked for.
        """
        asked = Words(words)
        resume = asked.flags.pop(("resume",), None) if self._resumes else None
        if isinstance(resume, _Missing):
            raise ConfigError("--resume must be followed by a value")
        given: dict[str, Any] = {}
        for file in asked.files:
            given = merged(given, read_settings_file(file, "--config"))
        if resume is not None and asked.help is None:
            from pixelis.agents.run_files.saved_run import settings_of

            saved = settings_of(resume)
            self._check_saved(saved, resume)
            given = merged(saved, given)
        kind = self._kind(self._said(asked, given))
        if asked.help is not None:
            print(in_words_of_caller("\n".join(self._help(kind, asked.help))))
            raise SystemExit(0)
        for path in sorted(asked.flags, key=_depth):
            given = put(given, *_setting_of(kind, path, asked.flags[path]))
        try:
            return kind.from_mapping(given), resume
        except SettingsError as error:
            files = " or ".join(map(repr, asked.files))

            def unknown(path: Path) -> str:
                flag = any(path[0] in (each[0], each[0].removeprefix("no_")) for each in asked.flags)
                named = f"argument {shown(_flag(path))}" if flag else f"setting {shown(path[0])}"
                where = f" in {files}" if files and not flag else ""
                return f"unknown {named}{where}.{about_unknown(path[0], kind, self._program, flags=flag)}"

            raise SettingsError(kind, error.error, unknown) from None

    # ------------------------------------------------------------------ private

    def _kind(self, given: Mapping[str, Any]) -> type[S]:
        chosen: Any = self._settings if isinstance(self._settings, type) else self._settings(given)
        return chosen

    def _said(self, asked: Words, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return top-level settings as they were written, for who chooses the class by them."""
        chosen = {
            path[0]: text
            for path, text in asked.flags.items()
            if isinstance(text, str) and path[1:] in ((), ("type",))
        }
        return {**given, **chosen}

    def _check_saved(self, saved: Mapping[str, Any], folder: str) -> None:
        try:
            self._kind(saved).from_mapping(saved)
        except SettingsError as error:
            raise ConfigError(
                f"the run {folder!r} was saved with settings that this version does not have; start a new "
                f"run: {error}"
            ) from None

    def _help(self, kind: type[Section], section: str) -> Iterator[str]:
        fields = kind.model_fields
        if section == "more":
            for name, field in fields.items():
                if note_of(field, "more"):
                    yield from _setting_line((name,), field)
            return
        if section:
            yield from _help_of(kind, tuple(section.split(".")), self._program)
            return
        file = " [--config FILE]" * self._takes_file
        yield f"usage: {self._program}{file} [--flag value ...]\n"
        yield f"{self._description}\n\nSettings:"
        if self._takes_file:
            what = "YAML file of settings, or the name of a shipped one; flags override it"
            yield from _line("--config FILE", what)
        if self._resumes:
            yield from _line("--resume FOLDER", "go on with the run in this folder, with its settings")
        for switch, told in self._switches.items():
            yield from _line(switch, told)
        sections = {name: field for name, field in fields.items() if kinds_of(field.annotation)}
        for name, field in fields.items():
            if name not in sections and not note_of(field, "more"):
                yield from _setting_line((name,), field)
        if sections:
            yield f"\nSections ({self._program} --help.SECTION tells the settings of one):"
        for name, field in sections.items():
            if not note_of(field, "more"):
                yield from _setting_line((name,), field)
        if any(note_of(field, "more") for field in fields.values()):
            yield from _line("--help.more", "settings that are rarely changed")
        if self._examples:
            yield f"\n{self._examples}"


def put(values: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return plain settings with one of them set, at any depth."""
    name, *rest = path
    if not rest:
        return {**values, name: value}
    inner = values.get(name)
    if isinstance(inner, str):
        inner = {"type": inner}
    if not isinstance(inner, Mapping) or (rest == ["type"] and inner.get("type", value) != value):
        inner = {}
    return {**values, name: put(inner, tuple(rest), value)}


def _depth(path: Path) -> tuple[int, bool]:
    return len(path), path[-1] != "type"


def _fields_at(kind: type[Section], path: Path) -> list[FieldInfo]:
    """Return the settings at a path, one for each alternative that has it."""
    kinds: list[type[Section]] = [kind]
    fields: list[FieldInfo] = []
    for name in path:
        fields = [each.model_fields[name] for each in kinds if name in each.model_fields]
        kinds = [inner for field in fields for inner in kinds_of(field.annotation)]
    return fields


def _setting_of(kind: type[Section], path: Path, text: str | _Missing) -> tuple[Path, Any]:
    """Return the setting that a flag means, and what its text means."""
    fields = _fields_at(kind, path)
    if isinstance(text, _Missing):
        positive = (*path[:-1], path[-1].removeprefix("no_"))
        if positive != path and any(field.annotation is bool for field in _fields_at(kind, positive)):
            return positive, False
        if any(field.annotation is not bool for field in fields):
            raise ConfigError(f"{_flag(path)} must be followed by a value")
        return path, True
    try:
        value = loaded(text)
    except yaml.YAMLError:
        return path, text
    hints = [field.annotation for field in fields]
    if any(hint is str or set(get_args(hint)) == {str, NoneType} for hint in hints):
        return path, value if value is None and str not in hints else text
    single = [hint for hint in hints if get_origin(hint) not in (dict, list)]
    keeps = any(choices_of(hint) or str in get_args(hint) for hint in single)
    return path, text if keeps and not isinstance(value, str | NoneType | Mapping) else value


def _flag(path: Path) -> str:
    return f"--{'.'.join((path[0].replace('_', '-'), *path[1:]))}"


def _help_of(kind: type[Section], path: Path, program: str) -> Iterator[str]:
    """Yield the lines of a section: of each alternative those that it has."""
    fields = _fields_at(kind, path)
    kinds = [inner for field in fields for inner in kinds_of(field.annotation)]
    if not kinds:
        sections = [name for name, field in kind.model_fields.items() if kinds_of(field.annotation)]
        raise ConfigError(f"--help.{'.'.join(path)}: sections are {', '.join([*sections, 'more'])}")
    yield f"{program}: {fields[0].description}"
    for each in kinds:
        tags = " or ".join(tags_of(each))
        head = f"{'.'.join(path)}{f' with type {tags}' if tags else ''}: {_first_line(each)}"
        yield "\n" + textwrap.fill(head, _WIDTH, break_on_hyphens=False)
        for name, field in each.model_fields.items():
            if kinds_of(field.annotation):
                yield from _line(f"--help.{'.'.join((*path, name))}", field.description or "")
            elif name != "type":
                yield from _setting_line((*path, name), field)


def _first_line(kind: type[Section]) -> str:
    return (kind.__doc__ or "").splitlines()[0]


def _setting_line(path: Path, field: FieldInfo) -> Iterator[str]:
    default, hint = field.default, field.annotation
    word = (
        "" if default is PydanticUndefined or default in ({}, []) or isinstance(default, Section) else default
    )
    if default is None or isinstance(default, bool):
        word = "null" if default is None else str(default).lower()
    if isinstance(default, Section):
        word = getattr(default, "type", "")
    told = f"{field.description}{f' (default: {word})' if word != '' else ''}"
    yield from _line(f"{_flag(path)} {_metavar(hint)}".rstrip(), told)


def _line(left: str, right: str) -> Iterator[str]:
    lines = textwrap.wrap(right, _WIDTH - _INDENT, break_on_hyphens=False) or [""]
    head = f"  {left:{_INDENT - 4}}  "
    if len(left) > _INDENT - 4:
        yield from textwrap.wrap(
            left, _WIDTH - 2, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
        head = " " * _INDENT
    yield f"{head}{lines[0]}"
    yield from (f"{' ' * _INDENT}{line}" for line in lines[1:])


def _metavar(hint: Any) -> str:
    """Return what stands for the value in the help; the choices where there are some."""
    if choices := choices_of(hint):
        return f"{{{','.join(choices)}}}"
    if hint is bool:
        return ""
    if get_origin(hint) is list:
        return "NAME,…"
    kinds = get_args(hint) if NoneType in get_args(hint) else (hint,)
    if is_number(kinds[0]) and kinds[0] not in (int, float):
        kinds = get_args(kinds[0])  # with bounds of its own
    return {int: "N", float: "X", str: "TEXT"}.get(kinds[0], "JSON" if not kinds_of(hint) else "")
