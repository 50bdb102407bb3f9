"""Where episodes are lost: the first turn of a failure that no success on the same task made."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pixelis.agents.episode_files.stored import StoredEpisode, StoredTurn
from pixelis.agents.episodes.behaviour import BAD_CALL
from pixelis.envs.actions import parse_action

CHANCE = "did what a success did; the end differed"
_EXAMPLES = 3
_DEEPEST = 50  # turns of a path that the tree shows


@dataclass
class Lost:
    """Failures that left the successes at the same place in the same way.

    Attributes:
        path: kinds of the turns that they share with a success, in order.
        did: kind of the turn that no success took there; with `of_kind` False the same kind of turn with
            other arguments or another answer.
        instead: kinds of what successes did there → how many successes.
        of_kind: whether the kind of the turn was the mistake.
        examples: failed episode and the success that it is held against.
    """

    path: tuple[str, ...]
    did: str
    of_kind: bool
    episodes: int = 0
    instead: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[StoredEpisode, StoredEpisode]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values, examples by their file and line."""
        return {
            "path": list(self.path),
            "did": self.did,
            "of_kind": self.of_kind,
            "episodes": self.episodes,
            "instead": dict(self.instead.most_common()),
            "examples": [[one.where, other.where] for one, other in self.examples],
        }


@dataclass
class Mistakes:
    """The failures of a subject.

    Attributes:
        lost: places where they were lost, the most frequent first.
        compared: failures with a success on the same task.
        alone: failures without one.
        unknown: failures whose turns were not kept.
    """

    lost: list[Lost]
    compared: int
    alone: int
    unknown: int

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values, with the tree of `tree_of`."""
        return {
            "compared": self.compared,
            "alone": self.alone,
            "unknown": self.unknown,
            "lost": [each.to_json() for each in self.lost],
            "tree": tree_of(self.lost),
        }


def kind_of(turn: StoredTurn) -> str:
    """Return what kind of turn it is: its calls, failed ones with their code, and whether it answers."""
    kinds = [_kind_of_call(call) for call in turn.calls]
    if parse_action(turn.action).answer is not None:
        kinds.append("answer")
    return " + ".join(kinds) or "a turn in words"


def find_mistakes(episodes: Sequence[StoredEpisode], others: Sequence[StoredEpisode] = ()) -> Mistakes:
    """Return where the failures among episodes were lost.

    A failure is held against the successes on the same task: members of its group, other episodes of the
    subject, and ``others``. It follows those whose turns are of the same kinds as long as there are any; the
    first turn of another kind is its mistake. Where the kinds are those of a success to the end, it is the
    first turn whose arguments or answer no such success had.

    Args:
        episodes: of the subject.
        others: further episodes whose successes count, such as those of the other phases of the run.
    """
    successes: defaultdict[str, list[StoredEpisode]] = defaultdict(list)
    for episode in (*episodes, *others):
        if episode.success and episode.turns:
            successes[episode.same_task].append(episode)
    found: dict[tuple[tuple[str, ...], str, bool], Lost] = {}
    compared = alone = unknown = 0
    for episode in episodes:
        if episode.success is not False:
            continue
        if not episode.turns:
            unknown += 1
        elif not (peers := successes.get(episode.same_task)):
            alone += 1
        else:
            compared += 1
            _count(found, episode, peers)
    lost = sorted(found.values(), key=lambda each: -each.episodes)
    return Mistakes(lost, compared, alone, unknown)


def tree_of(lost: Sequence[Lost]) -> dict[str, Any]:
    """Return the places as a tree by the turns that were shared.

    A node has ``turn`` (its kind), ``episodes`` (failures that came through), ``lost`` (what was done instead
    → failures) and ``then`` (nodes).
    """
    root = _node("start")
    for each in lost:
        node = root
        node["episodes"] += each.episodes
        for kind in each.path[:_DEEPEST]:
            node = node["then"].setdefault(kind, _node(kind))
            node["episodes"] += each.episodes
        label = each.did if each.of_kind or each.did == CHANCE else f"{each.did}, but another one"
        node["lost"][label] = node["lost"].get(label, 0) + each.episodes
    return _listed(root)


# ---------------------------------------------------------------------- private


class _Mistake(NamedTuple):
    """The kinds of turn shared with a success, what was done then, what successes did, and one of them."""

    path: tuple[str, ...]
    did: str
    of_kind: bool
    instead: list[str]
    peer: StoredEpisode


def _count(
    found: dict[tuple[tuple[str, ...], str, bool], Lost], episode: StoredEpisode, peers: list[StoredEpisode]
) -> None:
    mistake = _first_mistake(episode, peers)
    key = mistake.path, mistake.did, mistake.of_kind
    lost = found.setdefault(key, Lost(*key))
    lost.episodes += 1
    lost.instead.update(mistake.instead)
    if len(lost.examples) < _EXAMPLES:
        lost.examples.append((episode, mistake.peer))


def _first_mistake(episode: StoredEpisode, peers: list[StoredEpisode]) -> _Mistake:
    kinds = [kind_of(turn) for turn in episode.turns or ()]
    theirs = [(peer, [kind_of(turn) for turn in peer.turns or ()]) for peer in peers]
    shared = max(_common(kinds, path) for _, path in theirs)
    theirs = [(peer, path) for peer, path in theirs if _common(kinds, path) == shared]
    if shared < len(kinds) or all(len(path) > shared for _, path in theirs):
        did = kinds[shared] if shared < len(kinds) else "the end"
        instead = [path[shared] if shared < len(path) else "the end" for _, path in theirs]
        return _Mistake(tuple(kinds[:shared]), did, True, instead, theirs[0][0])
    left = [peer for peer, path in theirs if len(path) == shared]
    for place, turn in enumerate(episode.turns or ()):
        same = [peer for peer in left if _content((peer.turns or ())[place]) == _content(turn)]
        if not same:
            return _Mistake(tuple(kinds[:place]), kinds[place], False, [kinds[place]] * len(left), left[0])
        left = same
    return _Mistake(tuple(kinds), CHANCE, False, [], left[0])


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many first entries two sequences share."""
    differs = (place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differs, min(len(a), len(b)))


def _content(turn: StoredTurn) -> str:
    calls = [[call.get("tool"), call.get("arguments")] for call in turn.calls]
    answer = parse_action(turn.action).answer
    said = turn.action if not calls and answer is None else answer
    return json.dumps([calls, said], sort_keys=True, default=str)


def _kind_of_call(call: Mapping[str, Any]) -> str:
    name = str(call.get("tool") or BAD_CALL)
    return f"{name} ({call.get('error_code') or 'refused'})" if call.get("ok") is False else name


def _node(turn: str) -> dict[str, Any]:
    return {"turn": turn, "episodes": 0, "lost": {}, "then": {}}


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    then = sorted(node["then"].values(), key=lambda each: -each["episodes"])
    return {**node, "then": [_listed(each) for each in then]}
