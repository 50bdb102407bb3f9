"""Every exit of every shipped curriculum fires while a policy gets better, at values that metrics do take.

A metric's trace is that of a mixture: at first every episode is one of random calls, at last every episode is
the oracle's, both played on ZoomRead. So success goes from 0 to 1, and coherence from what random calls have
to what the oracle has, and no further: a threshold beyond is one that nothing can reach.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pixelis.agents.runs.metrics import EVERY_STEP
from pixelis.envs.check.playing import play
from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv
from pixelis.rewards.stack.curriculum import WeightCurriculum, read_curriculum
from pixelis.rewards.stack.stages import SHIPPED, ExitCondition, read_stages
from pixelis.rewards.terms.coherence import CoherenceTerm, coherence

CONFIGS = Path(__file__).parents[2] / "configs"
CURRICULA = dict(SHIPPED)
for path in sorted(CONFIGS.rglob("*.yaml")):
    found = ((yaml.safe_load(path.read_text()) or {}).get("rewards") or {}).get("curriculum")
    if found is not None and not isinstance(found, str):
        CURRICULA[path.name] = found
EXITS = [
    (name, stage.name, place)
    for name, values in CURRICULA.items()
    for stage in read_stages(values["stages"])
    for place in range(len(stage.exits))
]
KNOWN = (*EVERY_STEP, "coherence/raw", "curiosity/raw", "penalty/raw", "task/raw", "held")
RISE, LAST = 3000, 6000


@pytest.fixture(scope="module")
def reached():
    """Coherence of random play and of the oracle's, means over some episodes."""
    env = ZoomReadEnv(reader="truth", difficulty=1)
    term = CoherenceTerm()
    term.adapt(env.reward_traits)
    means = {}
    for name in ("random", "oracle"):
        values = []
        for seed in range(8):
            turns = play(env, env.players()[name](env), seed)
            calls = [call for turn in turns for call in turn[4]["tool_calls"]]
            values.append(coherence(calls, settings=term.settings))
        means[name] = sum(values) / len(values)
    assert means["random"] < 0.05 < means["oracle"] <= 0.2
    return means


def metrics(share, reached):
    """What is measured when this share of the episodes is played as the oracle does."""
    mixed = (1 - share) * reached["random"] + share * reached["oracle"]
    return {"success/rate": share, "coherence/raw": mixed, "task/raw": share}


def alone(name, stage, place) -> tuple[WeightCurriculum, ExitCondition]:
    """Return the curriculum of one stage with one exit and no other way out."""
    one = next(one for one in read_stages(CURRICULA[name]["stages"]) if one.name == stage)
    exits = [CURRICULA[name]["stages"][stage]["exits"][place]]
    stages = {
        stage: {"weights": one.weights, "exits": exits, "min_samples": one.min_samples},
        "next": {"weights": {}},
    }
    check_every = CURRICULA[name].get("check_every", 100)
    made = read_curriculum({"stages": stages, "check_every": check_every}, KNOWN)
    assert made is not None
    return made, one.exits[place]


@pytest.mark.parametrize(("name", "stage", "place"), EXITS)
def test_every_exit_fires_on_a_trace_that_can_be(name, stage, place, reached):
    curriculum, condition = alone(name, stage, place)
    changes = [
        curriculum.observe(step, metrics(min(1.0, step / RISE), reached)) for step in range(1, LAST + 1)
    ]
    (change,) = [change for change in changes if change is not None]
    assert change.reason.startswith(condition.text)


@pytest.mark.parametrize(("name", "stage", "place"), EXITS)
def test_no_exit_by_a_level_fires_before_anything_was_learnt(name, stage, place, reached):
    curriculum, condition = alone(name, stage, place)
    changes = [curriculum.observe(step, metrics(0.1, reached)) for step in range(1, LAST + 1)]
    assert any(changes) == (condition.statistic == "slope")  # that one waits for a plateau, at any height


@pytest.mark.parametrize("name", CURRICULA)
def test_a_stage_begins_no_sooner_than_is_said_and_then_where_all_is_learnt(name, reached):
    values = {"check_every": 100, **CURRICULA[name]}
    curriculum = read_curriculum({**values, "rollback": None}, KNOWN)
    assert curriculum is not None
    said, begun = curriculum.earliest, {}
    for step in range(1, max(said.values()) + 1):
        if change := curriculum.observe(step, metrics(1.0, reached)):
            begun[change.stage] = step
    assert begun == said
    assert list(said.values()) == {"steps": [1000, 5000], "performance": [100, 200]}.get(name, [10, 25])


def test_the_curricula_of_this_test_are_those_that_are_shipped():
    assert {"steps", "performance", "zoom_read_shaped.yaml"} == set(CURRICULA)
    assert len(EXITS) == 5
