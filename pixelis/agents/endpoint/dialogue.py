"""An episode as the messages that the server is sent, and its turns as actions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from pixelis.agents.endpoint.client import NativeCall, Said
from pixelis.envs.tool_listing import called, listed
from pixelis.pictures import data_url, image_file

ANSWERING = "Give the final answer with <answer>...</answer>, as text and not by a tool."
TOLD_ABOVE = "(told with the first of these calls)"


class Dialogue:
    """One episode's messages.

    Args:
        tools: schemas of the env's tools.
        native: whether they are given as native tools, and not in words.
        images: whether pictures are shown.

    Attributes:
        messages: so far, in OpenAI's form.
        tools: the native ones.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]], *, native: bool, images: bool) -> None:
        self._images = images
        self.tools = [*tools] if native else []
        self.messages: list[dict[str, Any]] = []
        self._asked: tuple[NativeCall, ...] = ()
        if tools:
            self.messages.append({"role": "system", "content": ANSWERING if native else listed(tools)})

    def hears(self, text: str, image: np.ndarray | None) -> None:
        """Add what the env says: ``text``, and a picture (uint8 [H, W, 3]) where there is a new one.

        A native tool's result can hold no picture, so that follows as the user's message.
        """
        shown = [_part(image)] if image is not None and self._images else []
        if self._asked:
            results = [text, *[TOLD_ABOVE] * (len(self._asked) - 1)]
            self.messages += [
                {"role": "tool", "tool_call_id": call.id, "content": result}
                for call, result in zip(self._asked, results, strict=True)
            ]
            self._asked = ()
            self.messages += [{"role": "user", "content": shown}] if shown else []
            return
        content = [*shown, {"type": "text", "text": text}] if shown else text
        self.messages.append({"role": "user", "content": content})

    def says(self, said: Said) -> str:
        """Add the model's turn, and return it as the env reads it."""
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.calls:
            message["tool_calls"] = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
                for one in said.calls
            ]
        self.messages.append(message)
        self._asked = said.calls
        return "\n".join([*([said.text] if said.text else []), *map(_as_text, said.calls)])


def _as_text(call: NativeCall) -> str:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = call.arguments  # the env says what is wrong with it
    return called(call.name, arguments if isinstance(arguments, dict) else call.arguments)


def _part(image: np.ndarray) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(image_file(Image.fromarray(image)))}}
