"""The page in a real Chromium, served by the real command, without a network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
import pytest

pytest.importorskip("nicegui")
pytest.importorskip("playwright")

from pixelis.envs.web.chromium.browser import Browser
from pixelis.errors import BrowserUnavailableError
from pixelis.wrappers.recording.images import ImageFolder
from pixelis.wrappers.recording.values import digest

HURT = "<img src=x onerror='window.hurt = 1'>"
TABS = ("Runs", "Curves", "Reward", "Tools", "Groups", "Health", "Levels", "Episodes")
PICTURE = np.arange(32 * 32 * 3, dtype=np.uint8).reshape(32, 32, 3)


def _outside() -> dict[str, str]:
    """NiceGUI would take a server that a test starts for one of its own tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def metrics(step: int) -> dict[str, Any]:
    return {
        "step": step,
        "success/rate": step / 40,
        "success/ma10": step / 40,
        "reward/mean": step / 40,
        "reward_parts/task/weighted": 0.5,
        f"reward_parts/{HURT.replace('/', '')}/weighted": -0.25,
        "actions/ZOOM": 0.75,
        f"tools/{HURT}/calls": 3,
        "groups/filter_rate": 0.25,
        "policy/entropy": 1.0,
        "policy/entropy_alarm": int(step == 5),
        "levels/difficulty=1/success": 0.5,
        "episodes/count": 8,
        "tokens/sampled": 100,
        "time/elapsed": 2.0 * step,
    }


def write_run(folder: Path, steps: int, env: str = "Pixelis/ZoomRead-v0") -> None:
    (folder / "trajectories").mkdir(parents=True)
    (folder / "config.yaml").write_text(json.dumps({"env": env, "model": HURT, "steps": 100}))
    lines = [json.dumps(metrics(step)) + "\n" for step in range(1, steps + 1)]
    (folder / "metrics.jsonl").write_text("".join(lines))
    ImageFolder(folder / "trajectories" / "images").save(digest(PICTURE), PICTURE)
    rows = []
    for member in range(4):
        call = {"tool": "ZOOM", "ok": True, "text": HURT, "data": {"view": [0.1, 0.1, 0.5, 0.5]}}
        bad = {"tool": "READ_TEXT", "ok": False, "error_code": "no_text", "text": "nothing"}
        rows.append(
            {"seed": 7, "group": 0, "member": member, "success": member % 2 == 0, "reward": float(member)}
            | {"advantage": member - 1.5, "turns": 1, "asked": "Which?", "text": HURT}
            | {"tool_calls": [bad if member == 3 else call], "task": {"family": "street", "difficulty": 1}}
            | {"exchanges": [{"action": f"{HURT} member {member}", "heard": "\u202eseen", "calls": 1}]}
            | {"pictures": [{"$image": {"sha256": digest(PICTURE)}}, None]}
        )
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "trajectories" / "step-00000001.jsonl").write_text(text + '{"half')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("monitor")
    write_run(place / "runs" / "good", 20)
    write_run(place / "runs" / f"{HURT.replace('/', '')}", 5)
    (place / "runs" / "empty").mkdir()
    (place / "runs" / "empty" / "config.yaml").write_text("{damaged: [")
    (place / "secret").mkdir()
    (place / "secret" / "metrics.jsonl").write_text('{"step": 1, "secret/word": 1}\n')
    shutil.copytree(place / "runs" / "good" / "trajectories" / "images", place / "secret" / "images")
    (place / "runs" / "linked").symlink_to("../secret")
    (place / "runs" / "inner").mkdir()
    (place / "runs" / "inner" / "config.yaml").write_text("env: inner\n")
    (place / "runs" / "inner" / "metrics.jsonl").symlink_to("../../secret/metrics.jsonl")
    (place / "runs" / "inner" / "trajectories").mkdir()
    (place / "runs" / "inner" / "trajectories" / "images").symlink_to("../../../secret/images")
    return place / "runs"


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [sys.executable, "-m", "pixelis", "monitor", str(folder), "--port", str(port)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_outside()
    )
    base, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 120
    while True:
        try:
            urlopen(base, timeout=30).close()
            break
        except OSError:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.2)
    yield base
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert "Traceback" not in said, said


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = Browser()
    try:
        found.run(found.pid(), 120)
    except BrowserUnavailableError as error:
        pytest.skip(str(error))
    yield found
    found.close()


