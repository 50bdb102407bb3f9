"""An engine whose rows are written by vLLM servers; one that fails has its turns written by the others.

A row is what it has read and written, tokens and pictures, so any server can go on with it, and one's prefix
cache spares it reading them again. The adapter goes to every server before a rollout, under a new name.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from pixelis.addresses import without_secrets
from pixelis.agents.episodes.episode import Segment
from pixelis.agents.models.named_models import NAMED_MODELS
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings
from pixelis.agents.rollout.vllm.answers import Completion, ServerFault
from pixelis.agents.rollout.vllm.checks import check_context, check_model, check_tokens
from pixelis.agents.rollout.vllm.client import VllmClient
from pixelis.agents.rollout.vllm.prompts import Prompt
from pixelis.agents.rollout.vllm.server import PYTHON, VllmServer
from pixelis.agents.settings.sampler import Vllm
from pixelis.errors import ConfigError, SamplerError

_LOG = logging.getLogger(__name__)


class VllmEngine:
    """Samples by servers.

    Args:
        settings: see `Vllm`.
        log: file for what a server says that is started here.
    """

    def __init__(self, settings: Vllm, log: Path) -> None:
        self._settings, self._log = settings, log
        self._server: VllmServer | None = None
        self._clients: list[VllmClient] = []
        self._checked: set[str] = set()  # addresses
        self._lost: dict[str, str] = {}  # address → why
        self._serving = ""  # the adapter
        self._holds: dict[str, str] = {}  # address → the adapter that it was given last
        self._name = f"pixelis-{secrets.token_hex(4)}"  # servers may have other trainers' adapters too
        self._pushed = 0
        self._folder = Path(tempfile.mkdtemp(prefix="pixelis-adapters-"))
        self._requests: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def open(self, policy: Policy, stats: RolloutStats, rng_seed: int) -> Iterator[VllmRows]:
        """Give the servers the policy's adapter, and open rows.

        Raises:
            ConfigError: the policy cannot be served.
            SamplerError: no server can be used.
        """
        self._push(policy)
        yield VllmRows(self, policy, stats)

    def close(self) -> None:
        """Take the adapters from the servers, and end the one that was started here."""
        if self._requests is not None:
            self._requests.shutdown(cancel_futures=True)
        for client in self._clients:
            name = self._holds.pop(client.url, None)
            if name and self._server is None and (client.url not in self._lost or client.is_up()):
                with contextlib.suppress(ServerFault):
                    client.unload_adapter(name)
            client.close()
        self._clients, self._serving = [], ""
        if self._server is not None:
            self._server.close()
            self._server = None
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def living(self) -> list[VllmClient]:
        """The servers that answer, as far as is known."""
        return [client for client in self._clients if client.url not in self._lost]

    def write(
        self,
        policy: Policy,
        home: int,
        prompt: Prompt,
        limit: int,
        settings: SamplingSettings,
        seed: int,
    ) -> Completion:
        """Return a turn, by the server of a row or, where that fails, by another.

        Who answers by another adapter than was asked for, and so by other weights, has failed. Where there is
        one server alone it is asked once more: a single bad answer ends no run.

        Raises:
            SamplerError: no server is left.
        """
        asked_again = False
        while True:
            living = self.living
            if not living:
                raise self._nobody()
            client = living[home % len(living)]
            try:
                ends, forbidden = policy.chat.stop_ids, policy.chat.placeholder_ids
                found = client.complete(self._serving, prompt, limit, settings, seed, ends, forbidden)
                check_tokens(found, policy)
                return found
            except ServerFault as fault:
                if asked_again or self.living != [client]:
                    self._lose(client, fault)
                else:
                    asked_again = True
                    _LOG.warning("the server at %s is asked once more: %s", client.shown, fault)

    def all_at_once(self, count: int) -> ThreadPoolExecutor:
        """Return threads that wait for answers."""
        if self._requests is None:
            self._requests = ThreadPoolExecutor(self._settings.at_once * max(1, len(self._clients)))
        return self._requests

    # ------------------------------------------------------------------ private

    def _push(self, policy: Policy) -> None:
        self._check_policy(policy)
        self._connect(policy)
        for client in self._clients:  # one that has come back is used again
            if client.url in self._lost and client.is_up():
                del self._lost[client.url]
                self._checked.discard(client.url)
        before, self._pushed = self._serving, self._pushed + 1
        name = f"{self._name}-{self._pushed}-step{policy.weights_version}"
        folder = self._folder / name
        policy.save_adapter(folder)
        for client in self.living:
            try:
                self._give(client, name, policy)
            except ServerFault as fault:
                if self.living != [client] or not self._give_again(client, name, policy, fault):
                    self._lose(client, fault)
        self._serving = name
        if before:
            shutil.rmtree(self._folder / before, ignore_errors=True)
        if not self.living:
            raise self._nobody()

    def _give(self, client: VllmClient, name: str, policy: Policy) -> None:
        """Let a server serve an adapter in the place of the one before; check one that is new.

        Raises:
            ServerFault: it does not, or it is not what it should be.
        """
        is_new = client.url not in self._checked
        if is_new:
            check_context(client.facts(), policy)
        client.load_adapter(name, self._folder / name)
        before, self._holds[client.url] = self._holds.get(client.url), name
        if before:
            try:
                client.unload_adapter(before)
            except ServerFault:  # it has been started since, by whatever words
                is_new = True
                check_context(client.facts(), policy)
        if is_new:
            check_model(client, name, policy)
            self._checked.add(client.url)

    def _give_again(self, client: VllmClient, name: str, policy: Policy, fault: ServerFault) -> bool:
        """Do what `_give` does to the last server that is left, as to a new one; return whether it works."""
        _LOG.warning("the server at %s is asked once more: %s", client.shown, fault)
        self._checked.discard(client.url)
        with contextlib.suppress(ServerFault):
            client.unload_adapter(name)  # it may have it, and would refuse the name
        if self._holds.get(client.url) == name:
            del self._holds[client.url]
        try:
            self._give(client, name, policy)
        except ServerFault:
            return False
        return True

    def _check_policy(self, policy: Policy) -> None:
        if not policy.has_adapter:
            raise ConfigError("sampler vllm needs an adapter, whose weights it is given; set train: lora")

    def _connect(self, policy: Policy) -> None:
        if self._clients:
            return
        urls = list(dict.fromkeys(each.rstrip("/") for each in self._settings.urls))
        if not urls:
            name = policy.base_name
            model = str(NAMED_MODELS[name]()) if name in NAMED_MODELS else name
            python = Path(self._settings.python or PYTHON).expanduser()
            rank = max(each.r for each in policy.model.peft_config.values())  # type: ignore[union-attr]
            self._server = VllmServer(
                python,
                model,
                dtype=str(policy.base.dtype).removeprefix("torch."),
                rank=_served_rank(rank),
                max_context=policy.max_context,
                sees_images=policy.chat.sees_images,
                log=self._log,
            )
            urls = [self._server.url]
        self._clients = [VllmClient(url, self._settings.timeout_seconds) for url in urls]

    def _lose(self, client: VllmClient, fault: ServerFault) -> None:
        with self._lock:
            if client.url in self._lost:
                return
            self._lost[client.url] = str(fault)
        left = len(self.living)
        _LOG.warning("the server at %s is left out: %s; %d left", client.shown, fault, left)

    def _nobody(self) -> SamplerError:
        told = "; ".join(f"{without_secrets(url)}: {why}" for url, why in self._lost.items())
        return SamplerError(
            f"no vLLM server can be used ({told}); start one, and go on from the last checkpoint with "
            "--resume"
        )


class VllmRows:
    """The rows of a rollout, each the tokens that it has read and written."""

    def __init__(self, engine: VllmEngine, policy: Policy, stats: RolloutStats) -> None:
        self._engine, self._policy, self._stats = engine, policy, stats
        self._version = policy.weights_version  # of the adapter that the servers were given
        self._rows: list[Prompt] = []
        self._homes: list[int] = []

    def start(self, prompts: Sequence[Segment], copies: Sequence[int]) -> None:
        """Make rows; the members of a group go to one server, which reads their prompt once."""
        for home, (prompt, count) in enumerate(zip(prompts, copies, strict=True)):
            read = Prompt([prompt])
            self._rows += [read.copy() for _ in range(count)]
            self._homes += [home] * count
        self._stats.prefilled_tokens += sum(map(len, prompts))

    def write(
        self, draws: Sequence[np.random.Generator], settings: SamplingSettings, limits: Sequence[int]
    ) -> list[Segment]:
        """Ask for one turn of every row at the same time.

        Raises:
            SamplerError: no server is left.
        """
        seeds = [int(each.integers(2**31)) for each in draws]
        waiting = [
            self._engine.all_at_once(len(seeds)).submit(
                self._engine.write, self._policy, home, row, limit, settings, seed
            )
            for home, row, limit, seed in zip(self._homes, self._rows, limits, seeds, strict=True)
        ]
        turns = [each.result() for each in waiting]
        self._stats.generated_tokens += sum(len(turn.tokens) for turn in turns)
        written = [
            Segment.sampled_turn(
                turn.tokens,
                turn.logprobs,
                self._policy.chat.decode(turn.tokens),
                finish_reason=turn.finish_reason,
                weights_version=self._version,
            )
            for turn in turns
        ]
        for row, segment in zip(self._rows, written, strict=True):
            row.add(segment)
        return written

    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> None:
        """Add what follows the turns."""
        for row, segment in zip(self._rows, segments, strict=True):
            row.add(segment)
        self._stats.prefilled_tokens += sum(map(len, segments))

    def keep(self, rows: Sequence[int]) -> None:
        """Drop the other rows."""
        self._rows = [self._rows[row] for row in rows]
        self._homes = [self._homes[row] for row in rows]


def _served_rank(rank: int) -> int:
    """Return the smallest rank that vLLM can be told which is enough."""
    return next((each for each in (8, 16, 32, 64, 128, 256, 320, 512) if each >= rank), rank)
