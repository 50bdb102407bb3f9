"""Behaviour, outcomes, first mistakes and comparisons: by hand on a few turns, and of a real run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import toy_env  # registers the toys

from pixelis.agents.analysis.analysis import analyse
from pixelis.agents.analysis.behaviour import behaviour_of, loop_of
from pixelis.agents.analysis.comparing import compare, pairs_of
from pixelis.agents.analysis.mistakes import CHANCE, find_mistakes, kind_of, tree_of
from pixelis.agents.analysis.outcomes import calibration_of, outcomes_of
from pixelis.agents.analysis.subjects import AnalysisSubject, read_subjects
from pixelis.agents.analysis.tables import episode_rows, subject_rows
from pixelis.agents.episode_files.stored import StoredEpisode, StoredTurn
from pixelis.agents.rl.run import train
from pixelis.agents.run_files.about import ABOUT
from pixelis.agents.runs.evaluate import wilson_interval
from pixelis.agents.viewing.visible import csv_of
from pixelis.rewards.terms.traits import RewardTraits, ToolTraits


def called(tool, ok=True, **arguments):
    call = {"tool": tool, "ok": ok, "arguments": arguments, "error_code": None if ok else "no"}
    return StoredTurn("…", "said", (call,), 0.0, -0.5, 3)


def answered(text, logprob=-0.1):
    return StoredTurn(f"<answer>{text}</answer>", "", (), 1.0, logprob, 2)


def episode(*turns, success=None, seed=0, **fields):
    calls = tuple(call for turn in turns for call in turn.calls)
    known = {"reward": float(success or 0), "turn_count": len(turns), "calls": calls} | fields
    return StoredEpisode(Path("x.jsonl"), seed + 1, seed=seed, turns=turns, success=success, **known)


@pytest.mark.parametrize(
    ("actions", "pattern", "times"),
    [
        ("", None, 0),
        ("abc", None, 0),
        ("aba", None, 0),
        ("abb", "b", 2),
        ("xabab", "ab", 2),
        ("aaaa", "a", 4),
        ("xabcabcabcz", "abc", 3),
        ("abcdabce", None, 0),
        ("aabcabc", "abc", 2),
    ],
)
def test_loops_of_any_length(actions, pattern, times):
    found = loop_of(list(actions))
    assert found == (None if pattern is None else (tuple(pattern), times))


def test_behaviour_by_hand():
    look, read = called("LOOK", at=1), called("READ")
    episodes = [
        episode(look, read, answered("a")),
        episode(look, called("LOOK", at=1), called("READ", ok=False)),
    ]
    tools = {"LOOK": ToolTraits(leads_to=("READ",)), "READ": ToolTraits()}
    traits = RewardTraits(tools=tools)
    found = behaviour_of(episodes, traits)
    assert found["tools"] == {"LOOK": {"calls": 3, "failed": 0}, "READ": {"calls": 2, "failed": 1}}
    assert found["bigrams"] == {"LOOK → READ": 2, "LOOK → LOOK": 1}
    assert found["error_codes"] == {"no": 1} and found["turns"]["mean"] == 3 and found["tokens"]["max"] == 9
    assert found["exploration_efficiency"] == 3 / 5 and found["rapr"] is None
    # a good pair pays 0.2; in the other episode a repetition takes 0.5, and a failed call makes no pair
    assert (found["coherence"]["max"], found["coherence"]["min"]) == (0.2, -0.5)
    assert found["loops"]["episodes"] == 0.5 and found["loops"]["by_length"] == {"1": 1}


def test_outcomes_by_hand():
    paid = {"task": {"weighted": 0.0}, "bonus": {"weighted": 0.9}}
    episodes = [
        episode(answered("a", math.log(0.95)), success=True, seed=0, task={"difficulty": 1}),
        episode(answered("b", math.log(0.85)), success=False, seed=0, task={"difficulty": 1}),
        episode(answered("c", math.log(0.05)), success=False, seed=1, task={"difficulty": 2}),
    ]
    found = outcomes_of(episodes)
    assert found["success"]["rate"] == pytest.approx(1 / 3) and found["tasks"] == 2
    # of two tasks: what members of a group say of one task is one thing
    assert (found["success"]["low"], found["success"]["high"]) == wilson_interval(2 / 3, 2)
    assert [(row["value"], row["success"]["rate"]) for row in found["by"]["difficulty"]] == [
        (1, 0.5),
        (2, 0.0),
    ]
    assert list(found["by"]) == ["difficulty"]
    assert {name: found["levels"][name] for name in ("always", "sometimes", "never")} == {
        "always": 0,
        "sometimes": 1,
        "never": 1,
    }
    calibration = found["calibration"]
    # bins 0.0, 0.8 and 0.9 with one episode each: errors 0.05, 0.85 and 0.05
    assert calibration["ece"] == pytest.approx(0.95 / 3)
    assert calibration["brier"] == pytest.approx((0.05**2 + 0.85**2 + 0.05**2) / 3)
    tempting = [
        episode(answered("a"), success=True, reward=1.0),
        episode(answered("b"), success=False, reward=1.2, reward_parts=paid),
    ]
    assert outcomes_of(tempting)["paid"]["failures_paid_as_successes"] == 1.0
    assert outcomes_of(tempting)["paid"]["components"]["bonus"] == {"failed": 0.9}
    assert calibration_of([episode(answered("a", None), success=True)]) is None


def test_first_mistakes_by_hand():
    look, read = called("LOOK", at=1), called("READ")
    right = episode(look, read, answered("K7"), success=True)
    failures = [
        episode(read, answered("Q2"), success=False),  # read without a look
        episode(read, answered("K7"), success=False),
        episode(look, called("READ", ok=False), success=False),
        episode(called("LOOK", at=2), read, answered("K7"), success=False),  # looked elsewhere
        episode(look, read, answered("Q2"), success=False),
        episode(look, read, success=False),  # never answered
        episode(look, read, answered("K7"), success=False),
        episode(read, success=False, seed=9),  # nobody succeeded there
    ]
    found = find_mistakes([right, *failures])
    assert (found.compared, found.alone, found.unknown) == (7, 1, 0)
    places = {(each.path, each.did, each.of_kind): (each.episodes, dict(each.instead)) for each in found.lost}
    assert places == {
        ((), "READ", True): (2, {"LOOK": 2}),
        (("LOOK",), "READ (no)", True): (1, {"READ": 1}),
        ((), "LOOK", False): (1, {"LOOK": 1}),
        (("LOOK", "READ"), "answer", False): (1, {"answer": 1}),
        (("LOOK", "READ"), "the end", True): (1, {"answer": 1}),
        (("LOOK", "READ", "answer"), CHANCE, False): (1, {}),
    }
    tree = tree_of(found.lost)
    assert tree["episodes"] == 7 and tree["lost"] == {"READ": 2, "LOOK, but another one": 1}
    (looked,) = tree["then"]
    assert (looked["turn"], looked["episodes"], looked["lost"]) == ("LOOK", 4, {"READ (no)": 1})
    assert kind_of(StoredTurn("hm", None)) == "a turn in words"


def played(name, rates, seed=0):
    """A subject with ten tasks; each is won with its rate."""
    rng = np.random.default_rng(seed)
    won = [bool(rng.random() < rate) for rate in rates]
    return AnalysisSubject(
        name, "after", "greedy", name, [episode(answered("a"), success=s, seed=n) for n, s in enumerate(won)]
    )


def test_comparisons_are_paired_and_held_to_scipy():
    a, same, better = played("a", [0.2] * 40), played("same", [0.2] * 40), played("b", [0.9] * 40, seed=1)
    better.episodes.reverse()  # pairs are found by task, not by place
    (no_change, change) = compare([(a, same), (a, better)])
    (success,) = [each for each in change.differences if each.measure == "success"]
    by_seed = {each.seed: float(each.success) for each in better.episodes}
    gains = np.array([by_seed[each.seed] - float(each.success) for each in a.episodes])
    assert success.pairs == 40 and success.difference == pytest.approx(gains.mean())
    assert success.low < success.difference < success.high and success.p_value < 0.001
    half = 1.96 * gains.std(ddof=1) / math.sqrt(40)
    assert success.high - success.low == pytest.approx(2 * half, rel=0.1)
    assert all(each.difference == 0 and each.p_value == each.adjusted == 1 for each in no_change.differences)
    wins = [bool(n % 2) for n in range(20)]
    even, odd = (
        AnalysisSubject(
            name,
            "after",
            "greedy",
            name,
            [episode(answered("a"), success=w, seed=n) for n, w in enumerate(won)],
        )
        for name, won in (("even", wins), ("odd", [not each for each in wins]))
    )
    (swapped,) = compare([(even, odd)])
    (success,) = [each for each in swapped.differences if each.measure == "success"]
    assert success.difference == 0 and success.differs and success.low < 0 < success.high  # counts as a test
    assert not any(each.differs for each in no_change.differences)
    apart = played("c", [0.5])
    apart.episodes[0] = episode(answered("a"), success=True, seed=99)
    (nothing,) = compare([(a, apart)])
    assert not nothing.differences and nothing.missing[0].startswith("success: 0 tasks in common")


def test_a_real_run_and_what_is_missing_of_an_old_one(toy_config, tmp_path):
    config = toy_config(steps=2, eval_episodes=6, trajectories_every=1, env_kwargs={"turns": 2})
    folder = train(config).folder
    material = read_subjects([str(folder.path)], ("before", "training", "after"), 0)
    assert [each.name for each in material.subjects] == [
        "run before greedy",
        "run before sampled",
        "run training",
        "run after greedy",
        "run after sampled",
    ]
    assert [(a.name, b.name) for a, b in pairs_of(material.subjects)] == [
        ("run before greedy", "run after greedy"),
        ("run before sampled", "run after sampled"),
    ]
    found = analyse(material)
    text = json.dumps(found.to_json(), allow_nan=False)
    assert '"calibration"' in text and not found.problems
    training = found.reports[2]
    assert training.outcomes["episodes"] == 8 and training.behaviour["tools"]["SAY"]["calls"] == 16
    assert training.outcomes["calibration"]["episodes"] == 8
    rows = episode_rows(found)
    assert len(rows) == 4 * 6 + 8 and len(csv_of(rows).splitlines()) == len(rows) + 1
    assert subject_rows(found)[2]["subject"] == "run training"
    fewer = read_subjects([str(folder.path)], ("before", "after"), 3)
    assert {len(each.episodes) for each in fewer.subjects} == {3}
    drawn = [{episode.seed for episode in each.episodes} for each in fewer.subjects]
    assert all(each == drawn[0] for each in drawn)
    for path in folder.trajectories.iterdir():  # as older versions wrote it
        kept = [json.loads(line) for line in path.read_text().splitlines()]
        new = ("exchanges", "asked", "options", "visual_tools", "env_id")
        lines = [json.dumps({name: value for name, value in row.items() if name not in new}) for row in kept]
        path.write_text("\n".join(lines) + "\n")
    old = analyse(read_subjects([str(folder.path)], ("training",), 0))
    missing = " ".join(old.reports[0].missing)
    assert "calibration: " in missing and "older version" in missing and "RaPR" in missing
    assert old.reports[0].behaviour["tools"]["SAY"]["calls"] == 16


def test_a_run_is_judged_by_what_its_environment_said_then(toy_config, monkeypatch):
    """SAY follows on SAY: a repetition (-0.5) of a tool that may not repeat itself, else nothing (0)."""

    def coherence_now(**said):
        traits = RewardTraits(tools={"SAY": ToolTraits(**said)})
        monkeypatch.setattr(toy_env.EchoEnv, "reward_traits", traits, raising=False)
        found = analyse(read_subjects([str(folder.path)], ("training",), 0))
        assert not found.problems
        return found.reports[0].behaviour["coherence"]["mean"]

    traits = RewardTraits(tools={"SAY": ToolTraits(repeatable=True)})
    monkeypatch.setattr(toy_env.EchoEnv, "reward_traits", traits, raising=False)
    folder = train(toy_config(steps=1, trajectories_every=1, env_kwargs={"turns": 2})).folder
    assert coherence_now(repeatable=True) == coherence_now() == 0.0
    about = folder.path / ABOUT
    kept = json.loads(about.read_text())
    about.write_text(json.dumps({name: value for name, value in kept.items() if name != "traits"}))
    assert (coherence_now(repeatable=True), coherence_now()) == (0.0, -0.5)  # an older run: what it says now
    about.write_text(json.dumps({"traits": {"tools": 3}}))
    damaged = analyse(read_subjects([str(folder.path)], ("training",), 0))
    assert "the traits of an environment cannot be read" in damaged.problems[0]


def test_the_picture_of_one_subject_and_of_two_with_odd_names():
    from pixelis.agents.analysis.analysis import Analysis
    from pixelis.agents.analysis.plot import draw
    from pixelis.agents.analysis.subjects import Material

    one, other = played("a", [0.5] * 4), played("$x_{\u202e} [b]", [0.5] * 4, seed=2)
    silent = AnalysisSubject("c", "training", "", "c", [episode(answered("a", None))])
    for subjects in ([one], [one, other, silent]):
        found = analyse(Material(subjects=subjects))
        assert isinstance(found, Analysis) and draw(found).startswith(b"\x89PNG")
    assert "does not say who succeeded" in found.reports[2].missing[0]