def visit(
    browser: Browser, address: str, work: Any, width: int = 1280, scheme: str = "light", **asked: str
) -> Any:
    """Open the page, do the work on it, and hold it to what must never happen."""
    host = address.removeprefix("http://")

    async def go() -> Any:
        context = await browser.new_context(
            (host,), viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        page = await context.new_page()
        foreign, errors = [], []
        ours = (f"{address}/", "data:", "blob:")
        page.on("request", lambda one: None if one.url.startswith(ours) else foreign.append(one.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        try:
            await page.goto(f"{address}/?{urlencode(asked)}")
            await page.get_by_role("status").filter(has_text="runs").wait_for(timeout=60_000)
            found = await work(page)
            assert not await page.evaluate("window.hurt")
        finally:
            await context.close()
        assert (foreign, errors) == ([], [])
        return found

    return browser.run(go(), 150)


def status_of(address: str, path: str, **headers: str) -> int:
    try:
        with urlopen(Request(address + path, headers=headers), timeout=30) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_tab_renders_and_nothing_of_a_run_acts(
    browser: Browser, address: str, folder: Path, width: int, scheme: str
):
    hostile = HURT.replace("/", "")

    async def work(page: Any) -> None:
        for tab in TABS:
            await page.goto(f"{address}/?{urlencode({'tab': tab, 'runs': f'good{chr(10)}{hostile}'})}")
            shown = {"Runs": ".run-table", "Episodes": ".episode"}.get(tab, ".card canvas")
            await page.locator(shown).first.wait_for(timeout=30_000)
            for canvas in await page.locator(".card canvas").all():
                await canvas.hover(force=True)  # the tooltip names runs and metrics
            wider = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wider <= 0, tab

    visit(browser, address, work, width, scheme)


@pytest.mark.slow
def test_runs_say_how_they_stand_and_what_is_wrong(browser: Browser, address: str):
    async def work(page: Any) -> str:
        await page.get_by_text("config.yaml is missing or damaged").first.wait_for()
        return await page.locator(".run-table").inner_text()

    text = visit(browser, address, work, tab="Runs")
    assert "good" in text and "20 / 100" in text and HURT.replace("/", "") in text
    assert "secret" not in text and "linked" not in text
    assert "is a link, which is not followed" in text


@pytest.mark.slow
def test_what_a_training_writes_appears_by_itself(browser: Browser, address: str, folder: Path):
    live = folder / "growing"
    write_run(live, 3)

    async def work(page: Any) -> None:
        told = page.get_by_role("status")
        await told.filter(has_text="growing: step 3").wait_for(timeout=30_000)
        with (live / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(metrics(4)) + "\n" + json.dumps(metrics(5))[:40])
        await told.filter(has_text="growing: step 4").wait_for(timeout=30_000)
        with (live / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(metrics(5))[40:] + "\n")
        await told.filter(has_text="growing: step 5").wait_for(timeout=30_000)
        await page.get_by_text("policy/entropy_alarm is on").wait_for(timeout=30_000)
        shutil.rmtree(live)
        await page.get_by_role("tab", name="Runs").click()
        await page.get_by_text("its folder is gone").wait_for(timeout=30_000)

    deadline = time.monotonic() + 30
    while "growing" not in urlopen(f"{address}/?tab=Runs", timeout=30).read().decode():
        assert time.monotonic() < deadline
        time.sleep(0.3)
    visit(browser, address, work, tab="Curves", runs="growing")


@pytest.mark.slow
def test_episodes_are_filtered_and_stand_side_by_side(browser: Browser, address: str):
    async def work(page: Any) -> None:
        await page.locator(".episode img").first.wait_for()
        assert (
            await page.locator(".episode img").first.evaluate("image => image.complete && image.naturalWidth")
            == 32
        )
        assert await page.locator(".episode rect").count() == 1
        assert HURT in await page.locator(".episode pre.said").first.inner_text()
        assert "⟨U+202E⟩seen" in await page.locator(".episode pre.heard").nth(1).inner_text()
        assert "half a line" in await page.get_by_text("4 of 4 episodes").inner_text()
        await page.get_by_role("button", name="its group side by side").click()
        await page.wait_for_function("document.querySelectorAll('.episode').length === 4")
        await page.get_by_label("error code").click()
        await page.get_by_role("option", name="no_text").click()
        await page.get_by_text("1 of 4 episodes").wait_for()

    visit(browser, address, work, tab="Episodes", runs="good")


@pytest.mark.slow
def test_nothing_outside_the_folder_is_given_out(address: str, folder: Path):
    name = f"{digest(PICTURE)}.png"
    given = [number for number in range(12) if status_of(address, f"/picture/{number}/{name}") == 200]
    with_pictures = [each for each in os.listdir(folder) if each == "good" or each.startswith("<")]
    assert len(given) == len(with_pictures) == 2  # not the run whose images lie behind a link
    for path in (
        "/picture/0/../../../config.yaml",
        "/picture/0/..%2f..%2fconfig.yaml",
        "/picture/0/%2e%2e%2f%2e%2e%2fconfig.yaml",
        "/picture/-1/" + name,
        "/picture/99/" + name,
        "/line/0/..%2f..%2fmetrics/1",
        "/line/0/%2e%2e%2fmetrics/1",
        "/etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
    ):
        assert status_of(address, path) in (404, 422), path


@pytest.mark.slow
def test_another_host_name_is_refused(address: str):
    assert status_of(address, "/", Host="evil.example") == 400


@pytest.mark.slow
def test_two_monitors_on_a_port_are_told(address: str, folder: Path):
    words = [sys.executable, "-m", "pixelis", "monitor", str(folder), "--port", address.rpartition(":")[2]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=_outside())
    assert done.returncode == 2
    assert "cannot listen at" in done.stderr and "Traceback" not in done.stderr
