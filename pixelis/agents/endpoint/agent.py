"""Who plays by asking a server for every turn: envs are stepped here, turns are waited for in threads."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.agents.endpoint.address import read_address
from pixelis.agents.endpoint.client import ChatClient, ContextFull, Said, TurnFault
from pixelis.agents.endpoint.dialogue import Dialogue
from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.settings.endpoint import EndpointSettings

MAX_SEED = 2**31


@dataclass(frozen=True)
class _Table:
    """An episode in play."""

    place: int
    runner: EpisodeRunner
    talk: Dialogue


class EndpointAgent:
    """A model at an address as a player.

    Args:
        name: ``openai:MODEL@URL``.
        settings: how it is asked.

    Attributes:
        base_name: the name.

    Raises:
        ConfigError: the name is of another form, or the key is missing.
        MissingDependencyError: ``openai`` is not installed.
    """

    def __init__(self, name: str, settings: EndpointSettings) -> None:
        self.base_name, self._settings = name, settings
        self._client = ChatClient(read_address(name), settings)
        self._answers: SimpleQueue[tuple[_Table, Said | BaseException]] = SimpleQueue()

    def play(
        self,
        requests: Sequence[EpisodeRequest],
        make: Callable[[], gym.Env[Any, Any]],
        settings: SamplingSettings,
        *,
        at_once: int = 32,
        rng_seed: int = 0,
        on_episodes: Callable[[Sequence[Episode]], None] = lambda _: None,
    ) -> list[Episode]:
        """Play the episodes, and return them in the order of the requests.

        A turn that the server does not give ends its episode as one that counts as failed; a conversation
        that is too long for the model ends it as a full context does (``cut_off``).

        Args:
            requests: what to play.
            make: makes an env; all are stepped by the thread that calls.
            settings: how to sample.
            at_once: episodes in play.
            rng_seed: changes the seeds of all turns.
            on_episodes: is given each when it ends.

        Raises:
            EndpointError: the server refuses in a way that holds for all turns.
        """
        waiting, idle = deque(enumerate(requests)), list[gym.Env[Any, Any]]()
        ended: dict[int, Episode] = {}
        playing: dict[int, _Table] = {}
        try:
            while waiting or playing:
                while waiting and len(playing) < at_once:
                    place, request = waiting.popleft()
                    runner = EpisodeRunner(idle.pop() if idle else make(), request)
                    runner.reset()
                    native, images = self._settings.tools == "native", self._settings.images
                    talk = Dialogue(runner.tool_schemas(), native=native, images=images)
                    playing[place] = table = _Table(place, runner, talk)
                    if not runner.done:
                        self._ask(table, settings, rng_seed)
                    else:
                        self._answers.put((table, TurnFault("it was over before its first turn")))
                table, answer = self._answers.get()
                self._take(table, answer)
                if not table.runner.done:
                    self._ask(table, settings, rng_seed)
                    continue
                del playing[table.place]
                ended[table.place] = episode = table.runner.episode
                self._leave(table.runner.env, idle, whole=episode.valid_for_training)
                on_episodes([episode])
        finally:
            for env in [*idle, *(table.runner.env for table in playing.values())]:
                with contextlib.suppress(Exception):  # what was played is not lost to this
                    env.close()
            self._answers = SimpleQueue()  # answers that are still to come are nobody's
        return [ended[place] for place in range(len(requests))]

    def usage(self) -> dict[str, Any]:
        """Return what was asked so far: requests, tokens in and out, dollars."""
        return self._client.usage.to_json(self._settings)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # ------------------------------------------------------------------ private

    def _ask(self, table: _Table, settings: SamplingSettings, rng_seed: int) -> None:
        """Ask for the next turn, in a thread that no end of the process waits for."""
        text, image = table.runner.seen()
        table.talk.hears(text, image)
        table.runner.episode.segments.append(Segment.given([], text))
        request, messages, answers = table.runner.request, list(table.talk.messages), self._answers
        drawn = np.random.default_rng([rng_seed, request.seed, request.member, len(messages)])
        seed = int(drawn.integers(MAX_SEED))

        def work() -> None:
            """Wait for the turn, and hand over it or what came in its place."""
            try:
                answer: Said | BaseException = self._client.turn(messages, table.talk.tools, settings, seed)
            except BaseException as error:
                answer = error
            answers.put((table, answer))

        threading.Thread(target=work, daemon=True).start()

    def _take(self, table: _Table, answer: Said | BaseException) -> None:
        """Step an env with its answer, or end its episode where there is none."""
        runner, episode = table.runner, table.runner.episode
        if isinstance(answer, Said):
            action = table.talk.says(answer)
            episode.segments.append(Segment.given([], action))
            episode.cut_turns += answer.cut
            runner.step(action)
        elif isinstance(answer, ContextFull) and episode.turns:
            episode.truncated = episode.cut_off = runner.done = True
        elif isinstance(answer, TurnFault | ContextFull):
            if not runner.done:  # else the env has failed, and its reason stands
                runner.fail(str(answer))
        else:
            raise answer

    @staticmethod
    def _leave(env: gym.Env[Any, Any], idle: list[gym.Env[Any, Any]], *, whole: bool) -> None:
        """Keep an env for the next episode; one that failed is not trusted again."""
        if whole:
            idle.append(env)
            return
        with contextlib.suppress(Exception):
            env.close()
