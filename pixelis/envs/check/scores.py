"""The contract's clauses about scores: oracle, floors, the gap between them, progress."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pixelis.envs.check.contract import Finding, Subject
from pixelis.envs.check.playing import Recorder, Turn, play, play_asking, play_turns, same
from pixelis.envs.tasks import SPLITS
from pixelis.envs.tool_env import ToolEnv

FLOORS = ("nothing", "random")
TOOL_FREE = ("tool_free", "overview_only")
BLIND = "blind"
"""Of an environment without tools, where nobody can do without them: the player that does not read the
task."""

MOST_UNEARNED = 2 / 3
"""Share of the oracle's mean reward that a player which must fail may earn."""

_ROUNDING = 1e-9
_UNKNOWN = "none: knows_solutions is False, nobody here knows what solves its tasks"
_FEW = 2
"""Seeds of a check that plays all exploits once more."""
_SOME = 6
"""Seeds of a check that plays the oracle thrice."""
_ANSWER, _ANSWER_END = "<answer>", "</answer>"


@dataclass(frozen=True)
class Score:
    """What a player reached.

    Attributes:
        player: its name.
        episodes: how many were played.
        success: share of them that succeeded, 0-1.
        reward: their mean reward.
        turns: their mean number of turns.
    """

    player: str
    episodes: int
    success: float
    reward: float
    turns: float


def score(env: ToolEnv[Any], player: str, seeds: Sequence[int], **options: Any) -> Score:
    """Play a shipped player on every seed; ``options`` go to ``reset``.

    Raises:
        KeyError: the environment ships no such player.
    """
    make = env.players()[player]
    ends: list[tuple[Turn, int]] = []
    for seed in seeds:
        episode = play(env, make(env), seed, options)
        ends.append((episode[-1], len(episode) - 1))
    count = len(ends)
    return Score(
        player,
        count,
        sum(bool(end[4]["success"]) for end, _ in ends) / count,
        sum(end[1] for end, _ in ends) / count,
        sum(turns for _, turns in ends) / count,
    )


def must_fail(player: str) -> bool:
    """Return whether a player of this name must stay at the floor."""
    return player in (*FLOORS, *TOOL_FREE, BLIND) or player.startswith("exploit_")


def oracle_succeeds(subject: Subject) -> Finding:
    """The oracle succeeds on every seed of every difficulty and both splits."""
    env = subject.tool_env()
    if not env.knows_solutions:
        return Finding("oracle_succeeds", True, _UNKNOWN)
    missed = []
    for difficulty in env.source.difficulties:
        for seed in subject.seeds:
            options = {"difficulty": difficulty, "split": ("train", "test")[seed % 2]}
            if not play(env, env.players()["oracle"](env), seed, options)[-1][4]["success"]:
                missed.append((difficulty, seed))
    count = len(env.source.difficulties) * len(subject.seeds)
    measured = f"{count - len(missed)} of {count}" + (
        f"; missed (difficulty, seed) {missed[:5]}" if missed else ""
    )
    remedy = "correct the oracle, or the tasks nobody can solve"
    numbers = {"oracle": 1 - len(missed) / count}
    return Finding("oracle_succeeds", not missed, measured, remedy, numbers=numbers)


