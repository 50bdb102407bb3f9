"""The check of all environments: one is checked anew, and what is known of the others stays."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def check_all():
    path = ROOT / "benchmarks" / "quality" / "check_all.py"
    spec = importlib.util.spec_from_file_location("check_all_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_one_is_checked_anew_and_the_others_stay(check_all, tmp_path, capsys):
    output, known = tmp_path / "check_env.json", {"Pixelis/ZoomRead-v0": {"report": {}}}
    output.write_text(json.dumps({"command": "", "environments": known}))
    assert check_all.main(["--envs", "TweetReply", "--seeds", "1", "--output", str(output)]) == 0
    found = json.loads(output.read_text())["environments"]
    assert list(found) == ["Pixelis/ZoomRead-v0", "Pixelis/TweetReply-v0"]
    assert found["Pixelis/ZoomRead-v0"] == {"report": {}}
    told = found["Pixelis/TweetReply-v0"]
    assert told["command"] == "pixelis check-env Pixelis/TweetReply-v0 --seeds 1 --json"
    assert told["report"]["ok"] and told["processors_of_others"] >= 0 and told["seconds"] > 0
    assert "TweetReply: 20 clauses hold" in capsys.readouterr().out
