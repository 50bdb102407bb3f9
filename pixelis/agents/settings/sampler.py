"""What samples: the model in the trainer's process, or servers."""

from __future__ import annotations

from typing import Annotated, Literal

from pixelis.agents.settings.base import Alternatives, Section, setting

VLLM_TEMPERATURES = 0.01, 2.0
"""The lowest and the highest at which vLLM samples; lower ones it raises without a word."""
_WHICH = "what writes turns: the model in this process, or vLLM servers"


class OwnSampler(Section):
    """The model in the trainer's process."""

    type: Literal["own"] = setting("own", _WHICH)


class Vllm(Section):
    """Servers of vLLM."""

    type: Literal["vllm"] = setting("vllm", _WHICH)
    urls: list[str] = setting([], "addresses of servers that run; none: one is started", identity=False)
    python: str | None = setting(None, "Python that has vLLM; null: that of `make vllm`", identity=False)
    timeout_seconds: float = setting(600.0, "longest wait for a turn", gt=0, identity=False)
    at_once: int = setting(64, "turns that are asked of a server at a time", ge=1, identity=False)


AnySampler = Annotated[OwnSampler | Vllm, Alternatives()]