def floors_hold(subject: Subject) -> Finding:
    """Silence, chance, a tool-free player and every exploit are shipped, and stay at the floor.

    An environment without tools ships a ``blind`` player in the place of a tool-free one; where nobody knows
    the solutions (``knows_solutions``), silence and chance are enough. The floor is one of
    success and, for rewards with degrees, one of reward: a learner follows what an exploit is paid, not
    whether it counts as success. So whoever must fail may earn two thirds of the oracle's mean, or what
    chance gives if that is more. The oracle must fail, too, where it gives another seed's answer beside the
    right one, see ``two_answers``.
    """
    env = subject.tool_env()
    names = [name for name in env.players() if must_fail(name)]
    missing = [name for name in FLOORS if name not in names]
    needed = TOOL_FREE if env.toolset.tools else (BLIND,)
    if env.knows_solutions and not set(names) & set(needed):
        missing.append(" or ".join(needed))
    if env.knows_solutions and not any(name.startswith("exploit_") for name in names):
        missing.append("exploit_*")
    scores = [score(env, name, subject.seeds) for name in names]
    measured = ", ".join(f"{one.player} {one.success:.2f}" for one in scores)
    if missing:
        return Finding(
            "floors_hold", False, f"missing: {', '.join(missing)}; {measured}", "add it to players()"
        )
    allowed = greatest_floor(env.chance(env.difficulty), len(subject.seeds), subject.floor)
    numbers = {**{one.player: one.success for one in scores}, "allowed": allowed}
    above = [one.player for one in scores if one.success > (0 if one.player == "nothing" else allowed)]
    remedy = f"{', '.join(above)} above {allowed:.3g}: make the tool needed, the verifier stricter"
    if above:
        return Finding("floors_hold", False, measured, remedy, numbers=numbers)
    if not env.knows_solutions:
        return Finding("floors_hold", True, f"{measured}; exploits: {_UNKNOWN}", numbers=numbers)
    both = two_answers(env, subject.seeds[:_SOME])
    if both is not None:
        measured += f", two answers at once {both:.2f}"
    if both is not None and both > subject.floor:
        remedy = "compare the whole answer: one that names a wrong one beside the right one must fail"
        return Finding("floors_hold", False, measured, remedy, numbers=numbers)
    most = max(MOST_UNEARNED, allowed) * score(env, "oracle", subject.seeds).reward
    paid = [f"{one.player} {one.reward:.2f}" for one in scores if one.reward > most]
    if paid:
        measured = f"mean rewards {', '.join(paid)}, more than {most:.2f}"
    return Finding("floors_hold", not paid, measured, "pay less for what is not the task", numbers=numbers)


def two_answers(env: ToolEnv[Any], seeds: Sequence[int]) -> float | None:
    """Return how often the oracle succeeds that answers "RIGHT or WRONG", or "WRONG or RIGHT", 0-1.

    The wrong answer is another seed's. None where there is nothing to try: the oracle writes no ``<answer>``,
    the seeds' answers are equal, a wrong answer succeeds too (the end state counts, not what is said), or
    rewards have degrees (``success_line``): what they accept is no list of words.
    """
    if env.success_line is not None:
        return None
    turns: dict[int, list[str]] = {}
    answers: dict[int, str] = {}
    for seed in seeds:
        oracle = Recorder(env.players()["oracle"](env))
        play(env, oracle, seed)
        *before, last = oracle.actions
        calls, tag, rest = last.rpartition(_ANSWER)
        if tag:
            turns[seed], answers[seed] = [*before, calls], rest.partition(_ANSWER_END)[0].strip()
    found = []
    for place, (seed, right) in enumerate(answers.items()):
        wrong = next((one for one in answers.values() if one.casefold() != right.casefold()), "")
        both = f"{right} or {wrong}" if place % 2 else f"{wrong} or {right}"
        if right and wrong and not _succeeds(env, turns[seed], wrong, seed):
            found.append(_succeeds(env, turns[seed], both, seed))
    return sum(found) / len(found) if found else None


def _succeeds(env: ToolEnv[Any], turns: Sequence[str], answer: str, seed: int) -> bool:
    """Return whether turns succeed whose last one gives an answer besides."""
    played = play_turns(env, [*turns[:-1], f"{turns[-1]}{_ANSWER}{answer}{_ANSWER_END}"], seed)
    return bool(played[-1][4].get("success"))


def gap_holds(subject: Subject) -> Finding:
    """No recorded failure is nearer to a success than the declared ``task_gap``, nor above ``success_line``.

    Played are all shipped players, and the oracle with its last turn taken for a wrong answer (which earns
    what partial credit there is), at every difficulty. An environment that declares no gap passes: reward
    terms then refuse it, unless whoever sets them up says the gap.
    """
    env = subject.tool_env()
    if not env.knows_solutions:
        return Finding("gap_holds", True, _UNKNOWN)
    won, lost = _returns(env, list(subject.seeds))
    seen = f"{len(won)} successes, least {min(won, default=math.nan):.4g}; "
    seen += f"{len(lost)} failures, greatest {max(lost, default=math.nan):.4g}"
    if not won or not lost:
        return Finding("gap_holds", False, seen, "ship an oracle that succeeds and floors that fail")
    if env.task_gap is None:
        return Finding("gap_holds", True, f"not declared; {seen}: set task_gap to use reward terms")
    gap, line = min(won) - max(lost), env.success_line
    wrong = [] if gap >= env.task_gap - _ROUNDING else [f"the gap is {gap:.4g}, declared {env.task_gap:.4g}"]
    if line is not None and not max(lost) < line <= min(won):
        wrong.append(f"the success line {line:.4g} is not between them")
    if env.task_gap <= 0 and line is None:
        wrong.append("a task_gap of 0 needs a success_line")
    measured = "; ".join([*wrong, seen]) if wrong else f"declared {env.task_gap:.4g}; {seen}"
    return Finding("gap_holds", not wrong, measured, "declare the smallest gap, or pay failures less")


