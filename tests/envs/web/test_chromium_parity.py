"""The same scripts in process and in a real Chromium: text, rewards, ends and errors are all equal."""

from __future__ import annotations

import pytest

from pixelis.envs.web.browse import WebBrowseEnv
from pixelis.envs.web.parity_scripts import MAX_ACTIONS, parity_scripts, replay


@pytest.mark.slow
def test_both_backends_answer_alike():
    env = WebBrowseEnv(max_turns=MAX_ACTIONS, backend="chromium")
    for script in parity_scripts(24, first=60):  # benchmarks/web_parity.py plays 500
        played = replay(env, script.seed, script.options, script.turns)
        assert played == script.transcript, script.name
    env.close()
