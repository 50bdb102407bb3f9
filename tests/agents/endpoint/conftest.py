"""Servers that answer, and players that ask them."""

from __future__ import annotations

import contextlib

import gymnasium as gym
import pytest
from answering import AnsweringServer

from pixelis.agents.endpoint.agent import EndpointAgent
from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.settings.endpoint import EndpointSettings

GREEDY = SamplingSettings(max_new_tokens=50, greedy=True)


@pytest.fixture
def serve():
    """Return a starter of servers, which are ended with the test."""
    with contextlib.ExitStack() as stack:

        def started(answer):
            server = AnsweringServer(answer)
            stack.callback(server.close)
            return server

        yield started


@pytest.fixture
def ask(serve, monkeypatch):
    """Return a function that lets a server play seeds of an env: the episodes, the server, the agent."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def played(answer, env_id, seeds=(1,), *, how=GREEDY, kwargs=None, at_once=4, pictures=False, **settings):
        server = serve(answer)
        agent = EndpointAgent(f"openai:m@{server.url}", EndpointSettings(**settings))
        requests = [EpisodeRequest(seed, group, 0, {}, pictures) for group, seed in enumerate(seeds)]
        try:
            found = agent.play(
                requests,
                lambda: gym.make(env_id, disable_env_checker=True, **(kwargs or {})),
                how,
                at_once=at_once,
            )
        finally:
            agent.close()
        return found, server, agent

    return played
