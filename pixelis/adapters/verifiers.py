"""verifiers: every Pixelis environment as a taskset of Prime Intellect's, for ``vf-eval`` and prime-rl.

verifiers finds an environment by the name of a module whose ``__all__`` names a taskset. A file of two
lines, on the path or installed, is such a package (``examples/verifiers_env`` is one)::

    from pixelis.adapters.verifiers import VerifiersEnv, VerifiersTaskset
    __all__ = ["VerifiersEnv", "VerifiersTaskset"]

    vf-eval pixelis_env --env.taskset.env-id Pixelis/WebBrowse-v0 -n 20

The environment speaks first and plays the user; the reward of the trace is what the episode paid in all.
"""
# pyright: reportMissingImports=false
# verifiers wants another openai than the lock has: it lives in an environment of its own, `make verifiers`.

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pydantic import Field

from pixelis.adapters.chat_env import ChatEnv, Message
from pixelis.errors import MissingDependencyError
from pixelis.pictures import data_url, image_file

try:
    import verifiers.v1 as vf
except ImportError as error:
    raise MissingDependencyError(
        f"this adapter needs verifiers ({error}); install it with: pip install 'pixelis[verifiers]'"
    ) from error

__all__ = ["VerifiersEnv", "VerifiersSettings", "VerifiersTask", "VerifiersTaskset"]

REWARD = "episode"
"""The name of the reward on the trace."""


class VerifiersSettings(vf.TasksetConfig):
    """What ``--env.taskset.…`` says."""

    env_id: str = "Pixelis/WebBrowse-v0"
    """A Gymnasium id whose observations hold ``text``."""
    env_kwargs: dict[str, Any] = Field(default_factory=dict)
    """For ``gymnasium.make``."""
    options: dict[str, Any] = Field(default_factory=dict)
    """For ``reset``, such as ``{"split": "test"}``."""
    first_seed: int = Field(0, ge=0)
    """Seed of the first task; the others follow."""
    images: bool = False
    """Whether a model with vision is shown the pictures."""


class VerifiersData(vf.TaskData):
    """A task: an environment and what its episode begins with. It has no prompt, as the environment opens."""

    env_id: str
    env_kwargs: dict[str, Any]
    options: dict[str, Any]
    seed: int
    images: bool


class VerifiersTask(vf.Task[VerifiersData]):
    """A task of `VerifiersTaskset`; the environment scores it."""


class VerifiersTaskset(vf.Taskset[VerifiersTask, VerifiersSettings]):
    """A task for each seed, without end; the tools stand in the system message."""

    INFINITE = True

    def load(self) -> Iterator[VerifiersTask]:
        """Yield the tasks.

        Raises:
            UnknownEnvError: no such id.
            ConfigError: a keyword of the environment does not fit.
        """
        given = self.config.model_dump(include={"env_id", "env_kwargs", "options", "images"})
        chat = ChatEnv(self.config.env_id, self.config.env_kwargs)
        system = "".join(message["content"] for message in chat.system()) or None
        chat.close()
        for seed in itertools.count(self.config.first_seed):
            data = VerifiersData(
                name=f"{self.config.env_id}#{seed}", seed=seed, system_prompt=system, **given
            )
            yield VerifiersTask(data, self.config.task)


class VerifiersEnvConfig(vf.SingleAgentEnvConfig):
    """The agent is a plain chat on this machine, which runs nothing that the model writes."""

    agent: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})  # type: ignore[arg-type]


class VerifiersEnv(vf.Env[VerifiersEnvConfig]):
    """An episode: the environment is the user of a conversation with the agent."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Play the task's episode.

        Raises:
            TrainingError: the environment itself failed, so that nothing is to be learnt from the episode.
        """
        data, loop = task.data, asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as thread:  # one for all of it: a browser answers only the one that began
            chat = await loop.run_in_executor(
                thread, partial(ChatEnv, data.env_id, data.env_kwargs, images=data.images)
            )
            try:
                said = await loop.run_in_executor(thread, chat.begin, data.seed, data.options)
                async with agents.agent.interaction(task) as interaction:
                    while not chat.done:
                        segment = await interaction.turn(_message(said))
                        if segment.terminated:  # a limit of the run's
                            break
                        turn = _spoken(segment.messages)
                        said = (await loop.run_in_executor(thread, chat.reply, turn)).content
            finally:
                await loop.run_in_executor(thread, chat.close)
        told = chat.outcome()
        interaction.trace.record_reward(REWARD, chat.total)
        if "success" in told:
            interaction.trace.record_metric("success", float(told["success"]))
        chat.check_valid()


def _message(content: str | list[Message]) -> str | list[Any]:
    """Return what the environment says as a user's turn, with a picture as a data URL."""
    if isinstance(content, str):
        return content
    source = vf.ImageUrlSource(url=data_url(image_file(content[0]["image"])))
    parts = [vf.ImageUrlContentPart(image_url=source), vf.TextContentPart(text=content[1]["text"])]
    return [vf.UserMessage(content=parts)]


def _spoken(messages: Sequence[Any]) -> str:
    """Return the agent's last words to the letter; ``Segment.last_reply`` is stripped."""
    return next((one.content or "" for one in reversed(messages) if one.role == "assistant"), "")
