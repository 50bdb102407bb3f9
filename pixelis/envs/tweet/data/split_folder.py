"""A folder with the parts of a split: written aside, then renamed, so that it is whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pixelis.envs.tweet.data.split import PARTS, SplitSettings, row_for_part, split_tweets
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.errors import OutputError

MANIFEST = "split.json"
_VERSION = 1  # of what is written; another one makes another split of the same file


def write_split(
    source: Path, folder: Path, settings: SplitSettings, *, overwrite: bool = False
) -> tuple[dict[str, Any], bool]:
    """Split a file of tweets into ``folder``; return the manifest and whether anything was written.

    The folder gets ``sft.jsonl``, ``grpo.jsonl``, ``held_out.jsonl`` (rows in the source's order; what a part
    lacks entirely is an empty file) and ``split.json``: the settings, the sizes by part and stratum, and the
    SHA-256 of source and parts. If the folder holds just this split already, nothing is done. A run that is
    killed leaves only ``.<folder>.unfinished``, which the next one replaces.

    Args:
        source: JSONL or CSV of tweets.
        folder: where to; its parent is made.
        settings: how to split.
        overwrite: replace another split that is there.

    Raises:
        DatasetError: the source is no file of tweets.
        OutputError: the folder holds something else, or cannot be written.
    """
    request = {"version": _VERSION, "source_sha256": _sha256(source), "settings": asdict(settings)}
    present = _manifest(folder)
    if present is not None and _is_whole(folder, present, request):
        return present, False
    if folder.exists() and not (overwrite and present is not None):
        what = "another split, or a damaged one" if present is not None else "something that is no split"
        hint = "pass --overwrite or name another folder" if present is not None else "name another folder"
        raise OutputError(f"expected {folder} to be free, got {what}; {hint}")
    tweets = TweetFile(source, splits_apart=False)
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        manifest = {**request, "source": source.name, **_write_parts(tweets, settings, unfinished)}
        text = json.dumps(manifest, indent=1, ensure_ascii=False)
        (unfinished / MANIFEST).write_text(text + "\n", encoding="utf-8")
        _replace(unfinished, folder)
    except OSError as error:
        raise OutputError(f"cannot write {folder} ({error}); check the disk and its permissions") from None
    return manifest, True


def _write_parts(tweets: TweetFile, settings: SplitSettings, folder: Path) -> dict[str, Any]:
    split = split_tweets(tweets, settings)
    files = [(folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") for name in PARTS]
    try:
        for part, (_, row) in zip(split.parts, tweets.rows(), strict=True):
            files[part].write(json.dumps(row_for_part(row, part), ensure_ascii=False) + "\n")
    finally:
        for file in files:
            file.close()
    return {
        "rows": len(split.parts),
        "sizes": split.sizes,
        "groups": split.groups,
        "largest_group": split.largest_group,
        "near_duplicate_pairs": split.near_pairs,
        "strata": {name: dict(zip(PARTS, counts, strict=True)) for name, counts in split.strata.items()},
        "sha256": {name: _sha256(folder / f"{name}.jsonl") for name in PARTS},
    }


def _replace(unfinished: Path, folder: Path) -> None:
    """Put the new folder in the place of an old one, if there is one."""
    doomed = folder.with_name(f".{folder.name}.replaced")
    if folder.exists():
        shutil.rmtree(doomed, ignore_errors=True)
        os.rename(folder, doomed)
    os.rename(unfinished, folder)
    shutil.rmtree(doomed, ignore_errors=True)


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and "sha256" in value else None


def _is_whole(folder: Path, manifest: dict[str, Any], request: dict[str, Any]) -> bool:
    if any(manifest.get(name) != value for name, value in request.items()):
        return False
    parts = {name: folder / f"{name}.jsonl" for name in PARTS}
    return all(
        path.is_file() and _sha256(path) == manifest["sha256"].get(name) for name, path in parts.items()
    )


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file, empty if it cannot be read: opening it as tweets says why."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
