"""The contract's clauses about environments beside one another: pickles, threads, processes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym

from pixelis.envs.check.contract import Finding, MakeEnv, Subject
from pixelis.envs.check.playing import leader, mixed_actions, play, play_turns, same


def pickles(subject: Subject) -> Finding:
    """Spaces, observations and info go through pickle unchanged; so does what makes the environment.

    The environment itself need not: it may hold a browser or a process. Vector environments and workers send
    what makes it, which is left out of the check together with spawned processes.
    """
    env = subject.tool_env()
    spaces = (env.observation_space, env.action_space)
    name = leader(env)
    turns = play(env, env.players()[name](env), subject.seeds[0])
    wrong = [] if pickle.loads(pickle.dumps(spaces)) == spaces else ["spaces are others"]
    wrong += [] if same(turns, pickle.loads(pickle.dumps(turns))) else ["observations or info are others"]
    if subject.processes:
        again = pickle.loads(pickle.dumps(subject.make))().unwrapped
        if not same(play(again, again.players()[name](again), subject.seeds[0]), turns):
            wrong.append("what the maker makes plays another episode")
    maker = "maker" if subject.processes else "maker left out"
    measured = "; ".join(wrong) or f"2 spaces, {len(turns)} turns, {maker}"
    remedy = "no lambdas, locks or open files in spaces and info; a maker that can be imported by its name"
    return Finding("pickles", not wrong, measured, remedy)


def threads_equal_sync(subject: Subject) -> Finding:
    """Environments stepped from several threads give what they give one after the other."""
    seeds = list(subject.seeds)[:4]
    envs = [subject.tool_env() for _ in seeds]
    scripts = [mixed_actions(env, seed) for env, seed in zip(envs, seeds, strict=True)]
    alone = [play_turns(*arguments) for arguments in zip(envs, scripts, seeds, strict=True)]
    with ThreadPoolExecutor(len(envs)) as pool:
        together = list(pool.map(play_turns, envs, scripts, seeds))
    measured = f"{len(seeds)} threads, {sum(map(len, alone))} observations"
    return Finding(
        "threads_equal_sync", same(alone, together), measured, "keep no state outside the workspace"
    )


def processes_equal_sync(subject: Subject) -> Finding:
    """Spawned processes (``AsyncVectorEnv``, its defaults) give what ``SyncVectorEnv`` gives."""
    if not subject.processes:
        return Finding("processes_equal_sync", True, "left out")
    seeds = list(subject.seeds)[:2]
    env = subject.tool_env()
    scripts = [mixed_actions(env, seed)[: env.max_turns - 1] for seed in seeds]
    alone = _play_vector(gym.vector.SyncVectorEnv([subject.make] * len(seeds)), scripts, seeds)
    makers: list[MakeEnv] = [subject.make] * len(seeds)
    apart = _play_vector(gym.vector.AsyncVectorEnv(makers, context="spawn"), scripts, seeds)
    measured = f"{len(seeds)} environments, {len(alone)} observations"
    remedy = "no hash(), set order, clock or process state in tasks and tools"
    return Finding("processes_equal_sync", same(alone, apart), measured, remedy)


def _play_vector(
    envs: gym.vector.VectorEnv[Any, Any, Any], scripts: Sequence[Sequence[str]], seeds: Any
) -> list[Any]:
    try:
        said: list[Any] = [envs.reset(seed=seeds)]
        said += [envs.step(turns) for turns in zip(*scripts, strict=False)]
        return said
    finally:
        envs.close()
