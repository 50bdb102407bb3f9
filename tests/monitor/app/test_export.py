"""What is shown, and what the page gives away of it, in a real Chromium."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from monitor_server import Visit
from PIL import Image
from written_runs import HURT, WORDS, wait_until_listed, write_run


async def exported(page: Any, item: str) -> tuple[str, bytes]:
    await page.get_by_role("button", name="export").click()
    async with page.expect_download() as found:
        await page.get_by_role("menuitem", name=item).or_(page.get_by_text(item)).first.click()
    download = await found.value
    return download.suggested_filename, Path(await download.path()).read_bytes()


@pytest.mark.slow
def test_what_is_stacked_is_exported_as_it_is_drawn(visit: Visit, address: str, folder: Path):
    """A tool that nobody called in a step has a share of 0 in the chart, and so in the file."""
    rare = folder / "rare_tool"
    write_run(rare, 1)
    rows = [{"step": 1, "actions/A": 0.5, "actions/B": 0.5}, {"step": 2, "actions/B": 1.0}]
    (rare / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    async def work(page: Any) -> list[dict[str, Any]]:
        await page.locator(".card canvas").first.wait_for()
        return json.loads((await exported(page, "what is shown, as JSON"))[1])

    wait_until_listed(address, "rare_tool")
    try:
        rows = visit(address, work, tab="Tools", runs="rare_tool")
    finally:
        shutil.rmtree(rare)
    told = {(row["metric"], row["step"]): row["raw"] for row in rows if row["metric"].startswith("actions/")}
    assert told == {
        ("actions/A", 1): 0.5,
        ("actions/A", 2): 0.0,
        ("actions/B", 1): 0.5,
        ("actions/B", 2): 1.0,
    }


@pytest.mark.slow
def test_the_turns_of_open_episodes_are_exported(visit: Visit, address: str):
    async def work(page: Any) -> list[list[dict[str, Any]]]:
        await page.locator(".episode").first.wait_for()
        first = json.loads((await exported(page, "what is shown, as JSON"))[1])
        await page.get_by_role("button", name="its group side by side").click()
        await page.wait_for_function("document.querySelectorAll('.episode').length === 4")
        return [first, json.loads((await exported(page, "what is shown, as JSON"))[1])]

    one, four = visit(address, work, tab="Episodes", runs="good")
    assert [row["line"] for row in one] == [row["line"] for row in four] == [1, 2, 3, 4]
    assert ["exchanges" in row for row in one] == [True, False, False, False]
    assert all("exchanges" in row for row in four)
    (turn,) = one[0]["exchanges"]
    assert turn["action"] == f"{HURT} member 0" and turn["heard"] == "\u202eseen"
    assert turn["tool_calls"][0]["data"] == {"view": [0.1, 0.1, 0.5, 0.5]}


@pytest.mark.slow
def test_levels_and_samples_are_drawn_against_the_axis(visit: Visit, address: str):
    """Two seconds a step: step 15 is half a minute, step 1 a thirtieth of a minute."""

    async def options(page: Any, tab: str, title: str) -> dict[str, Any]:
        await page.goto(f"{address}/?{urlencode({'tab': tab, 'runs': 'good'})}")
        chart = page.locator(".card", has_text=title).locator(".nicegui-echart")
        await chart.wait_for()
        await page.get_by_label("against").click()
        await page.get_by_role("option", name="minutes").click()
        for _ in range(100):  # the chart is made anew
            found = await chart.evaluate("one => getElement(+one.id.slice(1))?.chart?.getOption()")
            if found and found["xAxis"][0]["name"] == "minutes":
                return found
            await page.wait_for_timeout(100)
        raise AssertionError(tab)

    async def work(page: Any) -> None:
        levels = await options(page, "Levels", "success by level")
        assert levels["xAxis"][0]["data"][14] == "0.5"
        samples = await options(page, "Groups", "Rewards of the members")
        places = [point["value"][0] for point in samples["series"][0]["data"]]
        assert places == [pytest.approx(1 / 30)] * 4

    visit(address, work, tab="Runs", runs="good")


@pytest.mark.slow
def test_what_is_shown_is_exported(visit: Visit, address: str):
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
    assert [float(row["step"]) for row in success] == list(range(1, 21))
    assert float(success[-1]["mean"]) == pytest.approx(sum(range(11, 21)) / 10 / 40)
    assert len(json.loads(data[1])) == len(rows)
    with Image.open(io.BytesIO(picture[1])) as image:
        assert image.format == "PNG" and image.width > 500 and len(image.getcolors(1 << 20)) > 5
    name, text = visit(address, episodes, tab="Episodes", runs="words")
    csv.field_size_limit(2_000_000)
    said = [row["text"] for row in csv.DictReader(io.StringIO(text.decode(), newline=""))]
    assert name == "pixelis-episodes.csv" and said == [*WORDS[:3], f"'{WORDS[3]}", WORDS[4]]
