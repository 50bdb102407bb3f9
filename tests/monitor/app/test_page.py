"""The page in a real Chromium, served by the real command, without a network."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
import pytest
from monitor_server import Served, Server, Visit
from PIL import Image

from pixelis.wrappers.recording.images import ImageFolder
from pixelis.wrappers.recording.values import digest

HURT = "<img src=x onerror='window.hurt = 1'>"
TABS = ("Runs", "Curves", "Reward", "Tools", "Groups", "Health", "Levels", "Episodes")
WORDS = (
    "<script>window.hurt = 1</script>",
    "<a href='javascript:window.hurt=1'>press</a> [press](javascript:window.hurt=1)",
    "\x1b[31mred\x1b[0m\x07 \u202egnp.exe\u202c \u200b",
    "=HYPERLINK(1)",
    "long " * 200_000,
)
# Counts the elements of a page that are taken out of it.
KEEP = """(chosen) => {
  window.gone = 0;
  const kept = new Set(document.querySelectorAll(chosen));
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.removedNodes) window.gone += kept.has(node);
  }).observe(document.body, {childList: true, subtree: true});
}"""
PICTURE = np.arange(32 * 32 * 3, dtype=np.uint8).reshape(32, 32, 3)


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


def write_odd_run(place: Path) -> None:
    """Write one whose settings stand for gigabytes; with NaN, no episodes, an old episode, a lost picture."""
    write_run(place, 1)
    lists = "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 10)}]\n" for i in range(1, 12))
    (place / "config.yaml").write_text(f"x0: &x0 [a]\n{lists}env: *x11\nmodel: [*x11]\nsteps: *x11\n")
    (place / "metrics.jsonl").write_text(
        '{"step": "\\u202e9", "success/rate": 0.5}\n{"step": 2, "success/rate": NaN}\n'
    )
    shutil.rmtree(place / "trajectories" / "images")
    (place / "trajectories" / "step-00000002.jsonl").write_text("")
    old = {"seed": 1, "member": 0, "text": "<|user|>old", "reward": 1.0, "results": [{"tool": "ZOOM"}]}
    (place / "trajectories" / "step-00000003.jsonl").write_text(json.dumps(old) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("monitor")
    write_run(place / "runs" / "good", 20)
    write_run(place / "runs" / f"{HURT.replace('/', '')}", 5)
    write_run(place / "runs" / "words", 1)
    rows = [
        {"seed": 1, "group": 0, "member": n, "text": word, "reward": 0, "tool_calls": []}
        | {"asked": word, "exchanges": [{"action": word, "heard": word, "calls": 0}]}
        for n, word in enumerate(WORDS)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (place / "runs" / "words" / "trajectories" / "step-00000001.jsonl").write_text(text)
    (place / "runs" / "collapsing").mkdir()
    (place / "runs" / "collapsing" / "config.yaml").write_text("env: some\n")
    rows = [{"step": n, "success/rate": (0.2, 0.9, 0.3)[n // 16]} for n in range(1, 40)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (place / "runs" / "collapsing" / "metrics.jsonl").write_text(text)
    (place / "runs" / "empty").mkdir()
    (place / "runs" / "empty" / "config.yaml").write_text("{damaged: [")
    write_odd_run(place / "runs" / "odd")
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
def server(served: Served, folder: Path) -> Server:
    return served(folder)


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    return server.address


def wait_until_listed(address: str, run: str) -> None:
    deadline = time.monotonic() + 30
    while run not in urlopen(f"{address}/?tab=Runs", timeout=30).read().decode():
        assert time.monotonic() < deadline
        time.sleep(0.3)


def status_of(address: str, path: str, **headers: str) -> int:
    try:
        with urlopen(Request(address + path, headers=headers), timeout=30) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_tab_renders_and_nothing_of_a_run_acts(
    visit: Visit, address: str, folder: Path, width: int, scheme: str
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

    visit(address, work, width, scheme)


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
        await page.get_by_role("tab", name="Runs").click()
        await page.get_by_text("its folder is gone").wait_for(timeout=30_000)

    wait_until_listed(address, "growing")
    visit(address, work, tab="Curves", runs="growing")


@pytest.mark.slow
def test_episodes_are_filtered_and_stand_side_by_side(visit: Visit, address: str):
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

    visit(address, work, tab="Episodes", runs="good")


@pytest.mark.slow
def test_episodes_of_every_step_are_asked_by_steps(visit: Visit, address: str, folder: Path):
    """Failures with an error code between two steps; j goes on through files."""
    many = folder / "many_steps"
    write_run(many, 3)
    first = many / "trajectories" / "step-00000001.jsonl"
    for step in (2, 30, 40):
        shutil.copy(first, first.with_name(f"step-{step:08d}.jsonl"))

    async def work(page: Any) -> None:
        await page.get_by_text("16 of 16 episodes").wait_for()
        await page.get_by_label("error code").click()
        await page.get_by_role("option", name="no_text").click()
        await page.get_by_text("4 of 16 episodes").wait_for()
        await page.get_by_label("from step").fill("2")
        await page.get_by_text("3 of 16 episodes").wait_for()
        await page.get_by_label("to step").fill("30")
        await page.get_by_text("2 of 16 episodes").wait_for()
        assert await page.locator(".list .q-virtual-scroll__content tr").count() == 2
        await page.evaluate("document.activeElement.blur()")
        for played in ("step-00000002", "step-00000030"):
            await page.keyboard.press("j")
            await page.get_by_text(f"{played} · line 4").wait_for()
        await page.get_by_role("button", name="its group side by side").click()
        await page.wait_for_function("document.querySelectorAll('.episode').length === 4")

    wait_until_listed(address, "many_steps")
    try:
        visit(address, work, tab="Episodes", runs="many_steps", played="every step")
    finally:
        shutil.rmtree(many)


@pytest.mark.slow
def test_what_a_model_said_is_shown_as_it_was_written(visit: Visit, address: str):
    async def work(page: Any) -> list[str]:
        await page.get_by_role("button", name="its group side by side").click()
        await page.wait_for_function(f"document.querySelectorAll('.episode').length === {len(WORDS)}")
        assert await page.locator(".episode script, .episode a[href^='javascript']").count() == 0
        said = await page.locator(".episode pre.said").all_text_contents()
        link = page.locator(".episode pre.said a")
        whole = await page.evaluate(
            "async (place) => { const got = await fetch(place);"
            " return [got.headers.get('content-type'), got.headers.get('content-security-policy'),"
            " (await got.text()).length]; }",
            await link.get_attribute("href"),
        )
        assert whole[0].startswith("text/plain") and "sandbox" in whole[1] and whole[2] > 1_000_000
        return said

    said = visit(address, work, tab="Episodes", runs="words")
    assert said[:2] == list(WORDS[:2]) and said[3] == WORDS[3]
    assert said[2] == "⟨U+001B⟩[31mred⟨U+001B⟩[0m⟨U+0007⟩ ⟨U+202E⟩gnp.exe⟨U+202C⟩ ⟨U+200B⟩"
    assert said[4].startswith(WORDS[4][:20_000]) and "980,000 more characters" in said[4]


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
        await told.filter(has_text="success fell (step 36, still on): success fell from").wait_for()
        chart = page.locator(".card", has_text="success/rate").locator(".nicegui-echart")
        lines = "one => getElement(+one.id.slice(1)).chart.getOption().series.map(s => s.markLine?.data)"
        found = [mark for marks in await chart.evaluate(lines) for mark in marks or []]
        await page.get_by_role("tab", name="Runs").click()
        await page.locator(".run-table tr", has_text="alarms: success fell").wait_for()
        return [(mark["xAxis"], mark["label"]["formatter"]) for mark in found]

    assert visit(address, work, tab="Curves", runs="collapsing") == [(36, "⚠ success fell")]


@pytest.mark.slow
def test_what_is_shown_is_exported(visit: Visit, address: str):
    async def exported(page: Any, item: str) -> tuple[str, bytes]:
        await page.get_by_role("button", name="export").click()
        async with page.expect_download() as found:
            await page.get_by_role("menuitem", name=item).or_(page.get_by_text(item)).first.click()
        download = await found.value
        return download.suggested_filename, Path(await download.path()).read_bytes()

    async def curves(page: Any) -> list[tuple[str, bytes]]:
        await page.locator(".card canvas").first.wait_for()
        kinds = ("what is shown, as CSV", "what is shown, as JSON", "charts, as PNG")
        return [await exported(page, kind) for kind in kinds]

    async def episodes(page: Any) -> tuple[str, bytes]:
        await page.locator(".episode").first.wait_for()
        return await exported(page, "what is shown, as CSV")

    async def shown(page: Any) -> list[dict[str, Any]]:
        await page.locator(".card canvas").first.wait_for()
        return json.loads((await exported(page, "what is shown, as JSON"))[1])

    levels = [row for row in visit(address, shown, tab="Levels", runs="good") if "level" in row]
    assert [row["value"] for row in levels] == [0.5] * 20 and levels[-1]["step"] == 20
    samples = [row for row in visit(address, shown, tab="Groups", runs="good") if "advantage" in row]
    assert [(row["reward"], row["advantage"]) for row in samples] == [(n, n - 1.5) for n in range(4)]
    table, data, picture = visit(address, curves, tab="Curves", runs="good")
    assert [table[0], data[0], picture[0]] == [
        "pixelis-curves.csv",
        "pixelis-curves.json",
        "pixelis-curves-1.png",
    ]
    rows = list(csv.DictReader(io.StringIO(table[1].decode())))
    success = [row for row in rows if row["metric"] == "success/rate"]
    assert [float(row["raw"]) for row in success] == [step / 40 for step in range(1, 21)]
    assert [float(row["x"]) for row in success] == list(range(1, 21))
    assert float(success[-1]["mean"]) == pytest.approx(sum(range(11, 21)) / 10 / 40)
    assert len(json.loads(data[1])) == len(rows)
    with Image.open(io.BytesIO(picture[1])) as image:
        assert image.format == "PNG" and image.width > 500 and len(image.getcolors(1 << 20)) > 5
    name, text = visit(address, episodes, tab="Episodes", runs="words")
    csv.field_size_limit(2_000_000)
    said = [row["text"] for row in csv.DictReader(io.StringIO(text.decode(), newline=""))]
    assert name == "pixelis-episodes.csv" and said == [*WORDS[:3], f"'{WORDS[3]}", WORDS[4]]


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
