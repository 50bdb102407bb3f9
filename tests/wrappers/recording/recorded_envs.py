"""Envs that are awkward to record, registered on import, and short ways to play and to read."""

from __future__ import annotations

import json
import os

import gymnasium as gym
import numpy as np
import toy_env  # noqa: F401  # registers Toy/Echo-v0, Toy/Picture-v0 and Toy/Album-v0

import pixelis  # noqa: F401
from pixelis.wrappers.recording.files import read_trajectories, recording_files
from pixelis.wrappers.recording.record import RecordTrajectory


class WalkEnv(gym.Env):
    """A random walk whose observation is float64 though its space says float32; ends at 2 in size.

    ``pay`` is the reward of every step, ``secret`` adds noise that no seed decides, and the action array is
    zeroed by ``step``, as some envs do. ``options={"at": [x]}`` sets the start and is emptied.
    """

    observation_space = gym.spaces.Box(-10, 10, (1,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, pay: float = 0.5, secret: bool = False) -> None:
        self.pay, self.secret = pay, secret

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        at = options.pop("at") if options else [0.1]
        self.at = np.array(at, np.float64) + self.np_random.uniform(-0.5, 0.5, 1)
        return self.at.copy(), {"reward_start": np.float32(0.25)}

    def step(self, action):
        noise = int.from_bytes(os.urandom(2), "little") / 2**16 if self.secret else 0.0
        self.at += float(action[0]) + self.np_random.uniform(-0.5, 0.5, 1) + noise
        action[:] = 0
        return self.at.copy(), self.pay, bool(abs(self.at[0]) > 2), False, {"time": os.times().elapsed}


class MapEnv(gym.Env):
    """One step; the observation is an array of 2,000 numbers, too large to be written."""

    observation_space = gym.spaces.Dict({"map": gym.spaces.Box(0, 1, (2000,), np.float64)})
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"map": self.np_random.random(2000)}, {}

    def step(self, action):
        return {"map": self.np_random.random(2000)}, float(action), True, False, {}


for _name, _entry in {"Recorded/Walk-v0": WalkEnv, "Recorded/Map-v0": MapEnv}.items():
    if _name not in gym.registry:
        _entry_point = f"recorded_envs:{_entry.__name__}"
        gym.register(_name, _entry_point, max_episode_steps=12, disable_env_checker=True)


def play(env, starts, steps=50):
    """Play an episode for each (seed, options), random actions that are the same each time; close."""
    env.action_space.seed(7)
    seen = []
    for seed, options in starts:
        observation, _ = env.reset(seed=seed, options=options)
        seen.append(observation)
        for _ in range(steps):
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            seen.append((observation, reward))
            if terminated or truncated:
                break
    env.close()
    return seen


def record(folder, env_id="Toy/Echo-v0", starts=((3, None),), steps=50, settings=None, **keywords):
    """Record episodes and return them."""
    play(RecordTrajectory(gym.make(env_id, **keywords), folder, **(settings or {})), starts, steps)
    return list(read_trajectories(folder))


def edit(folder, change, line=0):
    """Change a recorded line: ``change`` gets the object of JSON and mutates it."""
    (path,) = recording_files(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    row = json.loads(lines[line])
    change(row)
    lines[line] = json.dumps(row).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    return list(read_trajectories(folder))
