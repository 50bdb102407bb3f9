"""Runs that the trainer wrote, of an environment with pictures, one of code and one of web pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from monitor_server import Served, Visit

from pixelis.cli import train
from pixelis.monitor.panels.catalogue import TABS, chosen
from pixelis.monitor.panels.charts import short_labels

pytestmark = pytest.mark.slow
LESSONS = ("ZoomRead", "CodeProblem", "WebBrowse")
SMALL = ("--steps", 2, "--groups", 2, "--group-size", 4, "--eval-episodes", 2, "--trajectories-every", 1)
SHAPED = (
    "--config",
    "zoom_read_shaped",
    "--levels",
    "learnability",
    "--levels.dials",
    '{"difficulty": [0, 1]}',
)
"""A run with components of the reward, their curriculum, and levels that are chosen."""
REPLAYED = ("--config", "zoom_read_shaped", "--levels", "plr", "--levels.buffer", 2, *SHAPED[4:])
"""One with levels that are kept and played again."""
RUNS = (*LESSONS, "Shaped", "Replayed")
BESIDES = {
    "Groups": ("Rewards of the members of the sample groups", "Advantages of the sample episodes: {}"),
    "Levels": ("success by level: {}",),
}
"""Charts that are not of the catalogue."""
DRAWN = "one => getElement(+one.id.slice(1)).chart.getOption().series"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("real")
    for lesson in LESSONS:
        words = ["--config", f"lessons/{lesson}", "--output", str(place / lesson), *map(str, SMALL)]
        assert train.main(words) == 0
    for name, words in (("Shaped", SHAPED), ("Replayed", REPLAYED)):
        assert train.main([*map(str, words), "--output", str(place / name), *map(str, SMALL)]) == 0
    return place


@pytest.fixture(scope="module")
def address(served: Served, folder: Path) -> str:
    return served(folder).address


def measured(run: Path) -> list[str]:
    """Return the metrics that a run has told."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return list(dict.fromkeys(name for row in rows for name, value in row.items() if value is not None))


def test_runs_have_what_most_panels_show(folder: Path):
    names = {name for run in RUNS for name in measured(folder / run)}
    missing = {chart.title for charts in TABS.values() for chart in charts if not chosen(chart, names)}
    # those of supervised training, of agents with a value, of split batches, and of what is not asked for;
    # tests/monitor/app/test_page.py draws them from rows by hand
    assert missing == {
        "Gradient noise scale",
        "Watched, not paid",
        "Value",
        "Held out, by level",
        "Diversity of a group's answers",
    }


@pytest.mark.parametrize("run", RUNS)
def test_every_panel_of_a_run_has_something_to_show(visit: Visit, address: str, folder: Path, run: str):
    names = measured(folder / run)
    expected = {
        tab: {chart.title: set(short_labels(found)) for chart in charts if (found := chosen(chart, names))}
        | {title.format(run): set() for title in BESIDES.get(tab, ())}
        for tab, charts in TABS.items()
    }
    expected["Curves"] = {name: set() for name in ("success/rate", "reward/mean", "policy/entropy")}

    async def work(page: Any) -> None:
        row = page.locator(".run-table tr", has=page.get_by_role("cell", name=run, exact=True))
        assert "✓ done" in await row.inner_text() and "2 / 2" in await row.inner_text()
        for tab, titles in expected.items():
            await page.goto(f"{address}/?{urlencode({'tab': tab, 'runs': run})}")
            await page.locator(".card canvas").first.wait_for()
            assert set(await page.locator(".card .title").all_inner_texts()) >= set(titles), tab
            for title, labels in titles.items():
                card = page.locator(".card", has=page.get_by_text(title, exact=True))
                chart = card.locator(".nicegui-echart")
                assert await chart.evaluate(f"({DRAWN}.flatMap(s => s.data)).length"), (tab, title)
                told = await chart.evaluate(f"{DRAWN}.map(s => s.name)")
                assert not labels - set(told), (tab, title)

    visit(address, work, tab="Runs")


@pytest.mark.parametrize(
    ("lesson", "played", "said"),
    [
        ("ZoomRead", "step-00000001", "<tool_call>"),
        ("CodeProblem", "step-00000002", "def "),
        ("WebBrowse", "step-00000001", "<tool_call>"),
    ],
)
def test_episodes_show_who_said_what(visit: Visit, address: str, lesson: str, played: str, said: str):
    async def work(page: Any) -> None:
        await page.locator(".episode section").nth(1).wait_for()
        text = await page.locator(".episode").text_content()
        assert said in text and "reward" in text
        tokens = page.locator(".episode .token")
        told = await tokens.first.get_attribute("title")
        assert await tokens.count() > 5 and "probability" in told and "entropy" in told
        first = page.locator(".episode pre.said").first
        assert "".join(await first.locator(".token").all_text_contents()) == await first.text_content()
        pictures = page.locator(".episode figure img")
        if lesson == "ZoomRead":
            wide = await pictures.first.evaluate("one => one.decode().then(() => one.naturalWidth)")
            assert wide > 50 and await page.locator(".episode figure rect").count() > 0
        else:
            assert await pictures.count() == 0
        await page.get_by_role("button", name="its group side by side").click()
        await page.wait_for_function("document.querySelectorAll('.episode').length === 4")

    visit(address, work, tab="Episodes", runs=lesson, played=played)


