"""The environments' pages are what their docstrings say, and the examples in them run."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from doc_pages import run
from PIL import Image

from pixelis.envs.check import CLAUSES
from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def env_docs():
    spec = importlib.util.spec_from_file_location("env_docs_script", ROOT / "scripts" / "env_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ALL = (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS)


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.id)
def test_the_page_is_up_to_date(env_docs, entry):
    assert env_docs.page_path(entry).read_text(encoding="utf-8") == env_docs.page(entry), (
        "run: python scripts/env_docs.py"
    )


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.id)
def test_the_page_has_the_usual_sections(env_docs, entry):
    headings = re.findall(r"^## (.+)$", env_docs.page(entry), re.MULTILINE)
    assert headings[:9] == [
        *("Description", "Action space", "Observation space", "Rewards", "Starting state"),
        *("Episode end", "Arguments", "Version history", "Source"),
    ]


@pytest.mark.parametrize("entry", ENVIRONMENTS, ids=lambda entry: entry.id)  # the others need a browser
def test_the_examples_run(env_docs, entry, tmp_path):
    examples = re.findall(r"^```python\n(.*?)^```", env_docs.page(entry), re.DOTALL | re.MULTILINE)
    assert examples
    run(tmp_path, [sys.executable, "-W", "error", "-c", "\n".join(examples)])


def test_the_table_of_scores_by_hand(env_docs):
    rows = [
        {"player": "oracle", "difficulty": 0, "episodes": 4, "successes": 4},
        {"player": "oracle", "difficulty": 1, "episodes": 8, "successes": 6},
        {"player": "nothing", "difficulty": 1, "episodes": 8, "successes": 0},
    ]
    table = env_docs.baselines({"split": "test", "reader": "ocr", "rows": rows}).splitlines()
    assert table[2].startswith("Success of the scripted players in 4 to 8 episodes each")
    assert table[4:] == [
        "| player | difficulty 0 | difficulty 1 |",
        "|---|---|---|",
        "| `oracle` | 1.000 | 0.750 |",
        "| `nothing` | – | 0.000 |",
    ]


def test_a_mode_has_a_table_of_its_own(env_docs):
    rows = [{"player": "oracle", "difficulty": 1, "episodes": 4, "successes": 4}]
    table = env_docs.baselines({"split": "test", "reader": None, "mode": "multi", "rows": rows})
    assert table.startswith("## Baselines, mode `multi`\n")
    (entry,) = [entry for entry in ENVIRONMENTS if entry.id == "Pixelis/CodeProblem-v0"]
    page = env_docs.page(entry)
    assert page.count("## Baselines") == 2 and "--mode multi --output docs/envs/code_problem_mode_" in page


def test_rewards_with_degrees_stand_beside_the_success(env_docs):
    row = {"player": "oracle", "difficulty": 0, "episodes": 4, "successes": 3, "reward": 0.876}
    table = env_docs.baselines({"split": "test", "reader": None, "rows": [row]}).splitlines()
    assert "4 episodes each; their mean reward in brackets (split `test`)." in table[2]
    assert table[-1] == "| `oracle` | 0.750 (0.88) |"


def test_check_finds_a_stale_page(env_docs, tmp_path, monkeypatch, capsys):
    (tmp_path / "index.md").write_text(f"# All\n\n{env_docs.START}{env_docs.END}\nMore.\n", encoding="utf-8")
    monkeypatch.setattr(env_docs, "FOLDER", tmp_path)
    monkeypatch.setattr(env_docs, "TABLE_PAGES", (tmp_path / "index.md",))
    monkeypatch.setattr(sys, "argv", ["env_docs.py", "--check"])
    assert env_docs.main() == 1
    assert "out of date: index.md, zoom_read.md" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["env_docs.py"])
    assert env_docs.main() == 0
    monkeypatch.setattr(sys, "argv", ["env_docs.py", "--check"])
    assert env_docs.main() == 0


@pytest.mark.parametrize("name", ["README.md", "docs/envs/index.md"])
def test_the_table_of_all_environments_is_up_to_date(env_docs, name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert env_docs.with_table(ROOT / name) == text, "run: python scripts/env_docs.py"
    assert [f"`{entry.id}`" in text for entry in ALL] == [True] * len(ALL)


def test_what_was_learnt_is_what_the_page_of_results_says(env_docs):
    # sampled, of 0.445 0.395 0.415 and 0.925 0.965 0.935; of 0.515 0.605 0.55 0.495 and
    # 0.945 0.965 0.935 0.965; of 0.6 0.59 0.605 0.545 and 0.98 0.965 0.97 0.955
    zoom, web, code = (
        env_docs.learnt(f"Pixelis/{name}-v0") for name in ("ZoomRead", "WebBrowse", "CodeProblem")
    )
    assert zoom == "0.42 → **0.94**, greedy 0.46 → **0.98** (difficulty 1, 3 seeds)"
    assert web == "0.54 → **0.95**, greedy 0.59 → **1.00** (difficulty 0, 4 seeds)"
    assert code == "0.58 → **0.97**, greedy 0.51 → **1.00** (difficulty 1, 4 seeds)"
    # (.58 + .67 + .59) / 3, (.94 + .95 + .93) / 3; (.43 + .43 + .41 + .43 + .38) / 5,
    # (.68 + .72 + .66 + .88 + .84) / 5, greedy (.89 + .92 + .9 + .94 + .96) / 5;
    # (.45 + .467 + .483 + .467 + .383) / 5, (.567 + .583 + .7 + .733 + .667) / 5,
    # greedy (.867 + .667 + .95 + .95 + .933) / 5
    size, chart, track = (
        env_docs.learnt(f"Pixelis/{name}-v0") for name in ("SizeCompare", "ChartRead", "TrackRead")
    )
    assert size == "0.61 → **0.94**, greedy 0.45 → **0.99** (difficulty 0, 3 seeds)"
    assert chart == "0.42 → **0.76**, greedy 0.38 → **0.92** (difficulty 0, 5 seeds)"
    assert track == "0.45 → **0.65**, greedy 0.33 → **0.87** (difficulty 0, 5 seeds)"
    # (.31 + .31 + .29) / 3, (.53 + .46 + .49) / 3, greedy (.6 + .57 + .62) / 3
    wire = env_docs.learnt("Pixelis/WireTrace-v0")
    assert wire == "0.30 → **0.49**, greedy 0.31 → **0.60** (difficulty 0, 3 seeds)"


def test_the_extremes_are_of_the_oracle_and_of_those_who_do_not_look(env_docs, tmp_path):
    rows = [
        {"player": player, "successes": successes, "episodes": 8}
        for player, successes in (
            ("oracle", 8),
            ("oracle", 6),
            ("blind", 1),
            ("random", 2),
            ("colour_only", 7),
        )
    ]
    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps({"rows": rows}), encoding="utf-8")
    assert env_docs.extremes(scores) == ("0.75", "0.25")
    assert env_docs.extremes(tmp_path / "none.json") == ("–", "–")


def test_every_environment_shows_a_film_of_an_episode(env_docs):
    spec = importlib.util.spec_from_file_location("env_pictures_script", ROOT / "scripts" / "env_pictures.py")
    assert spec is not None and spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    assert len([entry for entry in ENVIRONMENTS if pictures.has_pictures(entry)]) == 9
    for entry in ALL:
        assert f"images/envs/{pictures.film_path(entry).name}" in env_docs.page(entry)
        with Image.open(pictures.film_path(entry)) as film:
            assert film.n_frames >= 3 and film.width == pictures.WIDTH
        assert pictures.film_path(entry).stat().st_size < 500_000
    entries = {entry.id: entry for entry in ALL}
    frames = pictures.episode(entries["Pixelis/SizeCompare-v0"], 1)
    sheet = pictures.sheet(frames[:4])
    assert sheet.size == (3 * 660 + 2 * 8, 2 * len(frames[0]) + 8) and len(frames) >= 3
    told = pictures.episode(entries["Pixelis/TweetReply-v0"], 1)
    assert len(told) == 4 and told[0].shape == told[-1].shape == (448, 660, 3)
    assert (told[0] != told[-1]).any()


def test_what_the_check_says_is_of_every_environment_and_of_todays_clauses(env_docs):
    document = json.loads(env_docs.CHECKED.read_text(encoding="utf-8"))
    assert list(document["environments"]) == [entry.id for entry in ALL], f"run: {document['command']}"
    for env_id, found in document["environments"].items():
        report = found["report"]
        assert found["command"].startswith(f"pixelis check-env {env_id} --seeds {found['seeds']} --json")
        assert report["env"] == env_id and report["ok"], env_id
        assert [each["clause"] for each in report["findings"]] == [clause.__name__ for clause in CLAUSES]
    assert env_docs.check_table() in (ROOT / "docs" / "envs" / "index.md").read_text(encoding="utf-8")


def test_a_row_of_what_the_check_says_by_hand(env_docs):
    def finding(clause, ok=True, **numbers):
        return {"clause": clause, "ok": ok, "numbers": numbers}

    floors = {"nothing": 0.0, "random": 0.25, "exploit_a": 0.0, "exploit_b": 0.1, "allowed": 0.3}
    figures = {"steps_per_second": 1234.5, "step_p99_ms": 0.51234, "reset_ms": 20.04, "grown_mb": 0.25}
    known = [finding("oracle_succeeds", oracle=1), finding("floors_hold", **floors), finding("frames", False)]
    report = {"findings": known, "figures": {**figures, "observation_bytes": 442489}}
    row = ["2 of 3", "1.00", "0.25 (0.30)", "0.10", "1,234", "0.512 ms", "20 ms", "0.2 MB", "442,489"]
    assert env_docs.check_cells(report, is_busy=False) == row
    row[4:7] = ["~1,234", "~0.512 ms", "~20 ms"]
    assert env_docs.check_cells(report, is_busy=True) == row
    unsolved = [finding("oracle_succeeds"), finding("floors_hold", nothing=0.0, random=0.5, allowed=0.6)]
    cells = env_docs.check_cells({**report, "findings": unsolved}, is_busy=False)
    assert cells[:4] == ["2 of 2", "–", "0.50 (0.60)", "–"]
