"""What was asked of models at an address: told on the console, and kept beside what they reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def usage_of(agents: Sequence[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return name → requests, tokens and dollars so far, of those that others serve."""
    return {name: agent.usage() for name, agent in agents if hasattr(agent, "usage")}


def usage_lines(usage: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each of them."""
    for name, each in usage.items():
        tokens = f"{each['tokens_in']:,} tokens read and {each['tokens_out']:,} written"
        if each["uncounted"]:
            tokens += f" (the server did not count {each['uncounted']:,} of the turns)"
        dollars = f", ${each['dollars']:.4f}" if each["dollars"] else ""
        yield f"{name}: {each['requests']:,} turns, {tokens}{dollars}"
