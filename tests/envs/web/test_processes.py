"""Browsers and processes: vectors, forks and copies share no page, and nothing is left behind."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import time
from multiprocessing import get_all_start_methods
from pathlib import Path

import gymnasium as gym
import pytest

from pixelis.envs.check.playing import play
from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.sites.server import shared_server

CLICK, WAIT = write(("CLICK", {"id": "e1@v1"})), write(("WAIT", {}))
MANY_THREADS = "ignore:.*multi-threaded:DeprecationWarning"  # that forking works is what is tested


def offspring(pid: int) -> dict[int, str]:
    """Return the living processes below one, and what they run (Linux)."""
    found: dict[int, str] = {}
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            name = Path(f"/proc/{child}/stat").read_text()
            if name.rpartition(")")[2].split()[0] != "Z":
                found |= {child: name[name.index("(") + 1 : name.rindex(")")], **offspring(child)}
    return found


def are_gone(pids, seconds=60) -> bool:
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not left


@pytest.fixture
def env():
    env = WebBrowseEnv(backend="chromium")
    yield env
    env.close()


@pytest.mark.slow
@pytest.mark.filterwarnings(MANY_THREADS)
@pytest.mark.parametrize("context", [one for one in ("fork", "spawn") if one in get_all_start_methods()])
def test_each_process_of_a_vector_has_a_browser_that_ends_with_it(env, context):
    first = env.reset(seed=3)[0]["text"]
    before = offspring(os.getpid())
    vector = gym.make_vec(
        "pixelis:Pixelis/WebBrowse-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": context},
        backend="chromium",
    )
    texts = vector.reset(seed=[3, 3])[0]["text"]
    assert texts == (first, first)
    new = {pid: name for pid, name in offspring(os.getpid()).items() if pid not in before}
    workers = [process.pid for process in vector.processes]
    browsers = [
        {pid for pid, name in offspring(worker).items() if name.startswith(("chrom", "headless"))}
        for worker in workers
    ]
    assert all(browsers) and not browsers[0] & browsers[1], new
    texts = vector.step((CLICK, WAIT))[0]["text"]
    assert texts[0] == env.step(CLICK)[0]["text"] != texts[1]
    vector.close()
    assert are_gone([pid for one in browsers for pid in one] + workers)
    assert env.step(WAIT)[4].get("failure_reason") is None


def in_the_child(env, other, first, socket, say) -> None:
    other.close()
    _, _, terminated, _, info = env.step(CLICK)
    again = env.reset(seed=3)[0]["text"] == first
    goes_on = not env.step(CLICK)[2]
    files = [file for file in Path("/proc/self/fd").iterdir() if os.path.lexists(file)]
    shares = f"socket:[{socket}]" in [os.readlink(file) for file in files if os.path.lexists(file)]
    say.send((terminated, info["valid_for_training"], again, goes_on, shares, shared_server().origin))
    env.close()


@pytest.mark.slow
@pytest.mark.filterwarnings(MANY_THREADS)
@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="no fork")
def test_a_forked_process_leaves_its_parents_pages_alone(env):
    first = env.reset(seed=3)[0]["text"]
    other = WebBrowseEnv(backend="chromium")
    other.reset(seed=4)
    socket = os.fstat(shared_server()._httpd.fileno()).st_ino
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=in_the_child, args=(env, other, first, socket, there)
    )
    child.start()
    there.close()
    assert env.step(WAIT)[2] is False
    assert here.poll(120)
    *said, origin = here.recv()
    assert said == [True, False, True, True, False], "its page is gone, the next episode is its own"
    child.join(60)
    assert child.exitcode == 0
    assert origin != shared_server().origin
    for one in (env, other):
        assert one.step(CLICK)[4].get("failure_reason") is None
    other.close()


@pytest.mark.slow
@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_has_no_page_until_it_begins_an_episode(env, copy_of):
    env.reset(seed=0)
    twin = copy_of(env)
    _, _, terminated, _, info = twin.step(WAIT)
    assert terminated and info["valid_for_training"] is False and "gone" in info["failure_reason"]
    assert play(twin, twin.players()["oracle"](twin), 0)[-1][4]["success"]
    twin.close()
    assert env.step(WAIT)[4].get("failure_reason") is None
