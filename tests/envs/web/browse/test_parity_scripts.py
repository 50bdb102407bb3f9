"""The scripts that compare backends: repeatable, varied, and true to what was recorded."""

from __future__ import annotations

from collections import Counter

from parity_scripts import parity_scripts, replay

from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.families.family import families


def test_scripts_are_repeatable_and_replay_to_their_transcripts():
    scripts = list(parity_scripts(6, first=40))
    assert scripts == list(parity_scripts(6, first=40))
    env = WebBrowseEnv(max_turns=14)
    for script in scripts:
        assert replay(env, script.seed, script.options, script.turns) == script.transcript


def test_scripts_reach_every_family_many_errors_and_successes():
    scripts = list(parity_scripts(120))
    codes = Counter(code for one in scripts for said in one.transcript[1:] for code in said["errors"])
    assert {one.options["family"] for one in scripts} == set(families())
    often = {"unknown_id": 8, "stale": 20, "off_site": 5, "not_editable": 20, "no_such_option": 15,
             "covered": 10, "hidden": 8, "disabled": 1}  # fmt: skip
    assert all(codes[code] >= times for code, times in often.items()), codes
    assert codes[None] > sum(codes.values()) / 2
    ended = [one.transcript[-1]["reward_terms"].get("success", 0.0) for one in scripts]
    assert 5 < sum(value > 0 for value in ended) < 115
