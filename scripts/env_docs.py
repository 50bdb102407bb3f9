"""Write the page of every environment from its class docstring, docs/envs/<module>.md, and the table of all.

Usage: python scripts/env_docs.py [--check]

With --check nothing is written; the exit status is 1 when a page is out of date. Measured scores, where a
benchmark has left them in docs/envs/<module>_baselines.json (and, for a mode that is not the default,
<module>_mode_<name>_baselines.json), become tables at the end of the page. The table of all environments
stands in README.md and docs/envs/index.md between two comments; what was learnt is read from docs/results/.
So is what the check of each says, the second table of docs/envs/index.md, which
benchmarks/quality/check_all.py writes there.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import re
import sys
import textwrap
from pathlib import Path

from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS, EnvEntry

SECTIONS = (
    *("Description", "Action space", "Observation space", "Rewards", "Starting state"),
    *("Episode end", "Arguments", "Version history", "Source"),
)
ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "envs"
RESULTS = ROOT / "docs" / "results"
TABLE_PAGES = (ROOT / "README.md", FOLDER / "index.md")
START, END = "<!-- The table is made by scripts/env_docs.py. -->\n", "<!-- The end of the table. -->\n"
CHECK_START = "<!-- What the check says is made by scripts/env_docs.py. -->\n"
CHECK_END = "<!-- The end of what the check says. -->\n"
CHECKED = RESULTS / "check_env.json"
QUIET = 0.2
"""Processors that others may have while an environment is checked, before its timings are marked."""
FLOORS = ("nothing", "random", "tool_free", "overview_only", "blind")  # they do not use what they could see


def page_path(entry: EnvEntry) -> Path:
    """Return where an environment's page lies: named as the module, or as the folder whose ``env`` it is."""
    parts = entry.entry_point.partition(":")[0].split(".")
    return FOLDER / f"{parts[-2] if parts[-1] == 'env' else parts[-1]}.md"


def page(entry: EnvEntry) -> str:
    """Return the text of an environment's page."""
    module, _, name = entry.entry_point.partition(":")
    text = with_film(whole_text(getattr(importlib.import_module(module), name)), entry)
    source = f"<!-- Made of {module}.{name}'s docstring by scripts/env_docs.py: edit it there. -->"
    path = page_path(entry)
    parts = [source, f"# {entry.id}", text]
    own = path.with_name(f"{path.stem}_baselines.json")
    for scores in (*([own] if own.exists() else []), *path.parent.glob(f"{path.stem}_mode_*_baselines.json")):
        document = json.loads(scores.read_text(encoding="utf-8"))
        split = "" if document["split"] == "test" else f"--split {document['split']} "
        mode = f"--mode {document['mode']} " if "mode" in document else ""
        parts.append(baselines(document))
        parts.append(
            "Measured by the command below, with `--players` and `--episodes` for the counts above.\n\n"
            f"    python benchmarks/quality/env_baselines.py --env {entry.id} {split}{mode}"
            f"--output docs/envs/{scores.name}"
        )
    return "\n\n".join(parts) + "\n"


def whole_text(env_class: type) -> str:
    """Return a class's docstring in the usual order, with the sections it leaves to its base classes."""
    found: dict[str, str] = {}
    for one in env_class.__mro__:
        _, *sections = re.split(r"^## ", inspect.cleandoc(one.__doc__ or ""), flags=re.MULTILINE)
        for section in sections:
            found.setdefault(section.partition("\n")[0], f"## {section.strip()}")
    summary = inspect.cleandoc(env_class.__doc__ or "").partition("\n\n")[0]
    return "\n\n".join([summary, *(found[heading] for heading in SECTIONS if heading in found)])


def with_film(text: str, entry: EnvEntry) -> str:
    """Put the film of an episode below the first paragraph, where there is one."""
    name = entry.id.removeprefix("Pixelis/").removesuffix("-v0")
    if not (ROOT / "docs" / "images" / "envs" / f"{name}.gif").exists():
        return text
    summary, _, rest = text.partition("\n\n")
    whose = " of the oracle" if entry in ENVIRONMENTS else ""
    return f"{summary}\n\n![An episode{whose}, a turn a picture](../images/envs/{name}.gif)\n\n{rest}"


