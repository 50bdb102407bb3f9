"""The page in a real Chromium, served by the real command, without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from monitor_server import Server, Visit
from written_runs import HURT, KEEP, PICTURE, metrics, wait_until_listed, write_run

from pixelis.monitor.panels.catalogue import TABS
from pixelis.wrappers.recording.values import digest

TAB_NAMES = ("Runs", "Curves", "Reward", "Tools", "Groups", "Health", "Levels", "Episodes")


def status_of(address: str, path: str, **headers: str) -> int:
    try:
        with urlopen(Request(address + path, headers=headers), timeout=30) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_tab_renders_and_nothing_of_a_run_acts(
    visit: Visit, address: str, folder: Path, width: int, scheme: str
):
    hostile = HURT.replace("/", "")

    async def work(page: Any) -> None:
        for tab in TAB_NAMES:
            await page.goto(f"{address}/?{urlencode({'tab': tab, 'runs': f'good{chr(10)}{hostile}'})}")
            shown = {"Runs": ".run-table", "Episodes": ".episode"}.get(tab, ".card canvas")
            await page.locator(shown).first.wait_for(timeout=30_000)
            for canvas in await page.locator(".card canvas").all():
                await canvas.hover(force=True)  # the tooltip names runs and metrics
            wider = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wider <= 0, tab

    visit(address, work, width, scheme)


@pytest.mark.slow
def test_every_panel_is_drawn(visit: Visit, address: str, folder: Path):
    every = folder / "every_metric"
    write_run(every, 1)
    patterns = [name for charts in TABS.values() for chart in charts for name in chart.metrics]
    names = [name.replace("**", "some/loss").replace("*", "some") for name in patterns]
    rows = [{"step": step} | {name: step / 10 for name in names} for step in (1, 2)]
    (every / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    async def work(page: Any) -> None:
        for tab, charts in TABS.items():
            await page.goto(f"{address}/?{urlencode({'tab': tab, 'runs': 'every_metric'})}")
            await page.locator(".card canvas").first.wait_for()
            for chart in charts:
                card = page.locator(".card", has=page.get_by_text(chart.title, exact=True))
                drawn = "one => getElement(+one.id.slice(1)).chart.getOption().series.flatMap(s => s.data)"
                points = await card.locator(".nicegui-echart").evaluate(drawn)
                assert [2, 0.2] in points or [2, 0.15] in points, chart.title  # as it is, or the mean

    wait_until_listed(address, "every_metric")
    try:
        visit(address, work, tab="Runs")
    finally:
        shutil.rmtree(every)


@pytest.mark.slow
def test_runs_say_how_they_stand_and_what_is_wrong(visit: Visit, address: str):
    async def work(page: Any) -> str:
        await page.get_by_text("config.yaml is missing, damaged or too large").first.wait_for()
        return await page.locator(".run-table").inner_text()

    text = visit(address, work, tab="Runs")
    assert "good" in text and "20 / 100" in text and HURT.replace("/", "") in text
    assert "secret" not in text and "linked" not in text
    assert "is a link, which is not followed" in text


@pytest.mark.slow
def test_what_is_missing_is_told_and_the_rest_is_shown(visit: Visit, address: str):
    async def work(page: Any) -> None:
        row = page.locator(".run-table tr", has_text="odd")
        assert "\u202e" not in await row.inner_text()
        texts = {
            "step-00000001": "the picture of the first look is not in trajectories/images any more",
            "step-00000002": "0 of 0 episodes",
            "step-00000003": "it is of an older version",
        }
        for played, text in texts.items():
            asked = urlencode({"tab": "Episodes", "runs": "odd", "played": played})
            await page.goto(f"{address}/?{asked}")
            await page.get_by_text(text).first.wait_for(timeout=30_000)
            assert await page.locator(".episode img").count() == 0
        await page.goto(f"{address}/?{urlencode({'tab': 'Curves', 'runs': 'odd'})}")
        await page.locator(".card canvas").first.wait_for()
        await page.get_by_role("button", name="export").wait_for()

    visit(address, work, tab="Runs")


@pytest.mark.slow
def test_what_a_training_writes_appears_by_itself(visit: Visit, address: str, folder: Path):
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
        await page.get_by_text("entropy rises (step 5, still on)").wait_for(timeout=30_000)
        shutil.rmtree(live)
        await page.get_by_text("growing: its folder is gone; what was read").wait_for(timeout=30_000)
        await page.get_by_role("tab", name="Episodes").click()
        await page.get_by_text("the folder of this run is gone").wait_for(timeout=30_000)
        await page.get_by_role("tab", name="Runs").click()
        row = page.locator(".run-table tr", has_text="growing")
        await row.get_by_text("its folder is gone").wait_for(timeout=30_000)

    wait_until_listed(address, "growing")
    visit(address, work, tab="Curves", runs="growing")


@pytest.mark.slow
def test_a_refresh_replaces_nothing_and_reads_what_is_new(
    visit: Visit, server: Server, folder: Path, tmp_path: Path
):
    steady = folder / "steady"
    write_run(steady, 4_000)
    size = (steady / "metrics.jsonl").stat().st_size
    read = Path(f"/proc/{server.process}/io")

    def read_by_now() -> int:
        return int(read.read_text().split("rchar: ")[1].split()[0])

    async def work(page: Any) -> None:
        told = page.get_by_role("status")
        await told.filter(has_text="steady: step 4000").wait_for(timeout=60_000)
        await page.locator(".card canvas").first.wait_for()
        await page.evaluate(KEEP, ".card, .card canvas, [role=tab], .panel *")
        first = await page.locator(".card canvas").first.evaluate("one => one.toDataURL()")
        before = read_by_now()
        for step in range(4_001, 4_004):
            with (steady / "metrics.jsonl").open("a") as file:
                alarm = {"policy/entropy_alarm": step % 2, "success/rate": 0.0}
                file.write(json.dumps(metrics(step) | alarm) + "\n")
            await told.filter(has_text=f"steady: step {step}").wait_for(timeout=30_000)
        assert read_by_now() - before < size / 4, "what was read before is read again"
        await page.get_by_role("alert").wait_for()
        assert await page.evaluate("window.gone") == 0
        assert await page.locator(".card canvas").first.evaluate("one => one.toDataURL()") != first
        await page.get_by_role("tab", name="Episodes").click()
        await page.locator(".episode").first.wait_for()
        await page.evaluate(KEEP, ".episode, .episode *, .list tr")
        shutil.copy(steady / "trajectories" / "step-00000001.jsonl", tmp_path / "next")
        (tmp_path / "next").rename(steady / "trajectories" / "step-00000007.jsonl")
        with (steady / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(metrics(4_004)) + "\n")
        await told.filter(has_text="steady: step 4004").wait_for(timeout=30_000)
        assert await page.evaluate("window.gone") == 0
        await page.get_by_label("played").click()
        await page.get_by_role("option", name="step-00000007").wait_for()

    wait_until_listed(server.address, "steady")
    try:
        visit(server.address, work, tab="Curves", runs="steady")
    finally:
        shutil.rmtree(steady)


@pytest.mark.slow
def test_alarms_are_told_and_marked_where_they_went_on(visit: Visit, address: str):
    async def work(page: Any) -> list[Any]:
        told = page.get_by_role("alert")
        await told.filter(has_text="success fell (step 35, still on): success fell from").wait_for()
        chart = page.locator(".card", has_text="success/rate").locator(".nicegui-echart")
        lines = "one => getElement(+one.id.slice(1)).chart.getOption().series.map(s => s.markLine?.data)"
        found = [mark for marks in await chart.evaluate(lines) for mark in marks or []]
        await page.get_by_role("tab", name="Runs").click()
        await page.locator(".run-table tr", has_text="alarms: success fell").wait_for()
        return [(mark["xAxis"], mark["label"]["formatter"]) for mark in found]

    assert visit(address, work, tab="Curves", runs="collapsing") == [(35, "⚠ success fell")]


@pytest.mark.slow
def test_the_keyboard_is_enough(visit: Visit, address: str):
    async def work(page: Any) -> None:
        body = page.locator("body")
        for key, name in (("2", "Curves"), ("8", "Episodes")):
            await body.press(key)
            await page.locator(f"[role=tab][aria-selected=true]:has-text('{name}')").wait_for()
        for key, line in (("j", 2), ("j", 3), ("k", 2)):
            await body.press(key)
            await page.get_by_text(f"step-00000001 · line {line}", exact=False).wait_for()
        reached = []
        for _ in range(40):
            await page.keyboard.press("Tab")
            told = "[document.activeElement.innerText || document.activeElement.ariaLabel || '',"
            told += " getComputedStyle(document.activeElement).outlineStyle]"
            reached.append(await page.evaluate(told))
        words = " ".join(text for text, _ in reached)
        assert all(name in words for name in ("refresh", "light / dark", "export", "its group side by side"))
        assert "solid" in {style for _, style in reached}  # where one is can be seen
        await page.goto(f"{address}/?{urlencode({'tab': 'Curves', 'runs': 'good'})}")
        chart = page.locator(".nicegui-echart").first
        await chart.locator("canvas").wait_for()
        zoom = "one => getElement(+one.id.slice(1)).chart.getOption().dataZoom.map(z => [z.start, z.end])[0]"
        for key, seen in (("+", [25, 75]), ("+", [37.5, 62.5]), (".", [50, 75]), ("-", [37.5, 87.5])):
            await body.press(key)
            await page.wait_for_timeout(500)
            assert await chart.evaluate(zoom) == seen, key
        await body.press("0")
        await page.wait_for_timeout(500)
        assert await chart.evaluate(zoom) == [0, 100]
        await page.get_by_role("tab", name="Episodes").click()
        await page.locator(".episode").first.wait_for()
        await page.get_by_role("tab", name="Episodes").focus()
        await page.keyboard.press("ArrowLeft")
        await page.keyboard.press("Enter")
        await page.locator("[role=tab][aria-selected=true]:has-text('Levels')").wait_for()

    visit(address, work, tab="Runs", runs="good")


@pytest.mark.slow
def test_nothing_outside_the_folder_is_given_out(address: str, folder: Path):
    name = f"{digest(PICTURE)}.png"
    given = [number for number in range(12) if status_of(address, f"/picture/{number}/{name}") == 200]
    with_pictures = [each for each in os.listdir(folder) if each in ("good", "words") or each.startswith("<")]
    assert len(given) == len(with_pictures) == 3  # not the run whose images lie behind a link
    for path in (
        "/picture/0/../../../config.yaml",
        "/picture/0/..%2f..%2fconfig.yaml",
        "/picture/0/%2e%2e%2f%2e%2e%2fconfig.yaml",
        "/picture/-1/" + name,
        "/picture/99/" + name,
        "/line/0/..%2f..%2fmetrics/1",
        "/line/0/%2e%2e%2fmetrics/1",
        "/line/0/%252e%252e%252fmetrics/1",
        "/line/0/step-00000001%00/1",
        "/picture/0/%2e%2e%5c%2e%2e%5cconfig.yaml",
        "/picture/0/" + name.replace(".", "%00."),
        "/_nicegui/../../etc/passwd",
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
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "cannot listen at" in done.stderr and "Traceback" not in done.stderr
