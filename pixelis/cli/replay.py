"""``scripts/replay.py``: look at episodes, play recorded ones again to prove them, or score them again."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelis.agents.run_files.trained_settings import is_run_folder
from pixelis.agents.settings.base import setting
from pixelis.agents.settings.files import read_yaml
from pixelis.cli import FAILED, run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console
from pixelis.cli.replay_views import ChoiceSettings, show, views_asked
from pixelis.cli.results import free_path
from pixelis.errors import ConfigError, RecordingError, RecordingWarning

if TYPE_CHECKING:
    from rich.table import Table

    from pixelis.rewards.stack.stack import RewardStack
    from pixelis.wrappers.recording.rescore import Rescored

PROGRAM = "replay.py RUN"
DESCRIPTION = """\
Look at the episodes of a run: replay.py RUN (its folder, one file of its trajectories/, or a
recording of RecordTrajectory) lists its files, and --terminal, --html FILE and --film FILE show
episodes. Pictures are those that were kept, else of the episodes played again in their
environment, which needs no model; what is not the same as then is told. A recording without
such a flag is proved: observations, rewards, ends, tool calls and task must be the same, bit for
bit; the first difference is printed and the exit code is 1. With --rescore its episodes are scored
under other rewards instead: no env is needed unless a term looks at pictures that were not
recorded."""
EXAMPLES = """\
examples:
  replay.py runs/zoom                                    # what there is
  replay.py runs/zoom --html zoom.html --only failed
  replay.py runs/zoom --html group.html --file step-40 --group 1677108493
  replay.py runs/zoom --html diff.html --diff runs/other
  replay.py runs/zoom --html diff.html --file before --diff runs/zoom/trajectories/evaluation-after.jsonl
  replay.py runs/web --html web.html --env-kwargs.backend chromium   # draws its pages
  replay.py recordings --env my_package.envs:My/Env-v0
  replay.py recordings --rescore rewards.yaml --output rescored.json

rewards.yaml holds what pixelis.wrappers.wrap takes, for example:
  curiosity: {weight: 0.3}
  coherence: {weight: 0.2}
  my_package.rewards:Brevity: {weight: 0.1}"""


class ReplaySettings(ChoiceSettings):
    """The flags of ``replay.py``."""

    env: str | None = setting(None, "Gymnasium id to make instead of the recorded one, module:Id-v0 included")
    rescore: str | None = setting(None, "YAML file of the rewards to score a recording under")
    rows: int = setting(20, "most episodes in the table of --rescore; the file has all", ge=0)
    output: str | None = setting(None, "JSON file of --rescore; null makes one under runs/rescored/")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_replay, words)


def _replay(words: Sequence[str]) -> int:
    given = words[:1] if words and not words[0].startswith("-") else []
    settings = Arguments(PROGRAM, DESCRIPTION, ReplaySettings, EXAMPLES).read(words[len(given) :])
    if not given:
        raise ConfigError("give a run or a recording before the flags: a file or a folder; see --help")
    _check_rescoring(given[0], settings)
    if views_asked(settings) or not _is_recording(given[0]):
        return show(given[0], settings, settings.env)
    with _told_warnings():
        if settings.rescore is None:
            return _check(given[0], settings)
        return _rescore(given[0], settings)


def _check_rescoring(place: str, settings: ReplaySettings) -> None:
    """Refuse flags that would be ignored beside, or without, those of scoring again.

    Raises:
        ConfigError: there are such, or what is named cannot be scored.
    """
    if settings.rescore is None:
        if settings.output is not None:
            raise ConfigError("--output is the file of --rescore; give both, or --html FILE for a page")
        return
    plain = ChoiceSettings()
    names = [name for name in ChoiceSettings.model_fields if getattr(settings, name) != getattr(plain, name)]
    if names:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        raise ConfigError(f"--rescore scores all episodes and shows none; leave out {flags}, or --rescore")
    if not _is_recording(place):
        raise ConfigError(
            f"--rescore needs what RecordTrajectory wrote, and there is no such recording at {place!r}; name "
            "its folder or one of its files"
        )


def _is_recording(place: str) -> bool:
    """Whether what is named is to be proved, not listed: no run, none of its files and no transcripts."""
    path = Path(place)
    if path.name.endswith(".transcripts.jsonl") or not os.path.exists(path):  # of a name too long: False
        return False
    return not ((path / "trajectories").is_dir() or path.parent.name == "trajectories" or is_run_folder(path))


def _check(recording: str, settings: ReplaySettings) -> int:
    """Replay every episode up to the first difference; return the exit code."""
    from pixelis.wrappers.recording.environments import make_env
    from pixelis.wrappers.recording.files import read_trajectories
    from pixelis.wrappers.recording.replay import Replayer, rewards_compared, version_changes

    episodes = steps = unrewarded = 0
    with Replayer(partial(make_env, env_id=settings.env)) as replayer:
        for trajectory in read_trajectories(recording):
            difference = replayer.check(trajectory)
            if difference is not None:
                changes = version_changes(trajectory)
                print(f"{trajectory.path}, line {trajectory.line}: {difference}")
                print(f"{episodes} episodes before it are the same; the rest was not replayed")
                print(f"versions since the recording: {changes or 'unchanged'}")
                return FAILED
            episodes, steps = episodes + 1, steps + len(trajectory.steps)
            unrewarded += not rewards_compared(trajectory)
    if not episodes:
        raise RecordingError(f"{recording!r} holds no episode; record some first")
    compared = (
        "observations, ends and tool calls" if unrewarded else "observations, rewards, ends and tool calls"
    )
    print(f"{episodes} episodes, {steps} steps: the same {compared}")
    if unrewarded:
        print(
            f"the rewards of {unrewarded} episodes were not compared: vector wrappers may have changed them"
        )
    return 0


def _rescore(recording: str, settings: ReplaySettings) -> int:
    """Score every episode under other rewards, print and save; return the exit code."""
    from pixelis.wrappers.recording.environments import make_env
    from pixelis.wrappers.recording.files import read_trajectories
    from pixelis.wrappers.recording.replay import Replayer
    from pixelis.wrappers.recording.rescore import rescore

    rewards = read_yaml(str(settings.rescore), "--rescore", "rewards")
    stack = _make_stack(rewards)
    replayer = Replayer(partial(make_env, env_id=settings.env))
    rows = list(rescore(read_trajectories(recording), stack, replayer))
    if not rows:
        raise RecordingError(f"{recording!r} holds no episode; record some first")
    summary = summarise(rows)
    console = open_console()
    console.print(rescored_table(rows[: settings.rows], f"{recording} under {settings.rescore}"))
    if len(rows) > settings.rows:
        console.print(f"{len(rows) - settings.rows} more episodes are in the file")
    console.print(", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in summary.items()))
    path = _save(recording, settings, rewards, summary, rows)
    console.print(f"saved as {path}", soft_wrap=True)
    return 0


def summarise(rows: Sequence[Rescored]) -> dict[str, Any]:
    """Return counts and means of both returns, and how failures compare with successes under the new one."""
    failed = [row.new_return for row in rows if row.success is False]
    succeeded = [row.new_return for row in rows if row.success]
    sources = [row.images_from for row in rows]
    return {
        "episodes": len(rows),
        "old_mean": _mean([row.old_return for row in rows]),
        "new_mean": _mean([row.new_return for row in rows]),
        "best_failing": max(failed, default=None),
        "worst_succeeding": min(succeeded, default=None),
        "images_from_files": sources.count("files"),
        "images_from_env": sources.count("env"),
    }


def rescored_table(rows: Sequence[Rescored], title: str) -> Table:
    """Return rich's table of episodes: old and new return, and the sums of the task and the new terms."""
    from rich.table import Table

    table = Table(title=title)
    names = list(dict.fromkeys(name for row in rows for name in row.terms))
    for column in ("episode", "seed", "steps", "success", "old return", "new return", *names, "images"):
        table.add_column(column, justify="left" if column == "images" else "right")
    for row in rows:
        episode = f"{row.episode}" if row.finished else f"{row.episode} (unfinished)"
        returns = (_number(row.old_return), _number(row.new_return))
        sums = (_number(row.terms.get(name)) for name in names)
        table.add_row(
            episode,
            _number(row.seed),
            str(row.steps),
            {True: "yes", False: "no", None: "–"}[row.success],
            *returns,
            *sums,
            row.images_from or "not needed",
        )
    return table


