"""A harness of verifiers' that asks the model from this process: a turn in milliseconds, by the same door.

Their own, `null`, starts a program for each turn, which takes a second and more.
"""

from __future__ import annotations

from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

__all__ = ["InProcessChat"]


class InProcessChatConfig(vf.HarnessConfig):
    """Nothing can be set."""


class InProcessChat(vf.Harness[InProcessChatConfig]):
    APPENDS_SYSTEM_PROMPT = SUPPORTS_RESUME = True
    EXECUTES_CODE = NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: Any
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        first = [{"role": "system", "content": system}] if system else []
        body = {"model": ctx.model, "messages": first + [message_to_wire(message) for message in prompt]}
        async with httpx.AsyncClient(timeout=60) as client:
            url, headers = f"{endpoint}/chat/completions", {"Authorization": f"Bearer {secret}"}
            (await client.post(url, headers=headers, json=body)).raise_for_status()
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")
