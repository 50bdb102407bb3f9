"""What ``scripts/replay.py`` shows of a run: a list, a page, the terminal, a film."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli.console import open_console
from pixelis.errors import ConfigError, PixelisError, RecordingError
from pixelis.files import write_atomically, writing

if TYPE_CHECKING:
    from pixelis.agents.episode_files.stored import StoredEpisode
    from pixelis.agents.viewing.pictures import Stage

_NEWEST_FILES = 50
_TOLD = 5  # problems that are printed


class ChoiceSettings(Settings):
    """The flags that say which episodes are shown, and how."""

    html: str | None = setting(None, "write the episodes as one HTML file")
    terminal: bool = setting(False, "print the episodes")
    film: str | None = setting(None, "write the first of the episodes as .mp4 or .gif")
    fps: float = setting(1.0, "pictures a second of the film, one a turn", gt=0, le=60)
    file: str | None = setting(None, "which file, as before, after, step-40; null: the newest with episodes")
    only: Literal["all", "succeeded", "failed"] = setting("all", "which episodes")
    seed: int | None = setting(None, "only the episodes of this seed")
    episodes: int = setting(8, "most episodes; --diff shows one pair", ge=1)
    group: int | None = setting(None, "the members of the group of this seed, side by side")
    members: list[int] = setting([], "of the group only these, e.g. '[0, 3]'; two are aligned by turn")
    diff: str | None = setting(None, "another run or file: the same task in both; a page aligns them by turn")
    pictures: bool = setting(True, "show pictures: those kept, else of the episodes played again")
    env_kwargs: dict[str, Any] = setting({}, "keywords of the env for the pictures, besides the run's own")


def views_asked(settings: ChoiceSettings) -> bool:
    """Whether a flag asks to look at episodes."""
    chosen = (settings.html, settings.film, settings.group, settings.diff, settings.seed, settings.file)
    return settings.terminal or settings.only != "all" or any(each is not None for each in chosen)


def show(place: str, settings: ChoiceSettings, env: str | None) -> int:
    """Show what the flags ask for; a list of the files where they ask for nothing. Return the exit code."""
    from pixelis.agents.episode_files.choosing import read_named

    if not views_asked(settings):
        return _list(place)
    file, read = read_named(place, settings.file)
    problems = list(read.problems)
    shape, episodes = _chosen(settings, read.episodes, problems, file.name)
    label = f"{file.run or place} · {file.name}"
    if settings.diff is not None:
        label += f" against {settings.diff}"
    for problem in problems[:_TOLD]:
        print(f"warning: {problem}", file=sys.stderr)
    if settings.terminal or not (settings.html or settings.film):
        _print(episodes)
    if settings.html is not None:
        _write_page(Path(settings.html), episodes, shape, label, problems, settings, env)
    if settings.film is not None:
        _write_film(Path(settings.film), episodes[0], settings, env)
    return 0


# ---------------------------------------------------------------------- private


def _list(place: str) -> int:
    from pixelis.agents.episode_files.reading import find_files, read_file
    from pixelis.agents.viewing.terminal import shown_files

    files = find_files(place)
    console = open_console()
    read = [(file, read_file(file)) for file in files[-_NEWEST_FILES:]]
    console.print(shown_files(read, place))
    if len(files) > _NEWEST_FILES:
        console.print(f"{len(files) - _NEWEST_FILES} older files are not shown")
    for problem in [problem for _, each in read for problem in each.problems][:_TOLD]:
        print(f"warning: {problem}", file=sys.stderr)
    console.print("--terminal or --html FILE shows episodes, --file NAME says of which file; see --help")
    return 0


def _chosen(
    settings: ChoiceSettings, episodes: Sequence[StoredEpisode], problems: list[str], name: str
) -> tuple[Literal["list", "group", "diff"], list[StoredEpisode]]:
    """Return how the episodes are laid out, and which they are.

    Raises:
        ConfigError: flags that exclude one another, or a member that is not there.
        RecordingError: there is none such.
    """
    from pixelis.agents.episode_files.choosing import group_of, pair_of, read_named

    if settings.members and settings.group is None:
        raise ConfigError("--members are those of a group; give its seed with --group")
    if settings.diff is not None:
        if settings.group is not None:
            raise ConfigError("--diff compares two runs, --group members of one; give one of them")
        try:
            _, other = read_named(settings.diff, name)
        except RecordingError:
            _, other = read_named(settings.diff)
        problems += other.problems
        return "diff", list(pair_of(_filtered(settings, episodes), other.episodes, settings.seed))
    if settings.group is None:
        found = _filtered(settings, episodes)
        if not found:
            kind = "" if settings.only == "all" else f" that {settings.only}"
            of = "" if settings.seed is None else f" of seed {settings.seed}"
            raise RecordingError(f"there is no episode{of}{kind} in {name}")
        return "list", found[: settings.episodes]
    if settings.seed is not None:
        raise ConfigError("--group names the seed of its episodes; leave --seed out")
    whole = group_of(episodes, settings.group)
    if settings.members:
        known = {each.member: each for each in whole}
        missing = [member for member in settings.members if member not in known]
        if missing:
            raise ConfigError(
                f"the group of seed {settings.group} has members {sorted(known)}, not {missing}"
            )
        whole = [known[member] for member in settings.members]
    members = _filtered(settings, whole)
    if not members:
        of = " of these members" if settings.members else ""
        raise RecordingError(
            f"the group of seed {settings.group} has no episode{of} that {settings.only} in {name}"
        )
    return ("diff" if len(settings.members) == len(members) == 2 else "group"), members[
        : max(settings.episodes, 2)
    ]


def _filtered(settings: ChoiceSettings, episodes: Sequence[StoredEpisode]) -> list[StoredEpisode]:
    from pixelis.agents.episode_files.choosing import EpisodeFilter

    wanted = EpisodeFilter({"succeeded": True, "failed": False}.get(settings.only), settings.seed)
    return [episode for episode in episodes if wanted.keeps(episode)]


def _print(episodes: Sequence[StoredEpisode]) -> None:
    from pixelis.agents.viewing.terminal import shown_episode

    console = open_console()
    for episode in episodes:
        console.print(shown_episode(episode, _title(episode)))


def _write_page(
    path: Path,
    episodes: Sequence[StoredEpisode],
    shape: str,
    label: str,
    problems: Sequence[str],
    settings: ChoiceSettings,
    env: str | None,
) -> None:
    from pixelis.agents.viewing.page import diff_page, episodes_page
    from pixelis.agents.viewing.pictures import Pictures
    from pixelis.agents.viewing.sheet import sheet_of

    sheets = []
    for episode in episodes:
        with _stage(episode, settings, env) as stage:
            pictures = stage.pictures(episode) if settings.pictures else Pictures()
        sheets.append(sheet_of(episode, pictures, _title(episode)))
    if shape == "diff":
        page = diff_page(sheets[0], sheets[1], label, problems)
    else:
        page = episodes_page(sheets, label, problems, side_by_side=shape == "group")
    with writing(path, "file"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, page)
    print(f"{len(sheets)} episodes are in {path} ({len(page.encode()) / 1e6:.2f} MB)")
    for problem in dict.fromkeys(sheet_note for sheet in sheets for sheet_note in sheet.notes):
        print(f"note: {problem}", file=sys.stderr)


def _write_film(path: Path, episode: StoredEpisode, settings: ChoiceSettings, env: str | None) -> None:
    from pixelis.agents.viewing.film import write_film

    with _stage(episode, settings, env) as stage:
        pictures = stage.pictures(episode)
    if pictures.problem:
        print(f"note: {pictures.problem}", file=sys.stderr)
    write_film(pictures.frames, path, settings.fps)
    print(f"the film is in {path}")


def _stage(episode: StoredEpisode, settings: ChoiceSettings, env: str | None) -> Stage:
    """Return where an episode is played again, by the settings of its run if it is of one."""
    from pixelis.agents.run_files.run_folder import RunFolder
    from pixelis.agents.viewing.pictures import Stage

    try:
        _, run = RunFolder.open(episode.path.parent.parent)
    except PixelisError:
        run = {}
    stage = Stage.of_run(run)
    stage.env_id = env or stage.env_id
    stage.env_kwargs = {**stage.env_kwargs, **settings.env_kwargs}
    return stage


def _title(episode: StoredEpisode) -> str:
    seed = "no seed" if episode.seed is None else f"seed {episode.seed}"
    who = [part for part in (episode.agent, episode.mode) if part]
    return " · ".join([*who, seed, f"member {episode.member}"])
