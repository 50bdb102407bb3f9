"""Check every environment of ours by ``pixelis check-env``, for the second table of docs/envs/index.md.

    python benchmarks/quality/check_all.py                    # all of them; then python scripts/env_docs.py
    python benchmarks/quality/check_all.py --envs TrackRead   # this one anew; what is known of others stays

Each is checked in a process of its own, one after the other. What else the machine did meanwhile is measured
too, since it makes steps slower: the table says so. The exit status is 1 where a clause does not hold.
"""

from __future__ import annotations

import argparse
import datetime
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "docs" / "results" / "check_env.json"
ALL = tuple(entry.id for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS))
MAKE = {"Pixelis/WebPage-v0": "url=file://{root}/benchmarks/quality/form.html"}
"""What cannot be made without a word: the page to play."""


def checked(env_id: str, seeds: int, commit: str) -> dict[str, Any]:
    """Run the check of an environment; return what it says, and when, of what and beside what.

    Args:
        env_id: the environment.
        seeds: as of ``check-env``.
        commit: what is checked, for the record.

    Raises:
        SystemExit: it cannot be checked at all.
    """
    words = ["pixelis", "check-env", env_id, "--seeds", str(seeds), "--json"]
    words += ["--make", MAKE[env_id]] if env_id in MAKE else []
    command = [sys.executable, "-m", *(word.format(root=ROOT) for word in words)]
    others = _Others()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    seconds, beside = others.read()
    if not done.stdout:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode} and said nothing")
    return {
        "command": " ".join(words).format(root="$PWD"),
        "seeds": seeds,
        "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "seconds": round(seconds),
        "processors_of_others": round(beside, 1),
        "report": json.loads(done.stdout),
    }


def _commit() -> str:
    """Return what is checked out: told once, since what is written here would make it dirty."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    return subprocess.run(git, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


class _Others:
    """Measures what other processes took of the machine, from when it is made."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), self._taken()

    def read(self) -> tuple[float, float]:
        """Return the seconds since then, and how many processors others had in their mean."""
        seconds = time.monotonic() - self._began
        return seconds, max(0.0, (self._taken() - self._before) / seconds)

    def _taken(self) -> float:
        whole, own = psutil.cpu_times(), resource.getrusage(resource.RUSAGE_CHILDREN)
        resting = whole.idle + getattr(whole, "iowait", 0.0) + getattr(whole, "steal", 0.0)
        guests = getattr(whole, "guest", 0.0) + getattr(whole, "guest_nice", 0.0)  # counted twice
        return sum(whole) - resting - guests - own.ru_utime - own.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Check every environment by pixelis check-env.")
    names = [env_id.removeprefix("Pixelis/").removesuffix("-v0") for env_id in ALL]
    parser.add_argument("--envs", nargs="+", choices=names, default=names, metavar="NAME", help="only these")
    parser.add_argument("--seeds", type=int, default=20, help="as of check-env (default 20)")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    known: dict[str, Any] = {}
    if options.output.exists():
        known = json.loads(options.output.read_text(encoding="utf-8"))["environments"]
    failed, commit = False, _commit()
    for name in options.envs:
        found = known[f"Pixelis/{name}-v0"] = checked(f"Pixelis/{name}-v0", options.seeds, commit)
        report = found["report"]
        broken = [each["clause"] for each in report["findings"] if not each["ok"]]
        failed = failed or bool(broken)
        said = f"does not hold: {', '.join(broken)}" if broken else f"{len(report['findings'])} clauses hold"
        print(f"{name}: {said} ({found['seconds']} s)", flush=True)
        ordered = {env_id: known[env_id] for env_id in ALL if env_id in known}
        document = {"command": "python benchmarks/quality/check_all.py", "environments": ordered}
        options.output.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
