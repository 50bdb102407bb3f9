"""The table of reward terms, by hand, and that what is compared can be asked for."""

from __future__ import annotations

import reward_terms

from pixelis.cli.train import COMMAND


def run(before: float, after: float, *tool: float) -> dict[str, object]:
    rates = {"before": before, "after": after}
    phases = {
        phase: {mode: {"success": rate} for mode in reward_terms.MODES} for phase, rate in rates.items()
    }
    curve = {"curve": {"success/rate": [before] * 5 + [after] * 5}}
    return {**phases, **curve, **({"tool": list(tool)} if tool else {})}


def test_the_table_by_hand():
    web = {
        "task only": {
            "1": run(0.0, 0.5, 0.0, 0.5, *[0.9] * 9, 1.9),
            "2": run(0.25, 1.0, 0.5, 0.0, *[1.0] * 10),
        }
    }
    code = {"curiosity": {"1": run(0.0, 0.0)}}
    told = reward_terms.table({"environments": {"WebBrowse": web, "CodeProblem": code}}).splitlines()
    change, none = "0.125 → **0.750** (0.500, 1.000)", "0.000 → **0.000** (0.000)"
    assert told[2:] == [
        f"| WebBrowse | task only | {change} | {change} | 10, 7 | 0.25 → 1.00 |",
        f"| CodeProblem | curiosity | {none} | {none} | – | – |",
    ]


def test_steps_to_a_success_by_hand():
    assert reward_terms.steps_to([0.0, 0.5, 0.5, 0.5, 0.5, 0.5], 0.5) == 6
    assert reward_terms.steps_to([1.0, None, 1.0, 0.0, 0.5], 0.5) == 5
    assert reward_terms.steps_to([1.0] * 4, 0.5) is None


def test_every_reward_is_one_that_training_takes():
    for words in reward_terms.ARMS.values():
        COMMAND.read(["--config", "lessons/WebBrowse", *words])
    assert {arm for kind in reward_terms.KINDS.values() for arm in kind.arms} == set(reward_terms.ARMS)