def baselines(document: dict) -> str:
    """Return measured scores as a table: a player a row, a difficulty a column."""
    rows = document["rows"]
    levels = sorted({row["difficulty"] for row in rows})
    cell_of = {(row["player"], row["difficulty"]): score_cell(row) for row in rows}
    reader = f", reader `{document['reader']}`" if document["reader"] else ""
    title = f", mode `{document['mode']}`" if "mode" in document else ""
    graded = "; their mean reward in brackets" if any("(" in cell for cell in cell_of.values()) else ""
    counts = sorted({row["episodes"] for row in rows})
    played = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    lines = [
        f"## Baselines{title}",
        "",
        f"Success of the scripted players in {played} episodes each{graded} "
        f"(split `{document['split']}`{reader}).",
        "",
        f"| player | {' | '.join(f'difficulty {level}' for level in levels)} |",
        f"|---|{'---|' * len(levels)}",
    ]
    for player in dict.fromkeys(row["player"] for row in rows):
        cells = (cell_of.get((player, level), "–") for level in levels)
        lines.append(f"| `{player}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def score_cell(row: dict) -> str:
    """Return a row's share of successes, with its mean reward where the two are not the same."""
    share = row["successes"] / row["episodes"]
    reward = row.get("reward", share)
    return f"{share:.3f}" if abs(reward - share) < 1e-6 else f"{share:.3f} ({reward:.2f})"


def table(place: Path) -> str:
    """Return the table of all environments, its links as they are in a page at a place."""
    lines = [
        "| environment | the agent must | oracle | without tools | success before → after training |",
        "|---|---|---|---|---|",
    ]
    for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS):
        path = page_path(entry)
        module, _, name = entry.entry_point.partition(":")
        summary = inspect.cleandoc(getattr(importlib.import_module(module), name).__doc__).partition("\n\n")[
            0
        ]
        summary = " ".join(summary.split()).rstrip(".")
        oracle, floor = extremes(path.with_name(f"{path.stem}_baselines.json"))
        link = f"[`{entry.id}`]({os.path.relpath(path, place.parent)})"
        summary = f"{summary[0].lower()}{summary[1:]}"
        lines.append(f"| {link} | {summary} | {oracle} | {floor} | {learnt(entry.id)} |")
    return "\n".join(lines) + "\n"


def extremes(scores: Path) -> tuple[str, str]:
    """Return the oracle's lowest success at any difficulty and the highest of those who do not look."""
    if not scores.exists():
        return "–", "–"
    rows = json.loads(scores.read_text(encoding="utf-8"))["rows"]
    share = [(row["player"], row["successes"] / row["episodes"]) for row in rows]
    oracle = min(value for player, value in share if player == "oracle")
    return f"{oracle:.2f}", f"{max(value for player, value in share if player in FLOORS):.2f}"


def learnt(env_id: str) -> str:
    """Return what GRPO was measured to do to the held-out success in an environment, or a dash.

    The mean of the seeds, from ``every_env.json``; of ZoomRead from its own page of results.
    """
    if env_id == "Pixelis/ZoomRead-v0":
        found = json.loads((RESULTS / "zoom_read_learning.json").read_text(encoding="utf-8"))
        pairs = zip(found["before"], found["after"], strict=True)
        rows, difficulty = list(pairs), 1
    else:
        environments = json.loads((RESULTS / "every_env.json").read_text(encoding="utf-8"))["environments"]
        found = environments.get(env_id.removeprefix("Pixelis/").removesuffix("-v0"))
        if found is None:
            return "–"
        rows = [(run["before"], run["after"]) for run in found["seeds"].values()]
        difficulty = found["difficulty"]
    shown = []
    for mode in ("sampled", "greedy"):
        before, after = (
            sum(one[mode]["success"] for one in column) / len(rows) for column in zip(*rows, strict=True)
        )
        shown.append(f"{before:.2f} → **{after:.2f}**")
    many = f"{len(rows)} seeds" if len(rows) > 1 else "1 seed"
    return f"{shown[0]}, greedy {shown[1]} (difficulty {difficulty}, {many})"


