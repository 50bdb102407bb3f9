"""Run folders of known content, some of a stranger who wants to hurt."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

from pixelis.wrappers.recording.images import ImageFolder
from pixelis.wrappers.recording.values import digest

HURT = "<img src=x onerror='window.hurt = 1'>"
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


def write_folder(place: Path) -> Path:
    """Write runs of every kind, links out of their folder among them, and return that folder."""
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


def wait_until_listed(address: str, run: str) -> None:
    deadline = time.monotonic() + 30
    while run not in urlopen(f"{address}/?tab=Runs", timeout=30).read().decode():
        assert time.monotonic() < deadline
        time.sleep(0.3)
