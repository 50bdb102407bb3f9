"""Playing the demonstrations, and writing them as a file of tokens, which is all that training reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from pixelis_mini.collect import FIRST_SEED, texts_of, write_tokens
from pixelis_mini.tokenizer import as_text
from transformers import AutoTokenizer

from pixelis_mini_tools import sheets
from pixelis_mini_tools.drills import drills
from pixelis_mini_tools.routines import ROUTINES, demonstrations

CHUNK = 100
DRILLED = "drills"
REALLY_READ = 10
"""Every so many chunks READ_TEXT reads the pixels, elsewhere the scene's truth, which is much faster."""
SLOW = "TrackRead"
"""A dozen looks an episode, of which each takes a fifth of a second to read: only the truth is read."""
FEW = "AskImage"
"""Looks that come again and again, and are read once: nothing but pixels is read."""


def play(folder: Path, counts: Mapping[str, int], processes: int) -> None:
    """Play episodes and add their texts to ``folder/<environment>.jsonl``; go on where an earlier call ended.

    Args:
        folder: made if it is not there.
        counts: environment → episodes in all.
        processes: that play.
    """
    folder.mkdir(parents=True, exist_ok=True)
    questions = sheets.draw(folder / "sheets") if FEW in counts else None
    with ProcessPoolExecutor(processes) as pool:
        for name, count in counts.items():
            file = folder / f"{name}.jsonl"
            done = len(texts_of(file)) if file.is_file() else 0
            chunks = range(done // CHUNK, -(-count // CHUNK))
            shown, solved = Counter[str](), Counter[str]()
            with file.open("a", encoding="utf-8") as lines:
                for texts, habits, wins in pool.map(partial(_play, name, questions), chunks):
                    lines.writelines(f"{json.dumps(text, ensure_ascii=False)}\n" for text in texts)
                    lines.flush()
                    shown.update(habits)
                    solved.update(wins)
            played = shown.total()
            if played:
                shares = ", ".join(f"{habit} {solved[habit] / n:.2f} of {n}" for habit, n in shown.items())
                print(
                    f"{name}: {played} episodes, {solved.total() / played:.3f} solved ({shares})", flush=True
                )


def _play(name: str, questions: Path | None, chunk: int) -> tuple[list[str], Counter[str], Counter[str]]:
    start = FIRST_SEED + chunk * CHUNK
    texts, shown, solved = [], Counter[str](), Counter[str]()
    reader = "truth" if name == SLOW or (chunk % REALLY_READ and name != FEW) else "ocr"
    for played in demonstrations(name, range(start, start + CHUNK), reader, questions):
        texts.append(as_text(played.turns))
        shown[played.habit] += 1
        solved[played.habit] += bool(played.success)
    return texts, shown, solved


def encode(folder: Path, model: Path, drilled: int) -> None:
    """Write ``folder/tokens.npz`` (see `pixelis_mini.collect.encode`) with the tokenizer of a model.

    Args:
        folder: of what was played.
        model: folder of the model that begins.
        drilled: number of drills, which are written into no other file.
    """
    files = [folder / f"{name}.jsonl" for name in ROUTINES]
    texts = {file.stem: texts_of(file) for file in files if file.is_file()}
    texts[DRILLED] = [as_text(turns) for turns in drills(drilled)]
    write_tokens(folder, AutoTokenizer.from_pretrained(model), texts, (*ROUTINES, DRILLED))
