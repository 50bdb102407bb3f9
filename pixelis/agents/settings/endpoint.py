"""The settings of a model that somebody else serves: how it is asked, and what that costs."""

from __future__ import annotations

from typing import Any, Literal

from pixelis.agents.settings.base import Settings, setting


class EndpointSettings(Settings):
    """How a model behind an OpenAI-compatible address is asked."""

    tools: Literal["text", "native"] = setting(
        "text", "how it is told of tools: in the system message, or as the address's own tool calls"
    )
    images: bool = setting(True, "show it the pictures of observations")
    key_env: str = setting("OPENAI_API_KEY", "environment variable that holds the key")
    timeout_seconds: float = setting(120.0, "longest wait for a turn", gt=0)
    retries: int = setting(5, "how often a turn is asked again that was refused for load, or lost", ge=0)
    requests_per_minute: float | None = setting(None, "most turns asked in a minute; null: no limit", gt=0)
    price_in: float = setting(0.0, "dollars for a million tokens that it reads", ge=0)
    price_out: float = setting(0.0, "dollars for a million tokens that it writes", ge=0)
    body: dict[str, Any] = setting(
        {}, "what else a request says, or says in another way; null leaves a field out"
    )
