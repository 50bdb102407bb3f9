"""``scripts/play.py``: a person, or a pipe, plays an environment in the terminal; frames go to PNG files."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.errors import ConfigError

PROGRAM = "play.py"
_NUMBER = re.compile(r"frame-(\d{1,9})\.png")
DESCRIPTION = "Play an environment by hand. Type help for what can be typed; the input may be a pipe."
EXAMPLES = """\
examples:
  play.py --env Pixelis/ZoomRead-v0 --seed 3
  printf 'zoom 0.3 0.7 4\\nread\\nanswer K7QX\\n' | play.py --frames frames
  play.py --env Pixelis/CodeProblem-v0     # then: answer <<END, the code, and END
  play.py --env Pixelis/WebBrowse-v0       # click e2@v1, type e3@v1 hello submit=true"""


class PlaySettings(Settings):
    """The flags of ``play.py``."""

    env: str = setting("Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included")
    env_kwargs: dict[str, Any] = setting({}, "keyword arguments for gym.make, e.g. --env-kwargs.max_turns 4")
    difficulty: int | None = setting(None, "the env's difficulty dial; null keeps the env's default")
    split: Literal["train", "test"] = setting("train", "which tasks")
    seed: int = setting(0, "which task", ge=0)
    frames: str = setting("frames", "folder for the pictures, one before the first turn and one after each")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_play, words)


def _play(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, PlaySettings, EXAMPLES).read(words)

    from pixelis.agents.episodes.task_env import TaskEnv

    options = {} if settings.difficulty is None else {"difficulty": settings.difficulty}
    task_env = TaskEnv.open(settings.env, settings.env_kwargs, options)
    env = task_env.make(render_mode="rgb_array") if task_env.draws else task_env.make()
    album = _Album(Path(settings.frames), env if task_env.draws else None)
    try:
        observation, _ = env.reset(seed=settings.seed, options=task_env.options(settings.split) or None)
        album.add(observation)
        return _turns(env, observation, album)
    finally:
        env.close()


def _turns(env: Any, observation: dict[str, Any], album: _Album) -> int:
    """Play until the episode or the input ends; return the exit code."""
    from pixelis.cli.shortcuts import ShortcutError, block_end, translate, usage

    _take_any_bytes()
    toolset = getattr(env.unwrapped, "toolset", None)
    schemas = toolset.schemas() if toolset is not None else []
    print(observation["text"])
    for line in _lines():
        if line == "help":
            print(usage(schemas))
            continue
        try:
            end = block_end(line)
            block = None if end is None else _block(end)
            _check_text(f"{line}{block or ''}")
            action = translate(line, schemas, block)
        except ShortcutError as problem:
            print(problem)
            continue
        observation, reward, terminated, truncated, info = env.step(action)
        album.add(observation)
        print(observation["text"])
        if terminated or truncated:
            end = "the episode ended" if terminated else "out of turns"
            print(f"{end}: reward {float(reward):g}, success {info.get('success')}")
            break
    print(album)
    return 0


def _take_any_bytes() -> None:
    """Let bytes that are no text come as what `_check_text` refuses, one line at a time."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        with contextlib.suppress(io.UnsupportedOperation):  # somebody has read from it before
            sys.stdin.reconfigure(errors="surrogateescape")


def _check_text(typed: str) -> None:
    """Refuse what was typed if a part of it is no text.

    Raises:
        ShortcutError: it is none.
    """
    from pixelis.cli.shortcuts import ShortcutError

    try:
        typed.encode()
    except UnicodeEncodeError:
        raise ShortcutError(f"what was typed is no text in {sys.stdin.encoding}; nothing was said") from None


def _lines() -> Iterator[str]:
    """Yield what is typed, without empty lines, until the input ends or says quit."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt).strip()
        except EOFError:
            return
        if line in ("quit", "exit"):
            return
        if line:
            yield line


def _block(end: str) -> str:
    """Return the lines that are typed up to the one that ends the block, as they are typed."""
    from pixelis.cli.shortcuts import ShortcutError

    prompt = "… " if sys.stdin.isatty() else ""
    lines: list[str] = []
    while True:
        try:
            line = input(prompt)
        except EOFError:
            raise ShortcutError(f"the input ended before {end}; nothing was said") from None
        if line.rstrip() == end:
            return "\n".join(lines)
        lines.append(line)


class _Album:
    """Writes ``frame-000.png`` and so on: what the env renders, else what it shows the agent, if anything.

    Pictures that are in the folder stay: the numbers go on behind the greatest one there.
    """

    def __init__(self, folder: Path, env: Any) -> None:
        from pixelis.files import writing

        self.folder, self.count = folder, 0
        self._env, self._writing = env, writing
        with writing(folder):
            if folder.exists() and not folder.is_dir():
                raise ConfigError(f"--frames must be a folder, {str(folder)!r} is a file")
        there = [_NUMBER.fullmatch(path.name) for path in folder.glob("frame-*.png")]
        self._first = max((int(match[1]) + 1 for match in there if match), default=0)

    def __str__(self) -> str:
        """Say where the pictures are."""
        if not self.count:
            return "there were no pictures to write"
        return (
            f"{self.count} frames are in {self.folder}, from {self._name(0)} to {self._name(self.count - 1)}"
        )

    def add(self, observation: dict[str, Any]) -> None:
        """Write the next frame."""
        from PIL import Image

        picture = self._env.render() if self._env is not None else observation.get("image")
        if picture is None:
            return
        with self._writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / self._name(self.count)).open("xb") as file:  # never over another one
                Image.fromarray(picture).save(file, "PNG")
        self.count += 1

    def _name(self, number: int) -> str:
        return f"frame-{self._first + number:03d}.png"
