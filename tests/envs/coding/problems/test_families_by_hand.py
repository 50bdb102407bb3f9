"""Every family on a rule and inputs worked out by hand: both of its solutions could misread the statement."""

from __future__ import annotations

import pytest

from pixelis.envs.coding.answers.comparison import compare
from pixelis.envs.coding.families import FAMILIES
from pixelis.envs.coding.problems import Problem
from pixelis.envs.coding.problems.trusted import trusted_function

ROMAN = {"SYMBOLS": "ABCDEFG"}  # 1, 5, 10, 50, 100, 500, 1000
MACHINE = {"WORDS": {"up": "inc", "down": "dec", "twice": "double"}, "JUMP": "hop"}
AUTOMATON = {"START": 0, "LETTERS": 1}
TRIANGLE = [("a", "b", 2), ("b", "c", 2), ("a", "c", 8)]
SQUARE = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
FOUR = {"SIZE": 4, "LINES": True, "DIAGONALS": True, "JUMPS": []}

CASES = [
    ("clamp", {"FACTOR": -3, "SHIFT": 6, "LOW": -20, "HIGH": 50}, [((4,), -6), ((10,), -20), ((-20,), 50)]),
    ("letters", {"LETTERS": "aek", "STEP": 1}, [(("Axa-Ek",), 4), (("",), 0)]),
    ("letters", {"LETTERS": "aek", "STEP": 2}, [(("Axa-Ek",), 1), (("xAxE",), 2)]),
    ("multiples", {"FIRST": 4, "SECOND": 6}, [((13,), 4 + 6 + 8 + 12), ((12,), 18), ((-1,), 0)]),
    (
        "select",
        {"DIVISOR": 3, "REST": 2, "LEAST": -4, "FACTOR": 2, "SHIFT": 1, "REVERSED": True},
        [(([-7, -4, -1, 0, 5, 2],), [5, 11, -1, -7]), (([],), [])],
    ),
    ("ciphers", {"KEY": "c"}, [(("xyz, Z!",), "zab, B!")]),
    ("ciphers", {"KEY": "bd"}, [(("Az-zA",), "Bc-aD")]),
    ("digits", {"BASE": 4, "POWER": 2, "REPEAT": False}, [((27,), 1 + 4 + 9), ((0,), 0)]),  # 123 in base 4
    ("digits", {"BASE": 4, "POWER": 1, "REPEAT": True}, [((27,), 3), ((3,), 3), ((4,), 1)]),  # 6, then 3
    ("coprime", {"NUMBER": 12}, [((1, 12), 4), ((5, 4), 0), ((7, 7), 1)]),  # 1, 5, 7, 11
    ("fizzbuzz", {"RULES": [[2, "Hop"], [3, "Zap"]]}, [((6,), ["1", "Hop", "Zap", "Hop", "5", "HopZap"])]),
    ("grids", {"MOVES": ["right", "double"]}, [((SQUARE[:1],), [[1], [1], [2], [2], [3], [3]])]),
    ("grids", {"MOVES": ["shift", "wrap"]}, [((SQUARE[:2],), [[5, 6, 4], [2, 3, 1]])]),
    ("grids", {"MOVES": ["left", "flip"]}, [((SQUARE[:2],), [[1, 4], [2, 5], [3, 6]])]),
    ("grids", {"MOVES": ["mirror", "transpose"]}, [((SQUARE[:2],), [[3, 6], [2, 5], [1, 4]])]),
    ("spiral", {"FROM_RIGHT": True, "START": 1, "STEP": 3}, [((SQUARE,), [2, 7, 6])]),  # 3 2 1 4 7 8 9 6 5
    ("spiral", {"FROM_RIGHT": False, "START": 0, "STEP": 2}, [((SQUARE,), [1, 3, 9, 7, 5])]),
    ("run_lengths", {"MARK": "*", "SHORTEST": 3}, [(("aaabbc",), "3*abbc"), (("b" * 10,), "10*b")]),
    ("run_lengths_back", {"MARK": "*", "SHORTEST": 3}, [(("3*abb12*c",), "aaabb" + "c" * 12)]),
    (
        "sorting",
        {"KEYS": [[2, True], [0, False]]},
        [
            (
                ([("jo", 20, 1), ("dora", 21, 2), ("Eve", 20, 0), ("Ann", 22, 1)],),
                [("dora", 21, 2), ("Ann", 22, 1), ("Eve", 20, 0), ("jo", 20, 1)],
            )
        ],
    ),
    (
        "groups",
        {"IGNORED": "-", "LEAST": 2},
        [((["ab", "B-a", "c", "ba", "dc", "cd"],), [["B-a", "ab", "ba"], ["cd", "dc"]])],
    ),
    (
        "intervals",
        {"GAP": 2, "SHORTEST": 3},
        [(([(8, 9), (0, 4), (6, 7), (20, 22)],), [(0, 9)]), (([(0, 5), (8, 11)],), [(0, 5), (8, 11)])],
    ),
    ("numerals", ROMAN, [((1994,), "GEGCEAB"), ((38,), "CCCBAAA"), ((3,), "AAA")]),
    ("numerals_back", ROMAN, [(("GEGCEAB",), 1994), (("DC",), 60), (("CD",), 40)]),
    ("pairs", {"SIZE": 2, "MODULUS": 5, "REST": 0}, [(([1, 4, 6, -1, 4],), 6), (([5],), 0)]),
    ("pairs", {"SIZE": 3, "MODULUS": 4, "REST": 2}, [(([1, 2, 3, 1],), 2)]),  # 1 + 2 + 3 and 2 + 3 + 1
    ("caches", {"SIZE": 2, "POLICY": "oldest"}, [((list("abaca"),), list("abca"))]),
    ("caches", {"SIZE": 2, "POLICY": "unused"}, [((list("abaca"),), list("abc"))]),
    ("caches", {"SIZE": 2, "POLICY": "rarest"}, [((list("abbaacb"),), list("abcb"))]),
    ("factors", {"MODULUS": 4, "RESTS": [2, 3]}, [((360,), [(2, 3), (3, 2)]), ((25,), []), ((7,), [(7, 1)])]),
    (
        "brackets",
        {"PAIRS": ["()", "<>"], "WHERE": False},
        [(("(<)>",), False), (("(a<>)",), True), (("",), True), (("(",), False)],
    ),
    (
        "brackets",
        {"PAIRS": ["()", "<>", "[]"], "WHERE": True},
        [(("(<)>",), 2), (("(<",), 1), (("()[",), 2), (("[()]",), -1), ((")",), 0)],
    ),
    (
        "calculator",
        {"LEVELS": [{"@": "minus"}, {"#": "times"}]},
        [(("10 @ 2 # 3 @ 1",), 3), (("(10 @ 2) # 3",), 24), (("7",), 7)],
    ),
    (
        "calculator",
        {"LEVELS": [{"@": "minus"}, {"~": "max", "%": "minus twice"}, {"#": "times"}]},
        [(("9 ~ 2 # 5 @ 1",), 9), (("8 % 1 % 2 ~ 3",), 3)],  # 10 - 1; (8 - 2) - 4 = 2, then 3
    ),
    ("coins", {"COINS": [4, 5, 10], "FEWEST": True}, [((12,), 3), ((10,), 1), ((3,), -1), ((0,), 0)]),
    ("coins", {"COINS": [2, 3], "FEWEST": False}, [((6,), 2), ((1,), 0), ((0,), 1)]),
    (
        "grid_path",
        {"MOVES": [[0, 1], [1, 0], [-1, 0], [0, -1]], "WALL": "#"},
        [((["..#", ".#.", "..."],), 4), (([".#", "#."],), -1), ((["."],), 0)],
    ),
    (
        "edit_distance",
        {"INSERT": 2, "DELETE": 3, "REPLACE": 4},
        [(("ab", "b"), 3), (("a", "b"), 4), (("", "xy"), 4), (("abc", "abc"), 0)],
    ),
    (
        "ordering",
        {"ORDER": "badce"},
        [((["a", "b", "c"], [("c", "b")]), ["a", "c", "b"]), ((["d", "b"], []), ["b", "d"])],
    ),
    ("ordering", {"ORDER": "badce"}, [((["a", "b"], [("a", "b"), ("b", "a")]), [])]),
    (
        "machines",
        {**MACHINE, "LIMIT": 50},
        [
            ((["up a", "down b", "hop b -2"], 0, 3), (3, 0)),
            ((["twice a", "twice b"], 5, -1), (10, -2)),
            ((["hop a 2", "up b"], 1, 0), (1, 0)),
        ],
    ),
    ("machines", {**MACHINE, "LIMIT": 4}, [((["up a", "down b", "hop b -2"], 0, 3), (2, 2))]),
    (
        "routes",
        {"TOLL": 3, "LEGS": 3},
        [((TRIANGLE, "a", "c"), 7), ((TRIANGLE, "a", "a"), 0), ((TRIANGLE, "a", "x"), -1)],
    ),
    ("routes", {"TOLL": 5, "LEGS": 3}, [((TRIANGLE, "a", "c"), 8), ((TRIANGLE, "c", "b"), 2)]),
    ("routes", {"TOLL": 3, "LEGS": 1}, [((TRIANGLE, "a", "c"), 8)]),
    ("queens", FOUR, [(([], 4), 2), (([(0, 0), (1, 1), (2, 2)], 1), 13), (([], 0), 1)]),
    (
        "queens",
        {"SIZE": 4, "LINES": False, "DIAGONALS": False, "JUMPS": [[1, 2]]},  # knights: 120 pairs, 24 attack
        [(([], 2), 96)],
    ),
    (
        "range_queries",
        {"ASK": "sum", "ADDS": True, "FACTOR": 2},
        [(([1, 2, 3], [("ask", 0, 1), ("set", 1, 5), ("ask", 1, 2)]), [6, 20])],
    ),
    (
        "range_queries",
        {"ASK": "smallest", "ADDS": False, "FACTOR": -1},
        [(([4, 2, 9], [("ask", 0, 2), ("set", 1, 7), ("ask", 0, 2)]), [-2, -4])],
    ),
    (
        "patterns",
        {"WILD": "?", "REPEATS": {"*": "any"}},
        [(("a*b", "aabx"), 3), (("a*", "b"), 0), (("b", "a"), -1), (("?*", "abc"), 3), (("", "a"), 0)],
    ),
    (
        "patterns",
        {"WILD": "?", "REPEATS": {"*": "any", "+": "many", "!": "maybe"}},
        [(("a+", "b"), -1), (("a+b!", "aac"), 2), (("a!b", "b"), 1)],
    ),
    ("automata", {**AUTOMATON, "DEAD": True}, [(([[1], [0]], [1]), 2), (([[1], [0]], [0, 1]), 1)]),
    ("automata", {**AUTOMATON, "DEAD": True}, [(([[1], [1], [0]], [0]), 2)]),
    ("automata", {**AUTOMATON, "DEAD": False}, [(([[1], [1], [0]], [0]), 1), (([[0]], []), 0)]),
    # what a rule or an input can do beyond the first case of its family
    ("clamp", {"FACTOR": 0, "SHIFT": 7, "LOW": 9, "HIGH": 12}, [((99,), 9), ((-99,), 9)]),
    ("multiples", {"FIRST": 5, "SECOND": 5}, [((11,), 5 + 10), ((10,), 5), ((5,), 0)]),
    (
        "ciphers",
        {"KEY": "az"},
        [(("aBc",), "aAc"), (("a-b-c",), "a-a-c"), (("",), "")],
    ),  # only letters move the key on
    ("digits", {"BASE": 10, "POWER": 1, "REPEAT": True}, [((493,), 7), ((10,), 1), ((0,), 0)]),
    ("coprime", {"NUMBER": 30}, [((1, 30), 8), ((31, 31), 1), ((4, 3), 0)]),
    ("spiral", {"FROM_RIGHT": False, "START": 0, "STEP": 1}, [(([[1, 2, 3, 4]],), [1, 2, 3, 4])]),
    ("spiral", {"FROM_RIGHT": True, "START": 0, "STEP": 1}, [(([[1], [2], [3]],), [1, 2, 3])]),
    ("run_lengths", {"MARK": "#", "SHORTEST": 2}, [(("aab",), "2#ab"), (("",), ""), (("a",), "a")]),
    ("run_lengths_back", {"MARK": "#", "SHORTEST": 2}, [(("2#ab",), "aab"), (("",), "")]),
    ("intervals", {"GAP": 0, "SHORTEST": 1}, [(([(3, 5), (1, 3), (7, 7)],), [(1, 5)]), (([],), [])]),
    ("numerals", ROMAN, [((4,), "AB"), ((900,), "EG"), ((3999,), "GGGEGCEAC")]),
    ("pairs", {"SIZE": 2, "MODULUS": 2, "REST": 1}, [(([1, 3, 5],), 0), (([1, 2, 3, 4],), 4)]),
    ("brackets", {"PAIRS": ["()"], "WHERE": True}, [(("",), -1), (("a)(",), 1), (("((a)",), 0)]),
    (
        "calculator",
        {"LEVELS": [{"@": "minus"}, {"~": "min", "#": "times"}]},
        [(("9 ~ 4 # 2 @ 3 # 2 ~ 1",), 7), (("((5)) @ (2 @ 1)",), 4)],  # 4 · 2 - min(6, 1)
    ),
    ("coins", {"COINS": [3, 7], "FEWEST": True}, [((11,), -1), ((13,), 3), ((14,), 2)]),
    ("coins", {"COINS": [2, 5, 10], "FEWEST": False}, [((10,), 3), ((3,), 0), ((20,), 6)]),
    (
        "grid_path",
        {"MOVES": [[0, 1], [1, 0], [2, 1]], "WALL": "#"},
        [((["..", "#.", ".."],), 1), ((["...", "..."],), 3)],
    ),
    (
        "grid_path",  # a move may pass over a wall; only where it ends counts
        {"MOVES": [[0, 2], [1, 0], [0, -1]], "WALL": "X"},
        [(([".X.", "XX."],), 2), ((["...."],), 3), (([".."],), -1)],
    ),
    (
        "edit_distance",
        {"INSERT": 5, "DELETE": 2, "REPLACE": 6},
        [(("abcde", "bcdea"), 7), (("aab", "baaab"), 10), (("ab", "ba"), 7), (("abc", ""), 6)],
    ),
    (
        "routes",
        {"TOLL": 2, "LEGS": 2},
        [
            (
                ([("a", "b", 1), ("b", "c", 1), ("c", "d", 1), ("a", "d", 50)], "a", "d"),
                50,
            ),  # three roads are too many
            (([("a", "b", 9), ("b", "a", 4)], "b", "a"), 4),
            (([], "x", "y"), -1),
        ],
    ),
    (
        "queens",
        {"SIZE": 3, "LINES": True, "DIAGONALS": False, "JUMPS": []},
        [(([], 3), 6), (([(0, 0)], 2), 18 - 4)],
    ),
    (
        "factors",
        {"MODULUS": 5, "RESTS": [1, 2]},
        [((2 * 3 * 7 * 11,), [(2, 1), (7, 1), (11, 1)]), ((1,), [])],
    ),
    (
        "range_queries",
        {"ASK": "sum", "ADDS": False, "FACTOR": 1},
        [(([1, 2], [("set", 0, 9), ("ask", 0, 1)]), [11])],
    ),
    (
        "patterns",
        {"WILD": "?", "REPEATS": {}},
        [(("?b", "abb"), 2), (("?b", "aab"), -1), (("c", "ab"), -1), (("??", "a"), -1)],
    ),
]


def test_every_family_has_a_case():
    assert {name for name, _, _ in CASES} == set(FAMILIES)


@pytest.mark.parametrize(("name", "rule", "cases"), CASES, ids=[name for name, _, _ in CASES])
def test_both_solutions_give_what_the_statement_says(name, rule, cases):
    family = FAMILIES[name]
    problem = Problem("x", name, family.difficulties[0], "train", "…", "f", rule=rule)
    for text in (family.reference(problem), family.brute_force(problem)):
        function = trusted_function(text, "f")
        for args, expected in cases:
            assert compare(expected, function(*args), family.comparison), args
