"""Write a film of an episode in every environment, and a sheet of those with pictures.

Usage: python scripts/env_pictures.py [--seed 1] [--only ENV ...]

The films are GIFs in docs/images/envs, two seconds a turn; `scripts/env_docs.py` puts them into the
environments' pages. The oracle plays; where there is none, the calls of `CALLS` are made. Environments of
text show what was told and said. The sheet, docs/images/gallery.png, shows each environment with pictures
before the last turn. WebBrowse, WebPage and MiniWoB need a Chromium (`make browser`).
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pixelis
from pixelis.agents.viewing.film import write_film
from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS, EnvEntry

FOLDER = Path(__file__).parents[1] / "docs" / "images"
FILMS = FOLDER / "envs"
WIDTH, COLUMNS, GAP = 660, 3, 8
KEYWORDS: dict[str, dict[str, Any]] = {
    "Pixelis/AskImage-v0": {"difficulty": 0},
    "Pixelis/WebBrowse-v0": {"difficulty": 1, "backend": "chromium"},
    "Pixelis/CodeProblem-v0": {"difficulty": 2, "mode": "multi"},
    "Pixelis/TweetReply-v0": {"difficulty": 0, "mode": "thread"},
    "Pixelis/MiniWoB-v0": {"task": "click-checkboxes"},
    "Pixelis/WebPage-v0": {"instruction": "Put bread on the list."},
}
"""Where they are not ``difficulty=1``."""
CALLS: dict[str, list[dict[str, str]]] = {
    "Pixelis/MiniWoB-v0": [{"name": "CLICK", "of": name} for name in ("asked", "asked", "Submit")],
    "Pixelis/WebPage-v0": [
        {"name": "TYPE", "of": "New item", "text": "bread"},
        {"name": "CLICK", "of": "Add"},
        {"name": "ANSWER"},
    ],
}
"""A tool and the name of the element that it is called with; ``asked``: the next one that the task names."""
LIST_PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>Shopping list</title>
<body style="font: 28px sans-serif; margin: 2em"><h1>Shopping list</h1><ul id="list"><li>tea</li></ul>
<p><input style="font: inherit" aria-label="New item" id="item">
<button style="font: inherit" onclick="const entry = document.createElement('li');
entry.textContent = item.value; list.append(entry); item.value = ''">Add</button></p></body></html>
"""
FRAMES_PER_SECOND = 0.5
LETTERS = Path(pixelis.__file__).parent / "envs" / "pixel" / "drawing" / "fonts" / "DejaVuSansMono-Bold.ttf"
LINES, COLUMNS_OF_TEXT, LINE_HEIGHT = 24, 80, 18


def has_pictures(entry: EnvEntry) -> bool:
    """Whether an environment can be rendered as pictures."""
    module, _, name = entry.entry_point.partition(":")
    modes = getattr(importlib.import_module(module), name).metadata["render_modes"]
    return "rgb_array" in modes


def film_path(entry: EnvEntry) -> Path:
    """Return where an environment's film lies."""
    return FILMS / f"{entry.id.removeprefix('Pixelis/').removesuffix('-v0')}.gif"


def episode(entry: EnvEntry, seed: int) -> list[np.ndarray]:
    """Return an episode: uint8 [H, W, 3] for the start and each turn, `WIDTH` wide."""
    mode = "rgb_array" if has_pictures(entry) else "ansi"
    keywords = {**({} if entry.id in CALLS else {"difficulty": 1}), **KEYWORDS.get(entry.id, {})}
    with tempfile.TemporaryDirectory() as folder:
        if entry.id == "Pixelis/WebPage-v0":
            page = Path(folder, "list.html")
            page.write_text(LIST_PAGE, encoding="utf-8")
            keywords["url"] = page.as_uri()
        env = gym.make(entry.id, render_mode=mode, **keywords)
        try:
            return _played(env, entry.id, seed)
        finally:
            env.close()


