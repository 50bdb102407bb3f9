"""The browser's life: shared by a process, started again when dead, gone with it; and its network."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from pages_server import PagesServer

from pixelis.envs.web.chromium import backend as chromium_backend
from pixelis.envs.web.chromium.backend import ChromiumBackend
from pixelis.envs.web.chromium.browser import close_shared_browser, shared_browser
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.page.backend import BackendFailure, Click, PageActionError, Wait
from pixelis.envs.web.sites.site import Response, SiteSession

OPENS_A_PAGE = """
from pixelis.envs.web.chromium.browser import shared_browser
from pixelis.envs.web.chromium.backend import ChromiumBackend
backend = ChromiumBackend()
backend.open("about:blank")
browser = shared_browser()
print(browser.run(browser.pid(), 60), flush=True)
input()
"""


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def has_ended(pid, seconds=60):
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["kill", "exit"])
def test_the_browser_ends_with_its_process(end):
    child = subprocess.Popen([sys.executable, "-c", OPENS_A_PAGE], stdin=-1, stdout=-1, text=True)
    assert child.stdout is not None and child.stdin is not None
    with child.stdout, child.stdin:
        pid = int(child.stdout.readline())
        assert is_alive(pid)
        if end == "kill":
            child.send_signal(signal.SIGKILL)
        else:
            child.stdin.write("\n")
            child.stdin.flush()
        child.wait(120)
    assert has_ended(pid)


@pytest.mark.slow
def test_one_browser_serves_all_backends_and_closes():
    first, second = ChromiumBackend(), ChromiumBackend()
    first.open("about:blank")
    pid = shared_browser().run(shared_browser().pid(), 60)
    second.open("about:blank")
    assert shared_browser().run(shared_browser().pid(), 60) == pid
    first.close()
    second.close()
    close_shared_browser()
    assert has_ended(pid)
    close_shared_browser()


@pytest.mark.slow
def test_a_killed_browser_is_a_failure_once():
    backend = ChromiumBackend()
    backend.open("about:blank")
    pid = shared_browser().run(shared_browser().pid(), 60)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(BackendFailure):
        backend.act(Wait())
    assert backend.open("about:blank").lines == ()
    backend.close()


@pytest.mark.slow
def test_only_named_hosts_are_reached():
    server, other = PagesServer({"/": "<h1>Here</h1>"}), PagesServer({"/": "<h1>There</h1>"})
    backend = ChromiumBackend(PageSettings((f"127.0.0.1:{server.port}",)))
    assert backend.open(server.url).lines[0].pieces == ("Here",)
    for address in (
        other.url,
        f"http://localhost:{other.port}/",
        f"http://[::1]:{other.port}/",
        "http://example.org/",
    ):
        with pytest.raises(PageActionError, match="leads away"):
            backend.open(address)
    script = "fetch(given).then(() => 'reached', () => 'refused')"
    backend.open(server.url)
    assert backend.evaluate(script, other.url) == "refused"
    socket = "new Promise(done => { new WebSocket(given).onerror = () => done('refused'); })"
    assert backend.evaluate(socket, other.url.replace("http", "ws")) == "refused"
    assert other.asked == []
    backend.close()
    server.close()
    other.close()


def counting_site():
    def handle(state, request):
        state["visits"] = state.get("visits", 0) + 1
        return Response.page(f"<title>Count</title><p>visit {state['visits']}</p><a href='/again'>Again</a>")

    return SiteSession(handle, {})


@pytest.mark.slow
def test_sessions_do_not_see_each_other_and_pages_are_reused():
    backend = ChromiumBackend()
    one = counting_site()
    page = backend.open(one)
    for _ in range(3):
        page = backend.act(Click(next(page.controls()).key))
    assert (one.state["visits"], page.generation, page.url) == (4, 4, "/again")
    two = counting_site()
    assert backend.open(two).lines[0].pieces == ("visit 1",)
    assert (one.state["visits"], two.state["visits"]) == (4, 1)
    other = ChromiumBackend()
    assert other.open(counting_site()).lines[0].pieces == ("visit 1",)
    assert backend.act(Wait()).lines[0].pieces == ("visit 1",)
    backend.close()
    other.close()


@pytest.mark.slow
def test_what_was_interrupted_does_not_go_on(monkeypatch):
    done = []

    async def work():
        await asyncio.sleep(0.5)
        done.append(True)

    def interrupt(*_):
        raise KeyboardInterrupt

    browser = shared_browser()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(concurrent.futures.Future, "result", interrupt)
        browser.run(work(), 60)
    browser.run(asyncio.sleep(1), 60)
    assert not done


@pytest.mark.slow
def test_what_playwright_keeps_of_a_page_goes_with_it(monkeypatch):
    def kept():
        gc.collect()
        kinds = (type(one) for one in gc.get_objects())
        return sum(kind.__name__ == "Request" and kind.__module__.startswith("playwright") for kind in kinds)

    monkeypatch.setattr(chromium_backend, "EPISODES_A_PAGE", 5)
    backend, before = ChromiumBackend(), kept()
    counts = []
    for _ in range(16):
        assert backend.open(counting_site()).lines[0].pieces == ("visit 1",)
        counts.append(kept() - before)
    assert counts[0] == counts[5] == counts[10] == counts[15] < counts[4], counts
    backend.close()
    assert kept() <= before


@pytest.mark.slow
def test_episodes_leave_no_threads_and_no_pages():
    backend = ChromiumBackend()
    backend.open(counting_site())
    threads = threading.active_count()
    for _ in range(20):
        backend.open(counting_site())
    assert threading.active_count() <= threads + 6  # a browser keeps up to six connections to a host
    backend.close()
