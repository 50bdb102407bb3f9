"""Whose episodes are analysed: each player of each phase of each run is one subject."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pixelis.agents.episode_files.reading import EpisodeFile, find_files, read_file
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.run_files.about import TRAITS, read_about
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.viewing.pictures import Stage
from pixelis.errors import PixelisError
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.user_code import RAISED, described

TRAINING, RECORDING = "training", "recording"
PHASES = ("before", TRAINING, "during", "after", "baselines", RECORDING)
"""``during``: evaluations while it trained; ``recording``: every file that no run wrote."""


@dataclass
class AnalysisSubject:
    """The episodes of one player.

    Attributes:
        run: the run as it was named.
        phase: one of `PHASES`.
        player: agent and mode, such as ``greedy`` or ``oracle scripted``.
        label: the run's short name: that of its folder where no other run has the same.
        episodes: those that count.
        failed: episodes in which the infrastructure failed, which do not.
    """

    run: str
    phase: str
    player: str
    label: str
    episodes: list[StoredEpisode] = field(default_factory=list)
    failed: int = 0

    @property
    def name(self) -> str:
        """What the subject is called in tables: ``zoom after greedy``."""
        return " ".join(part for part in (self.label, self.phase, self.player) if part)


@dataclass
class Material:
    """What there is to analyse.

    Attributes:
        subjects: in the order of the runs and their phases.
        problems: what could not be read, a sentence each.
        stages: run → where its episodes can be played again.
        traits: run → what its environment said of its tools when the run began, or, where that was not kept,
            says now; None where it cannot be made here.
    """

    subjects: list[AnalysisSubject] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    stages: dict[str, Stage] = field(default_factory=dict)
    traits: dict[str, RewardTraits | None] = field(default_factory=dict)


def read_subjects(places: Sequence[str], phases: Collection[str], most: int) -> Material:
    """Read the episodes of runs, files and recordings.

    Args:
        places: see `find_files`.
        phases: those of `PHASES` that are wanted.
        most: episodes of a subject; 0 for all. Tasks are drawn whole, by a digest of what they are called, so
            that every subject keeps the same ones.

    Raises:
        RecordingError: there is nothing at one of the places.
    """
    material = Material()
    for place, label in _labels(places).items():
        _read_run(place, label, phases, material)
    for subject in material.subjects:
        if most and len(subject.episodes) > most:
            subject.episodes = _drawn(subject.episodes, most)
    material.subjects = [each for each in material.subjects if each.episodes or each.failed]
    return material


# ---------------------------------------------------------------------- private


def _labels(places: Sequence[str]) -> dict[str, str]:
    """Return place → the name of its folder or file, or the place itself where two have the same name."""
    names = {place: Path(place).resolve().name for place in places}
    return {place: name if list(names.values()).count(name) == 1 else place for place, name in names.items()}


def _read_run(place: str, label: str, phases: Collection[str], material: Material) -> None:
    found: dict[tuple[str, str], AnalysisSubject] = {}
    stage = _stage_of(place)
    for file in find_files(place):
        phase = _phase(file)
        if phase not in phases:
            continue
        read = read_file(file)
        material.problems += read.problems
        for episode in read.episodes:
            player = _player(episode, phase)
            subject = found.setdefault((phase, player), AnalysisSubject(place, phase, player, label))
            if episode.failure is None:
                subject.episodes.append(episode)
            else:
                subject.failed += 1
            stage.env_id = stage.env_id or episode.env_id
    material.stages[place] = stage
    material.traits[place] = _traits(stage, place, material.problems)
    order = {phase: place for place, phase in enumerate(PHASES)}
    material.subjects += sorted(found.values(), key=lambda each: order[each.phase])


def _phase(file: EpisodeFile) -> str:
    if not file.evaluation:
        return TRAINING if file.step is not None else RECORDING
    named = file.name.removeprefix("evaluation-")
    return (
        named
        if named in ("before", "after", "baselines")
        else "during"
        if file.step is not None
        else RECORDING
    )


def _player(episode: StoredEpisode, phase: str) -> str:
    """Return who played; the run's own policy is not named again beside its phase."""
    if phase in ("before", "after"):
        return episode.mode
    return " ".join(part for part in (episode.agent, episode.mode) if part)


def _run_of(place: str) -> Path:
    path = Path(place)
    return path.parent.parent if path.is_file() else path


def _stage_of(place: str) -> Stage:
    try:
        return Stage.of_run(RunFolder.open(_run_of(place))[1])
    except PixelisError:
        return Stage()


def _traits(stage: Stage, place: str, problems: list[str]) -> RewardTraits | None:
    kept = read_about(_run_of(place)).get(TRAITS)
    try:
        return stage.traits() if kept is None else RewardTraits.from_json(kept)
    except RAISED as error:
        said = str(error) if isinstance(error, PixelisError) else described(error)
        problems.append(f"{place}: what its environment says of its tools is not known: {said}")
        return None


def _drawn(episodes: Sequence[StoredEpisode], most: int) -> list[StoredEpisode]:
    by_task: dict[str, list[StoredEpisode]] = {}
    for episode in episodes:
        by_task.setdefault(episode.same_task, []).append(episode)
    drawn: list[StoredEpisode] = []
    for task in sorted(by_task, key=lambda task: hashlib.sha256(task.encode("utf-8", "replace")).digest()):
        if drawn and len(drawn) + len(by_task[task]) > most:
            break
        drawn += by_task[task]
    return drawn[:most]