def check_table() -> str:
    """Return what ``pixelis check-env`` says of every environment, as a table, and when that was."""
    document = json.loads(CHECKED.read_text(encoding="utf-8"))
    lines = [
        "| environment | clauses that hold | oracle | highest floor (allowed) | highest exploit "
        "| steps a second | 99 % of steps within | reset | grown by | bytes an observation |",
        f"|{'---|' * 10}",
    ]
    for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS):
        found = document["environments"].get(entry.id)
        cells = ["not checked yet", *["–"] * 8]
        if found is not None:
            cells = check_cells(found["report"], found["processors_of_others"] > QUIET)
        lines.append(f"| [`{entry.id}`]({page_path(entry).name}) | {' | '.join(cells)} |")
    every = [*document["environments"].values()]
    days, commits, seeds = (sorted({each[name] for each in every}) for name in ("date", "commit", "seeds"))
    seconds = [each["seconds"] for each in every]
    busy = [each["processors_of_others"] for each in every if each["processors_of_others"] > QUIET]
    said = (
        f"`{document['command']}`, {span(days)}, at commit {' and '.join(commits)}, {span(seeds)} seeds: "
        f"{span(sorted(seconds))} seconds an environment."
    )
    if busy:
        said += (
            f" **With ~**: measured beside other work, which had {span(sorted(busy))} processors: slower "
            "than on a machine of its own."
        )
    return "\n".join([*lines, "", *textwrap.wrap(said, 150, break_on_hyphens=False)]) + "\n"


def span(ordered: list) -> str:
    """Return the least and the greatest of some values as words."""
    return " to ".join(dict.fromkeys((str(ordered[0]), str(ordered[-1]))))


def check_cells(report: dict, is_busy: bool) -> list[str]:
    """Return the cells of an environment: what its check has found, its timings marked beside other work."""
    findings = report["findings"]
    numbers = {each["clause"]: each["numbers"] for each in findings}
    floors = dict(numbers["floors_hold"])
    allowed = floors.pop("allowed")
    exploits = [value for player, value in floors.items() if player.startswith("exploit_")]
    others = [value for player, value in floors.items() if not player.startswith("exploit_")]
    oracle, figures = numbers["oracle_succeeds"].get("oracle"), report["figures"]
    about, milliseconds = "~" if is_busy else "", (figures["step_p99_ms"], figures["reset_ms"])
    return [
        f"{sum(each['ok'] for each in findings)} of {len(findings)}",
        "–" if oracle is None else f"{oracle:.2f}",
        f"{max(others):.2f} ({allowed:.2f})",
        f"{max(exploits):.2f}" if exploits else "–",
        f"{about}{figures['steps_per_second']:,.0f}",
        *(f"{about}{ms:,.0f} ms" if ms >= 100 else f"{about}{ms:.3g} ms" for ms in milliseconds),
        f"{figures['grown_mb']:.1f} MB",
        f"{figures['observation_bytes']:,}",
    ]


def with_table(path: Path) -> str:
    """Return the text of a page with its tables of environments as they are now."""
    text = between(path.read_text(encoding="utf-8"), START, END, table(path))
    return between(text, CHECK_START, CHECK_END, check_table()) if CHECK_START in text else text


def between(text: str, start: str, end: str, made: str) -> str:
    """Return a text with what stands between two comments made anew."""
    before, start, rest = text.partition(start)
    return f"{before}{start}\n{made}\n{end}{rest.partition(end)[2]}"


def main() -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the environments' pages from their docstrings.")
    parser.add_argument("--check", action="store_true", help="write nothing, only say what is out of date")
    options = parser.parse_args()
    stale: list[str] = []
    pages = {path: with_table(path) for path in TABLE_PAGES}
    for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS):
        pages[page_path(entry)] = page(entry)
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print(f"{'out of date' if options.check else 'written'}: {', '.join(stale) or 'nothing'}")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
