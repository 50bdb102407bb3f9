"""The same scripts in process and in a real Chromium: text, rewards, ends and errors are all equal."""

from __future__ import annotations

import pytest

from pixelis.envs.web.backend import ERROR_CODES
from pixelis.envs.web.browse import WebBrowseEnv
from pixelis.envs.web.parity_scripts import MAX_ACTIONS, parity_scripts, replay


@pytest.mark.slow
def test_both_backends_answer_alike():
    env = WebBrowseEnv(max_turns=MAX_ACTIONS, backend="chromium")
    codes = set()
    for script in parity_scripts(24, first=120):  # benchmarks/web_parity.py plays 500
        played = replay(env, script.seed, script.options, script.turns)
        assert played == script.transcript, script.name
        codes.update(code for said in played[1:] for code in said["errors"])
    env.close()
    assert codes - {None} == set(ERROR_CODES) - {"timeout"}, "pages of our own always answer"