def _played(env: gym.Env[Any, Any], env_id: str, seed: int) -> list[np.ndarray]:
    inner: Any = env.unwrapped
    observation, info = env.reset(seed=seed)
    act: Callable[[Any, Any], str] = (
        _caller(env_id) if env_id in CALLS else inner.players()["oracle"](inner).act
    )
    frames, over = [_shown(env)], False
    while not over:
        observation, _, terminated, truncated, info = env.step(act(observation, info))
        frames.append(_shown(env))
        over = terminated or truncated
    return frames


def _caller(env_id: str) -> Callable[[Any, Any], str]:
    """Return what makes the calls of `CALLS` one after the other."""
    calls, asked = iter(CALLS[env_id]), iter(range(9))

    def act(observation: Any, info: Any) -> str:
        call = dict(next(calls))
        name = call.pop("of", "")
        if name == "asked":
            name = re.findall(r"\w+", info["utterance"].removeprefix("Select "))[next(asked)]
        tool = call.pop("name")
        if tool == "ANSWER":
            return "<answer>done</answer>"
        found = re.findall(rf'"{re.escape(name)}" \[(e\d+@v\d+)\]', observation["text"])
        return f"<tool_call>{json.dumps({'name': tool, 'arguments': {'id': found[0], **call}})}</tool_call>"

    return act


def text_picture(text: str) -> np.ndarray:
    """Return the last lines of a text as a picture, what was said in another colour."""
    font = ImageFont.truetype(LETTERS, 13)
    lines: list[tuple[str, str]] = []
    for line in text.strip().splitlines():
        colour = "#1d4ed8" if line.startswith(">") else "#0f172a"
        wrapped = textwrap.wrap(line, COLUMNS_OF_TEXT, replace_whitespace=False, drop_whitespace=False)
        lines += [(each, colour) for each in wrapped or [""]]
    picture = Image.new("RGB", (WIDTH, LINES * LINE_HEIGHT + 16), "#f8fafc")
    pen = ImageDraw.Draw(picture)
    for at, (line, colour) in enumerate(lines[-LINES:]):
        pen.text((10, 8 + at * LINE_HEIGHT), line, fill=colour, font=font)
    return np.asarray(picture)


def _shown(env: gym.Env[Any, Any]) -> np.ndarray:
    rendered: Any = env.render()
    if isinstance(rendered, str):
        return text_picture(rendered)
    picture = Image.fromarray(np.asarray(rendered))
    return np.asarray(
        picture.resize((WIDTH, picture.height * WIDTH // picture.width), Image.Resampling.LANCZOS)
    )


def sheet(pictures: list[np.ndarray]) -> Image.Image:
    """Return pictures side by side, in rows of `COLUMNS`."""
    height = min(len(picture) for picture in pictures)
    rows = -(-len(pictures) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * (WIDTH + GAP) - GAP, rows * (height + GAP) - GAP), "white")
    for index, picture in enumerate(pictures):
        place = (index % COLUMNS) * (WIDTH + GAP), (index // COLUMNS) * (height + GAP)
        whole.paste(Image.fromarray(picture[:height]), place)
    return whole


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Write films of the environments, and a sheet of all.")
    parser.add_argument("--seed", type=int, default=1, help="of the episodes")
    parser.add_argument("--only", nargs="*", default=(), metavar="ENV", help="ids; then no sheet is written")
    options = parser.parse_args()
    last: list[np.ndarray] = []
    for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS):
        if options.only and entry.id not in options.only:
            continue
        frames = episode(entry, options.seed)
        write_film(frames, film_path(entry), FRAMES_PER_SECOND)
        if entry in ENVIRONMENTS and has_pictures(entry):
            last.append(frames[-2])
        print(
            f"{film_path(entry).name}: {len(frames)} turns, {film_path(entry).stat().st_size / 1000:.0f} kB"
        )
    if not options.only:
        whole = sheet(last)
        whole = whole.resize((whole.width // 2, whole.height // 2), Image.Resampling.LANCZOS)
        whole.save(FOLDER / "gallery.png", optimize=True)
        print(f"gallery.png: {(FOLDER / 'gallery.png').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
