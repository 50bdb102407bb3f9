"""The smallest automaton that is equivalent to a given one."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_REFERENCE = """
def solve(moves, accepting):
    reached = [START]
    for state in reached:
        reached += [other for other in dict.fromkeys(moves[state]) if other not in reached]
    kind = {state: int(state in accepting) for state in reached}
    while True:
        keys = {state: (kind[state], *[kind[other] for other in moves[state]]) for state in reached}
        names = {key: i for i, key in enumerate(dict.fromkeys(keys.values()))}
        if len(names) == len(set(kind.values())):
            break
        kind = {state: names[keys[state]] for state in reached}
    alive = {state for state in reached if state in accepting}
    for _ in reached:
        alive |= {state for state in reached if alive & set(moves[state])}
    return len(names) - (not DEAD and len(alive) < len(reached))
"""

_BRUTE_FORCE = """
def solve(moves, accepting):
    words = level = [()]
    for _ in moves:
        level = [word + (letter,) for word in level for letter in range(LETTERS)]
        words = words + level

    def end(state, word):
        for letter in word:
            state = moves[state][letter]
        return state

    languages = set()
    for state in {end(START, word) for word in words}:
        languages.add(frozenset(word for word in words if end(state, word) in accepting))
    if not DEAD:
        languages.discard(frozenset())
    return len(languages)
"""


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    return {"START": rng.randint(1, 3), "LETTERS": rng.randint(1, 3), "DEAD": rng.random() < 0.5}


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    count = rng.randint(rule["START"] + 1, 6)
    moves: list[list[int]] = []
    accepting = []
    for state in range(count):
        copied = rng.randrange(state) if state and rng.random() < 0.4 else None
        if copied is None:
            moves.append([rng.randrange(count) for _ in range(rule["LETTERS"])])
        else:
            moves.append(list(moves[copied]))
        if (copied in accepting) if copied is not None else rng.random() < 0.4:
            accepting.append(state)
    return (moves, accepting)


def _edges(rule: Rule) -> Sequence[Arguments]:
    start, letters = rule["START"], rule["LETTERS"]
    count = start + 4
    chain = [[min(state + 1, count - 1)] * letters for state in range(count)]
    ring = [[start + (state + 1 - start) % 4] * letters for state in range(count)]
    every = list(range(count))
    return [
        (chain, [count - 1]),
        (chain, [count - 2]),
        (ring, [start, start + 2]),
        (ring, [start]),
        (chain, []),
        (ring, every),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    start, letters = rule["START"], rule["LETTERS"]
    alphabet = "one letter" if letters == 1 else f"{letters} letters"
    dead = "A state from which no accepting state can be reached counts like any other."
    if not rule["DEAD"]:
        dead = "A state from which no accepting state can be reached is not counted (so 0 is possible)."
    return [
        f"moves[s][i] is the state that a finite automaton enters from state s on letter i ({alphabet}, "
        f"from 0). It starts in state {start}; accepting lists its accepting states. How many states has "
        f"the smallest complete deterministic automaton that accepts the same words? {dead}",
        f"Minimise a deterministic automaton over {alphabet}, with start state {start}, transition table "
        "moves (a row for each state, an entry for each letter) and the list accepting. Return the number "
        f"of states left. {dead}",
        f"A machine is in state {start} at first and goes from s to moves[s][i] on letter i, of {alphabet}. "
        "Two states are alike if the same words lead from them to states in accepting. Return how many "
        f"unlike states it can get into. {dead}",
    ]


AUTOMATA = ProblemFamily(
    name="automata",
    difficulties=range(10, 11),
    entries=("smallest_automaton", "minimal_states", "count_states"),
    parameters={"moves": "list[list[int]]", "accepting": "list[int]"},
    returns="int",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "unreachable states, too": ("reached = [START]", "reached = list(range(len(moves)))"),
        "starts in state 0": ("reached = [START]", "reached = [0]"),
        "one round": ("if len(names) == len(set(kind.values()))", "if True"),
        "dead states the other way": ("not DEAD and", "DEAD and"),
        "does not merge": ("len(names) - ", "len(reached) - "),
    },
)
