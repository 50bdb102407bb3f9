"""The tab of episodes in a real Chromium: which are read, which are listed, which stand side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from monitor_server import Visit
from written_runs import HURT, KEEP, WORDS, metrics, wait_until_listed, write_run


@pytest.mark.slow
def test_episodes_are_filtered_and_stand_side_by_side(visit: Visit, address: str):
    async def work(page: Any) -> None:
        await page.locator(".episode img").first.wait_for()
        assert (
            await page.locator(".episode img").first.evaluate("image => image.complete && image.naturalWidth")
            == 32
        )
        assert await page.locator(".episode rect").count() == 1
        assert await page.locator(".episode .of-turn").all_inner_texts() == ["1"]
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
        await page.get_by_text("3 of 12 episodes").wait_for()
        await page.get_by_label("to step").fill("30")
        await page.get_by_text("2 of 8 episodes").wait_for()
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
def test_of_many_files_those_between_two_steps_are_read(visit: Visit, address: str, folder: Path):
    """The newest 200 are read at first, older ones when they are asked for, new ones when they come."""
    many = folder / "many_files"
    write_run(many, 3)
    for step in range(1, 304):
        row = {"seed": step, "reward": 1.0, "asked": "?", "exchanges": [{"action": "go", "calls": 0}]}
        (many / "trajectories" / f"step-{step:08d}.jsonl").write_text(json.dumps(row) + "\n")

    async def work(page: Any) -> None:
        await page.get_by_text("200 of 200 episodes; 103 older files are not read").wait_for()
        await page.get_by_label("to step").fill("3")
        await page.get_by_text("3 of 3 episodes", exact=True).wait_for()
        await page.get_by_label("seed", exact=True).fill("2")
        await page.get_by_text("1 of 3 episodes", exact=True).wait_for()
        assert "2" in await page.locator(".list .q-virtual-scroll__content tr").inner_text()
        await page.get_by_label("seed", exact=True).fill("")
        await page.get_by_label("from step").fill("300")
        await page.get_by_text("0 of 0 episodes", exact=True).wait_for()
        await page.get_by_label("to step").fill("")
        await page.get_by_text("4 of 4 episodes", exact=True).wait_for()
        await page.evaluate(KEEP, ".episode, .episode *, .list tr")
        added = many / "trajectories" / "step-00000304.jsonl"
        added.write_text((many / "trajectories" / "step-00000303.jsonl").read_text())
        with (many / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(metrics(4)) + "\n")
        await page.get_by_text("5 of 5 episodes", exact=True).wait_for(timeout=30_000)
        assert await page.evaluate("window.gone") == 0
        await page.get_by_label("nearest step").fill("17")
        await page.keyboard.press("Enter")
        await page.get_by_text("step-00000017 · line 1").wait_for()
        await page.get_by_text("1 of 1 episodes", exact=True).wait_for()

    wait_until_listed(address, "many_files")
    try:
        visit(address, work, tab="Episodes", runs="many_files", played="every step")
    finally:
        shutil.rmtree(many)


@pytest.mark.slow
def test_one_pages_through_a_large_group(visit: Visit, address: str, folder: Path):
    large = folder / "large_group"
    write_run(large, 3)
    rows = [
        {"seed": 1, "group": 0, "member": n, "reward": 1.0, "asked": "?"}
        | {"exchanges": [{"action": f"member {n}", "calls": 0}]}
        for n in range(16)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (large / "trajectories" / "step-00000001.jsonl").write_text(text)

    async def shown(page: Any, told: str, first: int) -> None:
        await page.get_by_text(told, exact=True).wait_for()
        said = await page.locator(".episode pre.said").all_inner_texts()
        assert said == [f"member {n}" for n in range(first, first + 8)]

    async def work(page: Any) -> None:
        await page.get_by_role("button", name="its group side by side").click()
        await shown(page, "1 to 8 of 16 are shown", 0)
        assert await page.get_by_role("button", name="earlier ones").is_disabled()
        await page.get_by_role("button", name="further ones").click()
        await shown(page, "9 to 16 of 16 are shown", 8)
        assert await page.get_by_role("button", name="further ones").is_disabled()
        await page.get_by_role("button", name="earlier ones").click()
        await shown(page, "1 to 8 of 16 are shown", 0)

    wait_until_listed(address, "large_group")
    try:
        visit(address, work, tab="Episodes", runs="large_group")
    finally:
        shutil.rmtree(large)


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
        place, _, _ = (await link.get_attribute("href")).rpartition("/")
        text = urlopen(f"{address}{place}/3", timeout=30).read().decode()
        assert "⟨U+202E⟩gnp.exe⟨U+202C⟩" in text and not {"\u202e", "\x1b"} & set(text)
        return said

    said = visit(address, work, tab="Episodes", runs="words")
    assert said[:2] == list(WORDS[:2]) and said[3] == WORDS[3]
    assert said[2] == "⟨U+001B⟩[31mred⟨U+001B⟩[0m⟨U+0007⟩ ⟨U+202E⟩gnp.exe⟨U+202C⟩ ⟨U+200B⟩"
    assert said[4].startswith(WORDS[4][:20_000]) and "980,000 more characters" in said[4]
