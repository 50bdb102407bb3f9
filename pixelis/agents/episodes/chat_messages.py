"""An episode in OpenAI's form of a chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any


def chat_messages(
    heard: Sequence[str | None], said: Sequence[Any], shown: Sequence[str | None]
) -> Iterator[dict[str, Any]]:
    """Yield the messages of an episode in OpenAI's form, up to the last thing that was said.

    Args:
        heard: what the env said before each turn, and after the last one.
        said: the turns.
        shown: the file of the picture that came with each, None where there was none; may be shorter.
    """
    for text, place, turn in zip(heard, chain(shown, repeat(None)), said, strict=False):
        content: Any = text or ""
        if place is not None:
            parts = {"type": "image_url", "image_url": {"url": place}}, {"type": "text", "text": content}
            content = [*parts]
        yield {"role": "user", "content": content}
        yield {"role": "assistant", "content": turn}