def _returns(env: ToolEnv[Any], seeds: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return the rewards of successes and of failures, of episodes that are valid for training."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for place, seed in enumerate(seeds):
        difficulty = env.source.difficulties[place % len(env.source.difficulties)]
        options = {"difficulty": difficulty, "split": SPLITS[place % 2]}
        oracle = Recorder(env.players()["oracle"](env))
        episodes = [play(env, oracle, seed, options)]
        episodes += [
            play(env, make(env), seed, options) for name, make in env.players().items() if name != "oracle"
        ]
        episodes.append(play(env, Almost(oracle.actions), seed, options))
        for last in (episode[-1] for episode in episodes):
            if last[4].get("valid_for_training", True):
                found[bool(last[4]["success"])].append(last[1])
    return found[True], found[False]


class Almost:
    """Plays given turns, but a wrong answer for the last; then answers on to the end."""

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = iter(turns[:-1])

    def act(self, observation: Any, info: Any) -> str:
        """Return the next turn."""
        return next(self._turns, "<answer>?</answer>")


def progress_holds(subject: Subject) -> Finding:
    """Progress is 0 at first, never falls along the oracle, is 1 for success alone, and pays no failure.

    For players that must fail too it begins with 0, stays below 1 and ends with 0, so that what it gave on
    the way is taken back. Asking for it changes nothing. An environment that does not know its progress
    passes: the reward term is then refused.
    """
    env, wrong = subject.tool_env(), []
    if not env.reward_traits.has_progress:
        return Finding("progress_holds", True, "none: nearness() is not overridden, the term is refused")
    for place, seed in enumerate(subject.seeds):
        difficulty = env.source.difficulties[place % len(env.source.difficulties)]
        options = {"difficulty": difficulty, "split": SPLITS[place % 2]}
        oracle = Recorder(env.players()["oracle"](env))
        turns, progress = play_asking(env, oracle, seed, options)
        values = [-1.0 if value is None else value for value in progress]
        where = f"(difficulty {difficulty}, seed {seed})"
        if values[0] != 0 or values != sorted(values) or values[-1] != 1 or max(values[:-1]) == 1:
            wrong.append(f"the oracle's is {[round(value, 3) for value in values]} {where}")
        if place == 0 and not same(turns, play(env, Almost([*oracle.actions, ""]), seed, options)):
            wrong.append("an episode is another one where it is asked for")
    players = [name for name in env.players() if must_fail(name)]
    wrong += [_misled(env, name, seed) for name in players for seed in subject.seeds[:_FEW]]
    wrong = [one for one in wrong if one]
    measured = "; ".join(wrong[:3]) or f"{len(subject.seeds)} oracles, {len(players)} players that must fail"
    remedy = "nearness() is 0 at the start, below 1 until the end, and reads the episode alone"
    return Finding("progress_holds", not wrong, measured, remedy)


def _misled(env: ToolEnv[Any], player: str, seed: int) -> str:
    """Return what progress pays a player that it should not, as words; empty for nothing."""
    turns, progress = play_asking(env, env.players()[player](env), seed)
    if None in progress:
        return f"{player} is told nothing (seed {seed})"
    *before, last = (float(value or 0.0) for value in progress)
    if before[0] != 0 or last != turns[-1][4]["success"] or max(before) >= 1:
        return f"that of {player} is {[round(value, 3) for value in (*before, last)]} (seed {seed})"
    return ""


def greatest_floor(chance: float, episodes: int, floor: float) -> float:
    """Return the success rate up to which a player that must fail is taken to.

    ``floor`` above chance, and two standard deviations of what chance gives in so few episodes:
    c + floor + 2 √(c (1 - c) / n), which is ``floor`` where nothing can be guessed.
    """
    return chance + floor + 2 * math.sqrt(chance * (1 - chance) / episodes)