# ---------------------------------------------------------------------- private


def _mean(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except (OverflowError, ValueError):  # a sum too large, or infinities of both signs: an env may pay them
        return sum(value / len(values) for value in values)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _make_stack(rewards: Any) -> RewardStack:
    """Return the rewards of a file.

    Raises:
        ConfigError: they cannot be made, or have a curriculum.
    """
    from pixelis.rewards.stack.stack import build_stack

    if isinstance(rewards, Mapping) and rewards.get("curriculum") is not None:
        raise ConfigError(
            "rewards: a recording has no training steps to change the weights by; leave out curriculum and "
            "give the weights of the stage you mean"
        )
    return build_stack(rewards)


def _save(
    recording: str,
    settings: ReplaySettings,
    rewards: Any,
    summary: Mapping[str, Any],
    rows: Sequence[Rescored],
) -> Path:
    """Write the rows and what made them; return the file.

    Raises:
        OutputError: it cannot be written.
    """
    from pixelis.files import write_atomically, writing

    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{Path(recording).stem}-{Path(str(settings.rescore)).stem}")
    made_by = _finite_only({"recording": recording, "env": settings.env, "rewards": rewards})
    path = Path("runs", "rescored", f"{name.strip('-')}.json")
    path = Path(settings.output) if settings.output else free_path(path, made_by)
    values = {**made_by, "summary": dict(summary), "episodes": [asdict(row) for row in rows]}
    text = json.dumps(_finite_only(values), indent=1, allow_nan=False) + "\n"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    return path


def _finite_only(value: Any) -> Any:
    """Return JSON-able values in which numbers that are not finite, as an env may pay, are None."""
    if isinstance(value, Mapping):
        return {name: _finite_only(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite_only(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def _told_warnings() -> Iterator[None]:
    """Print each `RecordingWarning` as one line on stderr."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any) -> None:
            if issubclass(category, RecordingWarning):
                print(f"warning: {message}", file=sys.stderr)
            else:
                before(message, category, *place)

        warnings.simplefilter("always", RecordingWarning)
        warnings.showwarning = show
        yield
