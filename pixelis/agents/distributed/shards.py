"""Frozen weights of which every process holds a share, gathered layer by layer: torch's FSDP2.

Zhao et al. 2023, "PyTorch FSDP" (arXiv 2304.11277), as ``torch.distributed.fsdp.fully_shard`` does it. Only
the frozen weights of a model's layers are shared out; the adapter, the embedding, the output head and a
vision part stay whole in every process, and so does all that is done with them.

A pass over the layers then gathers each of them from everyone, while every process has passes of its own, as
many as it likes. So each says which way it goes before it goes; who has nothing to do gathers along until
nobody has (transformers' ``synced_gpus`` does so with passes over dummies; here no layer is computed for it).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from transformers.modeling_layers import GradientCheckpointingLayer

from pixelis.agents.distributed.process_group import ProcessGroup
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import is_out_of_memory
from pixelis.agents.scoring.support import random_episodes
from pixelis.agents.scoring.trial import trial
from pixelis.errors import ConfigError, TrainingError

FORWARD, BACKWARD = 0, 1
"""The ways a pass can go."""


class Shards:
    """A policy's weights as shares; made by all processes at the same time, of the same weights.

    Args:
        world: the connection.
        policy: what `place` has placed; whose ``shards`` this becomes.
        offload: whether the share lies in the CPU's memory while no pass needs it.

    Attributes:
        call: is called before each pass, so that others can be told to come; None: they know.
        is_broken: a pass has ended in its middle, so that no other can follow.

    Raises:
        ConfigError: the model's layers are not passed one after the other; or torch is too old.
        TrainingError: a process is gone.
    """

    def __init__(self, world: ProcessGroup, policy: Policy, offload: bool = False) -> None:
        fsdp = _fsdp()
        self._world, self._layers = world, layers_of(policy)
        self.call: Callable[[], None] | None = None
        self.is_broken = False
        self._reached = self._layers[_first_trained(policy) :]
        shared = {id(each) for each in shared_weights(policy)}
        device = policy.device.type
        group: Any = dist.new_group(backend="nccl") if device == "cuda" else dist.group.WORLD
        options: dict[str, Any] = {
            "mesh": dist.device_mesh.DeviceMesh.from_group(group, device),
            "reshard_after_forward": True,
            "ignored_params": {each for each in policy.model.parameters() if id(each) not in shared},
        }
        if offload:
            options["offload_policy"] = fsdp.CPUOffloadPolicy()
        for layer in self._layers:  # not the model around them, whose class transformers knows it by
            fsdp.fully_shard(layer, **options)
        fsdp.share_comm_ctx(self._layers)
        # torch makes the tensors that it gathers into here; made in inference mode, as a rollout's first pass
        # would, no gradient could come through them.
        self._gather(FORWARD)
        # By itself it would look for the layer before in passes that nobody goes back through, too.
        for layer, before, after in _with_neighbours(self._layers):
            layer.set_modules_to_forward_prefetch([after])
            layer.set_modules_to_backward_prefetch([layer if layer is self._reached[0] else before])
        self._try_out(policy)
        inner = policy.base.base_model
        inner.forward = self._agreed(inner.forward)
        policy.shards = self

    @contextlib.contextmanager
    def passing(self, way: int) -> Iterator[None]:
        """Inside the block this process goes through the layers once; others gather along.

        Raises:
            TrainingError: a process is gone, or a pass was broken off.
        """
        if self.call is not None:
            self.call()
        while self._agree(way)[BACKWARD] and way == FORWARD:
            self._gather(BACKWARD)  # they come first, who go on only afterwards
        with self._in_pass():
            yield

    def finish(self) -> None:
        """Gather along until no process has anything to do; every process calls this.

        Raises:
            TrainingError: a process is gone, or a pass was broken off.
        """
        while any(going := self._agree(None)):
            self._gather(BACKWARD if going[BACKWARD] else FORWARD)
        for layer in self._layers:  # each notes every pass, also those that nobody goes back through
            layer.reset_iter_state()

    # ------------------------------------------------------------------ private

    def _agreed(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(forward)
        def agreed(*inputs: Any, **options: Any) -> Any:
            with self.passing(FORWARD):
                return forward(*inputs, **options)

        return agreed

    def _agree(self, way: int | None) -> list[int]:
        """Return how many processes go each way."""
        if self.is_broken:
            raise TrainingError(
                "a pass through shared weights was broken off; resume from the last checkpoint"
            )
        return self._world.sums([way == FORWARD, way == BACKWARD])

    def _gather(self, way: int) -> None:
        """Do for the others what they need of this process in a pass."""
        layers: Iterable[Any] = self._layers if way == FORWARD else reversed(self._reached)
        with self._in_pass():
            for layer in layers:
                layer.unshard()
                layer.reshard()

    @contextlib.contextmanager
    def _in_pass(self) -> Iterator[None]:
        self.is_broken = True
        try:
            yield
        except Exception as error:
            if is_out_of_memory(error):  # not in these words: it cannot be done again in halves
                raise TrainingError(
                    "the memory of this process is full in a pass through shared weights, which all are in; "
                    "resume from the last checkpoint with a smaller --micro-batch-size, or more processes"
                ) from error
            if isinstance(error, dist.DistError) or "gloo" in str(error):
                raise self._world.lost() from error
            raise
        self.is_broken = False

    @torch.no_grad()
    def _try_out(self, policy: Policy) -> None:
        """Check the order of the layers."""
        seen: list[int] = []
        hooks = [
            layer.register_forward_pre_hook(lambda *_, number=number: seen.append(number))
            for number, layer in enumerate(self._layers)
        ]
        with self._in_pass(), trial(policy):
            for _ in range(2):  # the first may be the policy's own first, which tries things out
                seen.clear()
                policy.padded_logprobs(random_episodes(policy))
        for hook in hooks:
            hook.remove()
        if seen != list(range(len(self._layers))):
            raise ConfigError(
                f"shard needs layers that are passed once each, in their order; {type(policy.base).__name__} "
                f"passes {len(self._layers)} as {seen}; leave shard out"
            )


def layers_of(policy: Policy) -> list[Any]:
    """Return the layers of a policy's language part, in their order.

    Raises:
        ConfigError: the architecture has none that are known as such.
    """
    decoder = policy.base.get_decoder()
    found = [each for each in decoder.modules() if isinstance(each, GradientCheckpointingLayer)]
    if not found:
        raise ConfigError(
            f"shard needs layers of transformers' own kind, {type(policy.base).__name__} has none; leave "
            "shard out"
        )
    return found


def shared_weights(policy: Policy) -> list[torch.nn.Parameter]:
    """Return the parameters that are shared out: those of the layers but for adapters."""
    adapters = {id(each) for name, each in policy.model.named_parameters() if ".lora_" in name}
    weights = [each for layer in layers_of(policy) for each in layer.parameters()]
    return [each for each in weights if id(each) not in adapters]


def place(policy: Policy, device: torch.device) -> None:
    """Put what stays whole on a device; what will be shared out stays where it is, for `Shards` to move.

    So the device holds one whole layer at most, and never the model.
    """
    shared = {id(each) for each in shared_weights(policy)}
    for each in policy.model.parameters():
        if id(each) not in shared:  # a copy of its own: loaded weights are one mapping of a file
            each.data = each.data.to(device, copy=True)
    for module in policy.model.modules():
        for name, buffer in module.named_buffers(recurse=False):
            module._buffers[name] = buffer.to(device)


def _fsdp() -> Any:
    """Return torch's FSDP2, as far as it is what is needed here.

    Raises:
        ConfigError: torch is too old.
    """
    fsdp = importlib.import_module("torch.distributed.fsdp")
    if not hasattr(fsdp, "share_comm_ctx") or not hasattr(fsdp.FSDPModule, "reset_iter_state"):
        raise ConfigError(
            f"shard needs the FSDP2 of torch 2.13, this is {torch.__version__}; pip install -U torch, or "
            "leave shard out"
        )
    return fsdp


def _with_neighbours(layers: list[Any]) -> list[tuple[Any, Any, Any]]:
    """Return each layer with the one before it and the one after; the ends are their own neighbours."""
    return list(zip(layers, [layers[0], *layers], [*layers[1:], layers[-1]], strict=False))


def _first_trained(policy: Policy) -> int:
    """Return the first layer that a gradient reaches.

    Raises:
        ConfigError: that differs from pass to pass.
    """
    layers = layers_of(policy)
    has = [any(each.requires_grad for each in layer.parameters()) for layer in layers]
    inside = {id(each) for layer in layers for each in layer.parameters()}
    outside = any(id(each) not in inside for each in policy.trainable_parameters())
    if not any(has) or (outside and not has[0]):
        raise ConfigError(
            "shard needs an adapter in the language part, and in its first layer where others are outside; "
            "set lora.targets, or leave shard out"
        )
    return has.index(True)
