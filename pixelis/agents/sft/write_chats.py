"""Episodes that went well, as a file of chats: what `load_chats` reads, whoever has played them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.agents.episodes.chat_messages import chat_messages
from pixelis.agents.episodes.episode import Episode
from pixelis.errors import ConfigError
from pixelis.files import writing
from pixelis.wrappers.recording.images import ImageFolder
from pixelis.wrappers.recording.values import digest


class ChatFile:
    """Takes episodes as they come and keeps those that succeeded; the end of its block gives them their name.

    Beside ``NAME.jsonl`` the pictures lie in ``NAME.images``. The block may end by an error: what was played
    is kept. Without any success there is no file.

    Args:
        path: the file, which must not be there.
        tools: schemas of the env's tools, which every chat names.

    Attributes:
        count: of the chats.

    Raises:
        ConfigError: the file is there already.
        OutputError: its folder cannot be written to.
    """

    def __init__(self, path: Path, tools: Sequence[Mapping[str, Any]]) -> None:
        if path.exists():
            raise ConfigError(f"{str(path)!r} is there already; demonstrations need a file of their own")
        self._path, self._tools, self.count = path, [*tools], 0
        self._aside = path.with_name(f".{path.name}.unfinished")
        self._images = ImageFolder(path.with_name(f"{path.stem}.images"))
        with writing(path, "--demonstrations"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._aside.write_text("", encoding="utf-8")

    def take(self, episodes: Sequence[Episode]) -> None:
        """Keep those that succeeded.

        Raises:
            OutputError: the file cannot be written.
        """
        chats = [self._chat(each) for each in episodes if each.success and each.valid_for_training]
        with writing(self._path, "--demonstrations"), self._aside.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(chat, ensure_ascii=False)}\n" for chat in chats)
        self.count += len(chats)

    def __enter__(self) -> ChatFile:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the file its name."""
        with writing(self._path, "--demonstrations"):
            if self.count:
                self._aside.replace(self._path)
            else:
                self._aside.unlink()

    def _chat(self, episode: Episode) -> dict[str, Any]:
        row: dict[str, Any] = {"messages": [*self._messages(episode)]}
        difficulty = (episode.info.get("task") or {}).get("difficulty")
        row |= {"tools": self._tools} if self._tools else {}
        return row | ({} if difficulty is None else {"difficulty": int(difficulty)})

    def _messages(self, episode: Episode) -> Iterator[dict[str, Any]]:
        heard = [episode.asked, *(each.heard for each in episode.exchanges)]
        shown = [None if each is None else self._saved(each) for each in episode.pictures]
        return chat_messages(heard, [each.action for each in episode.exchanges], shown)

    def _saved(self, picture: np.ndarray) -> str:
        name = digest(picture)
        self._images.save(name, picture)
        return f"{self._images.path.name}/{name}.png"
