"""A tiny machine whose instructions are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pixelis.envs.coding.families.family import Arguments, ProblemFamily, Rule

_ACTIONS = {
    "inc": "adds 1 to register r",
    "dec": "subtracts 1 from register r",
    "double": "doubles register r",
    "square": "replaces register r by its square modulo 1000",
    "negate": "changes the sign of register r",
    "add": "adds the other register to register r",
    "swap": "exchanges a and b",
}

_REFERENCE = """
def solve(program, a, b):
    held = {"a": a, "b": b}
    at = 0
    for _ in range(LIMIT):
        if not 0 <= at < len(program):
            break
        word, *rest = program[at].split()
        at += 1
        if word == JUMP:
            if held[rest[0]] > 0:
                at += int(rest[1]) - 1
            continue
        r = rest[0]
        other = "b" if r == "a" else "a"
        action = WORDS[word]
        if action == "inc":
            held[r] += 1
        elif action == "dec":
            held[r] -= 1
        elif action == "double":
            held[r] *= 2
        elif action == "square":
            held[r] = held[r] ** 2 % 1000
        elif action == "negate":
            held[r] = -held[r]
        elif action == "add":
            held[r] += held[other]
        else:
            held[r], held[other] = held[other], held[r]
    return (held["a"], held["b"])
"""

_BRUTE_FORCE = """
CHANGES = {
    "inc": lambda x, y: (x + 1, y),
    "dec": lambda x, y: (x - 1, y),
    "double": lambda x, y: (x + x, y),
    "square": lambda x, y: (x * x % 1000, y),
    "negate": lambda x, y: (-x, y),
    "add": lambda x, y: (x + y, y),
    "swap": lambda x, y: (y, x),
}

def run(program, at, a, b, steps):
    while steps < LIMIT and at in range(len(program)):
        parts = program[at].split()
        steps += 1
        if parts[0] == JUMP:
            value = a if parts[1] == "a" else b
            at = at + int(parts[2]) if value > 0 else at + 1
        elif parts[1] == "a":
            a, b = CHANGES[WORDS[parts[0]]](a, b)
            at = at + 1
        else:
            b, a = CHANGES[WORDS[parts[0]]](b, a)
            at = at + 1
    return (a, b)

def solve(program, a, b):
    return run(program, 0, a, b, 0)
"""

_WORDS = ("foo", "bar", "zip", "mov", "pad", "tik", "lox", "run", "set", "cut", "fix", "hop", "ram", "vex")


def _draw_rule(rng: Random, difficulty: int) -> dict[str, Any]:
    actions = ["inc", "dec", *rng.sample(list(_ACTIONS)[2:], difficulty - 5)]
    words = rng.sample(_WORDS, len(actions) + 1)
    return {
        "WORDS": dict(zip(words[1:], actions, strict=True)),
        "JUMP": words[0],
        "LIMIT": rng.randint(30, 60),
    }


def _word(rule: Rule, action: str) -> str:
    return next(word for word, meaning in rule["WORDS"].items() if meaning == action)


def _draw_args(rng: Random, rule: Rule) -> Arguments:
    lines = []
    for _ in range(rng.randint(3, 8)):
        if rng.random() < 0.25:
            lines.append(f"{rule['JUMP']} {rng.choice('ab')} {rng.choice([-3, -2, -1, 2, 3])}")
        else:
            lines.append(f"{rng.choice(list(rule['WORDS']))} {rng.choice('ab')}")
    return (lines, rng.randint(-3, 6), rng.randint(-3, 6))


def _edges(rule: Rule) -> Sequence[Arguments]:
    inc, dec, jump = _word(rule, "inc"), _word(rule, "dec"), rule["JUMP"]
    adding = [f"{dec} a", f"{inc} b", f"{jump} a -2"]
    return [
        ([], 3, -4),
        (adding, 5, 2),
        (adding, 0, 0),
        ([f"{inc} a", f"{jump} a -1"], 0, 1),
        ([f"{inc} b", f"{inc} a", f"{jump} a -1"], 0, 1),
        ([f"{jump} a 2", f"{inc} b", f"{inc} a"], 0, 0),
        ([f"{jump} b 9", f"{inc} a"], 4, 1),
        ([f"{inc} b", f"{jump} b -2"], 1, 1),
        ([f"{word} {r}" for word in rule["WORDS"] for r in "ab"], 3, 7),
        ([f"{word} b" for word in rule["WORDS"]] * 2, 11, 5),
    ]


def _wordings(rule: Rule) -> Sequence[str]:
    listed = "; ".join(f"'{word} r' {_ACTIONS[action]}" for word, action in rule["WORDS"].items())
    jump, limit = rule["JUMP"], rule["LIMIT"]
    note = (
        f"'{jump} r n' jumps n lines on from its own line (n may be negative) if register r is above 0, and "
        f"does nothing else. The run starts in the first line and ends outside the program, or after {limit} "
        "executed lines, jumps included. r is a or b."
    )
    return [
        "Run a program (a list of lines) on a machine with two integer registers a and b, and return (a, b) "
        f"at the end as a tuple. The instructions: {listed}; {note}",
        "Write an interpreter. The state is the registers a and b, given. Each line of program does one "
        f"thing: {listed}; {note} Return the final tuple (a, b).",
        f"A toy processor has registers a and b and these instructions: {listed}; {note} What does (a, b) "
        "hold when program is over?",
    ]


MACHINES = ProblemFamily(
    name="machines",
    difficulties=range(8, 10),
    entries=("run_program", "execute", "interpret"),
    parameters={"program": "list[str]", "a": "int", "b": "int"},
    returns="tuple[int, int]",
    wordings=_wordings,
    draw_rule=_draw_rule,
    draw_args=_draw_args,
    edges=_edges,
    reference_text=_REFERENCE,
    brute_force_text=_BRUTE_FORCE,
    mistakes={
        "jumps from the next line": ("int(rest[1]) - 1", "int(rest[1])"),
        "jumps at 0 too": ("held[rest[0]] > 0", "held[rest[0]] >= 0"),
        "never jumps": ("held[rest[0]] > 0", "False"),
        "one step more": ("range(LIMIT)", "range(LIMIT + 1)"),
        "registers swapped": ('(held["a"], held["b"])', '(held["b"], held["a"])'),
    },
)
