"""An episode in the terminal, for who looks at a machine from afar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pixelis.agents.episode_files.reading import EpisodeFile, Read
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.viewing.pictures import NOT_KEPT
from pixelis.agents.viewing.sheet import call_line
from pixelis.agents.viewing.visible import in_plain, shortened

LONGEST = 4_000
"""Characters of a text that a terminal shows."""
_ENDS = {
    True: ("success", "bright_green"),
    False: ("failed", "bright_red"),
    None: ("success not told", "dim"),
}


def shown_episode(episode: StoredEpisode, title: str) -> Panel:
    """Return an episode for `rich.print`: what it is, each turn with its calls, and what was paid."""
    return Panel(Group(*_lines(episode)), title=Text(in_plain(title)), title_align="left")


def shown_files(files: Sequence[tuple[EpisodeFile, Read]], title: str) -> Table:
    """Return which files of episodes a run has, for `rich.print`."""
    table = Table(title=Text(in_plain(title)))
    for column in ("file", "episodes", "tasks", "success", "mean reward"):
        table.add_column(column, justify="left" if column == "file" else "right", overflow="fold")
    for file, read in files:
        told = [each.success for each in read.episodes if each.success is not None]
        paid = [each.reward for each in read.episodes if each.reward is not None]
        table.add_row(
            Text(in_plain(file.name)),
            str(len(read.episodes)),
            str(len({each.same_task for each in read.episodes})),
            f"{sum(told) / len(told):.2f}" if told else "–",
            f"{sum(paid) / len(paid):.3f}" if paid else "–",
        )
    return table


# ---------------------------------------------------------------------- private


def _lines(episode: StoredEpisode) -> Iterator[RenderableType]:
    word, colour = _ENDS[episode.success]
    reward = "–" if episode.reward is None else f"{episode.reward:.4g}"
    yield Text.assemble((word, f"bold {colour}"), f"  reward {reward}  turns {episode.turn_count}")
    yield Text(in_plain(episode.where), style="dim")
    if episode.failure is not None:
        yield _text(f"not counted, the infrastructure failed: {episode.failure}", "bright_red")
    if episode.asked:
        yield _text(episode.asked)
    if episode.turns is None:
        yield _text(NOT_KEPT, "dim")
        yield _text(episode.text)
    for number, turn in enumerate(episode.turns or (), start=1):
        paid = "" if turn.reward is None else f"  reward {turn.reward:.4g}"
        yield Text(f"── turn {number}{paid}", style="dim")
        yield _text(turn.action, "cyan")
        for call in turn.calls:
            failed = call.get("ok") is False
            code = f"{call.get('error_code') or 'refused'} " if failed else ""
            yield _text(f"{code}{call_line(call)}", "bright_red" if failed else "bright_green")
        if turn.heard:
            yield _text(turn.heard)
        elif turn.heard is None and turn.reward is None:
            yield Text("the environment gave no observation", style="dim")
    for name, value in episode.reward_terms.items():
        yield Text(f"{in_plain(name)}: {value:.4g}", style="dim")


def _text(text: str, style: str = "") -> Text:
    return Text(in_plain(shortened(text, LONGEST)), style=style, overflow="fold")