def test_components_of_the_reward_their_stages_and_levels_that_are_chosen_are_drawn(
    visit: Visit, address: str
):
    expected = {
        "Reward": {
            "Paid by component (weighted)": {"task", "curiosity", "coherence", "penalty"},
            "Components, raw": {"task", "curiosity", "coherence", "penalty"},
            "Weights": {"curiosity", "coherence"},
            "Shaping held back": set(),
            "Curiosity": {"forward_loss", "inverse_loss"},
        },
        "Levels": {"success by level": set(), "Stages": set(), "Expected success of a draw": set()},
    }

    async def work(page: Any) -> None:
        for tab, charts in expected.items():
            await page.goto(f"{address}/?{urlencode({'tab': tab, 'runs': 'Shaped'})}")
            await page.locator(".card canvas").first.wait_for()
            for title, names in charts.items():
                card = page.locator(".card", has_text=title).first
                chart = card.locator(".nicegui-echart")
                assert await chart.evaluate(f"{DRAWN}.flatMap(s => s.data).length"), title
                told = await chart.evaluate(f"{DRAWN}.map(s => s.name)")
                assert not names - set(told), (title, told)

    visit(address, work, tab="Runs")


def test_every_filter_lists_what_the_files_hold(visit: Visit, address: str, folder: Path):
    files = (folder / "Shaped" / "trajectories").glob("step-*.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    right = {"succeeded": sum(row["success"] is True for row in rows), "any": len(rows)}
    right |= {"failed": sum(row["success"] is False for row in rows)}
    tools = {call["tool"] for row in rows for call in row["tool_calls"] if call.get("tool")}
    right |= {
        tool: sum(any(call.get("tool") == tool for call in row["tool_calls"]) for row in rows)
        for tool in tools
    }

    async def work(page: Any) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for label in ("success", "tool", "error code", "level"):
            choice = page.get_by_label(label, exact=True)
            await choice.click()
            await page.get_by_role("option").first.wait_for()
            options = await page.get_by_role("option").all_inner_texts()
            await page.keyboard.press("Escape")
            found[label] = {}
            for option in [*options, options[0]]:  # and back to any
                await choice.click()
                await page.get_by_role("option", name=option, exact=True).click()
                await page.wait_for_timeout(700)
                told = await page.get_by_text(re.compile(r"\d+ of \d+ episodes")).inner_text()
                found[label][option] = int(told.split(" of ")[0])
        return found

    found = visit(address, work, tab="Episodes", runs="Shaped", played="every step")
    assert {**found["success"], **found["tool"]}.items() >= right.items()
    assert sum(count for level, count in found["level"].items() if level != "any") == len(rows) >= 8
    assert all(0 < count <= len(rows) for code, count in found["error code"].items())


def test_a_task_before_and_after_and_two_runs_over_one_another(visit: Visit, address: str):
    async def work(page: Any) -> None:
        await page.get_by_role("button", name="the same task before").click()
        await page.wait_for_function("document.querySelectorAll('.episode').length >= 4")
        names = await page.locator(".columns .quiet").all_inner_texts()
        assert {"evaluation-before", "evaluation-after"} <= {name.split(" · ")[1] for name in names}
        seeds = await page.locator(".episode header span:has-text('seed') b").all_inner_texts()
        assert len(set(seeds)) == 1
        chosen = {"tab": "Curves", "runs": "ZoomRead\nWebBrowse"}
        await page.goto(f"{address}/?{urlencode(chosen)}")
        chart = page.locator(".card", has_text="success/rate").locator(".nicegui-echart")
        names = await chart.evaluate("one => getElement(+one.id.slice(1)).chart.getOption().legend[0].data")
        assert names == ["ZoomRead", "WebBrowse"]

    visit(address, work, tab="Episodes", runs="ZoomRead", played="evaluation-before")


def test_a_training_is_seen_to_grow_and_to_be_killed(visit: Visit, address: str, folder: Path):
    words = ["--config", "lessons/CodeProblem", "--groups", "2", "--group-size", "2", "--steps", "100000"]
    words += ["--eval-episodes", "0", "--baselines", "false", "--output", str(folder / "live")]
    process = subprocess.Popen([sys.executable, "-m", "pixelis", "train", *words], stdout=subprocess.DEVNULL)

    async def work(page: Any) -> None:
        row = page.locator(".run-table tr", has_text="live")
        await row.filter(has_text="▶ training").wait_for(timeout=90_000)
        for step in ("1 / 100000", "3 / 100000"):
            await row.filter(has_text=step).wait_for(timeout=90_000)
        process.kill()
        await row.filter(has_text="☠ killed").wait_for(timeout=30_000)

    try:
        visit(address, work, tab="Runs")
    finally:
        process.kill()
        process.wait()
