"""What benchmarks of learning share: runs that are made once, resumed and timed; rows on disk; tables."""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path

import code_learning
import pytest
import web_learning
import yaml
from learning_runs import LearningRuns, arguments, is_whole, own_words, write_result
from PIL import Image
from result_tables import gain, gain_cell, interval_cell, markdown_table, rate, rate_cell
from run_curves import CURVES, by_level, by_tens, training

from pixelis.agents.runs.metrics import comparable_metrics

TOYS = Path(__file__).parents[1] / "agents" / "rl"


@pytest.fixture
def runs(tmp_path: Path) -> LearningRuns:
    return LearningRuns(tmp_path)


def test_a_table_by_hand():
    found = rate([True, True, False])
    assert found[:2] == [2, 3] and found[2:] == pytest.approx([0.2077, 0.9385], abs=1e-4)
    assert rate([]) == [0, 0, 0.0, 1.0] and rate_cell(rate([])) == "nan (0.000–1.000)"
    table = markdown_table(["", "solved"], [["sft", rate_cell(found)], ["grpo", interval_cell(-0.5, -1, 0)]])
    assert table.splitlines() == [
        "| | solved |",
        "|---|---|",
        "| sft | 0.667 (0.208–0.939) |",
        "| grpo | -0.500 (-1.000–0.000) |",
    ]


def test_rows_are_kept_part_by_part(runs: LearningRuns):
    def missing(rows):
        for number in range(len(rows), 3):
            if number == stop:
                raise KeyboardInterrupt
            yield [{"number": number, "said": "é"}]

    stop = 2
    with pytest.raises(KeyboardInterrupt):
        runs.rows("played", "grpo seed 0 greedy", missing)
    path = runs.path / "played-grpo-seed-0-greedy.json"
    assert [row["number"] for row in json.loads(path.read_text(encoding="utf-8"))] == [0, 1]
    stop = -1
    rows = runs.rows("played", "grpo seed 0 greedy", missing)
    assert [row["number"] for row in rows] == [0, 1, 2] and rows[2]["said"] == "é"
    assert runs.rows("played", "grpo seed 0 greedy", lambda rows: ()) == rows


def test_seconds_add_up_over_calls_and_failures(runs: LearningRuns):
    (runs.path / "seconds.json").write_text('{"sft": {"wall": 100.0, "cpu": 50.0}}')
    with pytest.raises(ZeroDivisionError), runs.timed("sft"):
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        1 / 0  # noqa: B018
    with runs.timed("grpo seed 0"):
        pass
    found = runs.seconds()
    assert list(found) == ["sft", "grpo seed 0"] and set(found["grpo seed 0"]) == {"wall", "cpu"}
    assert found["sft"]["wall"] > 100.0 and found["sft"]["cpu"] > 50.0


def test_options_and_numbers(tmp_path: Path):
    options = arguments("What it does.", "rows").parse_args(["--runs", str(tmp_path), "--seeds"])
    assert options.runs == tmp_path and options.seeds == [] and options.json is None
    assert own_words(["--json", "a", "--", "--beta", "0"]) == (["--json", "a"], ["--beta", "0"])
    assert own_words(["--json", "a"]) == (["--json", "a"], [])
    write_result(None, {})
    write_result(tmp_path / "numbers.json", {"said": "é"})
    assert (tmp_path / "numbers.json").read_text(encoding="utf-8") == '{\n "said": "é"\n}\n'


@pytest.mark.slow
@pytest.mark.timeout(1200)  # four commands, each of which loads torch, and perhaps a busy machine
def test_runs_are_made_once_and_resumed(runs: LearningRuns, letter_model: Path, monkeypatch, capsys):
    """SFT and GRPO of a model of eight letters, by the commands; then as kills would have left them."""
    monkeypatch.setenv("PYTHONPATH", str(TOYS))
    chats = [
        {"messages": [{"role": "user", "content": letter}, {"role": "assistant", "content": letter}]}
        for letter in "abcd"
    ]
    (runs.path / "echo.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats * 4))
    common = {"env": "toy_env:Toy/Echo-v0", "max_new_tokens": 2, "eval_episodes": 0, "checkpoint_every": 1}
    sft, grpo = runs.path / "sft.yaml", runs.path / "grpo.yaml"
    warm = {"model": str(letter_model), "data": "echo.jsonl", "steps": 2, "batch_size": 4}
    sft.write_text(yaml.safe_dump({**common, **warm}))
    start = {"model": "runs/echo-sft/adapter", "steps": 3, "groups": 2, "group_size": 4}
    grpo.write_text(yaml.safe_dump({**common, **start}))

    models = runs.train("echo", sft, grpo, [7], ["--temperature", "0.9"])
    warm_run, run = (runs.path / "runs" / name for name in ("echo-sft", "echo-seed7"))
    assert models == {
        "base": str(letter_model),
        "sft": warm_run / "adapter",
        "grpo seed 7": run / "checkpoints" / "step-00000003" / "adapter",
    }
    assert "--resume" not in _commands(capsys) and is_whole(run)
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert (config["seed"], config["temperature"]) == (7, 0.9)
    first, seconds = comparable_metrics(run / "metrics.jsonl"), runs.seconds()
    assert set(seconds) == {"sft", "grpo seed 7"}

    assert runs.train("echo", sft, grpo, [7]) == models
    assert not _commands(capsys) and runs.seconds() == seconds

    shutil.rmtree(warm_run / "adapter")
    shutil.rmtree(run / "checkpoints" / "step-00000003")
    assert not is_whole(run)
    assert runs.train("echo", sft, grpo, [7]) == models
    assert _commands(capsys).splitlines() == [
        "$ scripts/train_sft.py --resume runs/echo-sft",
        "$ scripts/train_agent.py --resume runs/echo-seed7",
    ]
    assert comparable_metrics(run / "metrics.jsonl") == first
    assert all(runs.seconds()[name]["wall"] > seconds[name]["wall"] for name in seconds)


def _commands(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the commands that were begun since the last call."""
    return "".join(line for line in capsys.readouterr().out.splitlines(True) if line.startswith("$"))


def test_a_run_is_whole_when_it_was_evaluated_afterwards(tmp_path: Path):
    run = tmp_path / "run"
    (run / "checkpoints" / "step-00000003").mkdir(parents=True)
    (run / "config.yaml").write_text("steps: 3\neval_episodes: 5\n")
    assert not is_whole(tmp_path / "nothing") and not is_whole(run)
    (run / "evaluation.json").write_text('{"before": []}')
    assert not is_whole(run)
    (run / "evaluation.json").write_text('{"before": [], "after": []}')
    assert is_whole(run)


def test_held_out_problems_are_solved_once(runs: LearningRuns, capsys):
    rows = code_learning.solve("grpo seed 0", "pixelis-tiny", runs, 1)
    assert len(rows) == 2 * 4 * 2 and all(row["valid"] and row["turn"] for row in rows)
    assert capsys.readouterr().out.count("grpo seed 0: ") == 16
    path = runs.path / "solved-grpo-seed-0.json"
    path.write_text(json.dumps(rows[:-1]))  # a kill during the last part
    assert code_learning.solve("grpo seed 0", "pixelis-tiny", runs, 1) == rows
    assert capsys.readouterr().out == "grpo seed 0: unseen families, difficulty 4, sampled\n"
    measured = code_learning.rates(rows)
    assert measured["seen/greedy"][1] == measured["unseen/sampled"][1] == 4
    assert measured["seen/greedy/1"][1] == 1 and set(runs.seconds()) == {
        f"grpo seed 0, {mode} play" for mode in ("greedy", "sampled")
    }


def test_held_out_levels_are_played_once(runs: LearningRuns, capsys):
    rows = web_learning.browse("sft", "pixelis-tiny", runs, 4, "greedy")
    assert sorted((row["seed"], row["difficulty"]) for row in rows) == [(0, 0), (1, 1), (2, 0), (3, 1)]
    path = runs.path / "played-sft-greedy.json"
    assert json.loads(path.read_text(encoding="utf-8")) == rows and "level 0 of 4" in capsys.readouterr().out
    assert web_learning.browse("sft", "pixelis-tiny", runs, 4, "greedy") == rows
    assert not capsys.readouterr().out and list(runs.seconds()) == ["sft, greedy play"]
    more = web_learning.browse("sft", "pixelis-tiny", runs, 6, "greedy")
    assert more[:4] == rows and sorted(row["seed"] for row in more) == list(range(6))
    assert web_learning.rates(more)["difficulty 1"][1] == 3


def test_gains_between_models_by_hand():
    found = gain([True, False, False, False], [True, True, True, False])
    assert found["difference"] == 0.5 and found["p"] == 0.5  # two changed, both for the better: 2 × 1/4
    assert found["interval"][0] < 0.5 < found["interval"][1]
    measured = {"base": {"all": rate([True, False])}, "sft": {"all": rate([True, True])}}
    gains = {"sft minus base": {"difference": 0.5, "interval": [-0.1, 0.9]}}
    assert web_learning.table(measured, gains).splitlines()[2:] == [
        "| base | 0.500 (0.095–0.905) | – | – |",
        "| sft | 1.000 (0.342–1.000) | +0.500 (-0.100 to +0.900) | – |",
    ]


def test_families_that_were_never_trained_on_are_told_apart():
    def rows(**solved):
        return [
            {"difficulty": at % 2, "family": family, "valid": True, "success": one}
            for family, outcomes in solved.items()
            for at, one in enumerate(outcomes)
        ]

    played = {
        "sft": rows(mail=[False, True], shop=[True, False, False]),
        "grpo seed 7": rows(mail=[True, True], shop=[False, False, False]),
    }
    measured = web_learning.rates(played["sft"], seen=["mail"])
    assert {key: found[:2] for key, found in measured.items()} == {
        "all": [2, 5],
        "trained on": [1, 2],
        "never trained on": [1, 3],
        "difficulty 0": [1, 3],
        "difficulty 1": [1, 2],
        "mail": [1, 2],
        "shop": [1, 3],
    }
    gained = web_learning.gains(played, seen=["mail"])
    assert {key: one["difference"] for key, one in gained.items()} == {
        "grpo seed 7 minus sft": 0.0,
        "grpo seed 7 minus sft, trained on": 0.5,
        "grpo seed 7 minus sft, never trained on": pytest.approx(-1 / 3),
    }


def test_what_was_played_is_told_mode_by_mode(tmp_path: Path, capsys):
    def rows(*solved):
        return [
            {"difficulty": at % 2, "family": "shop", "valid": True, "success": one}
            for at, one in enumerate(solved)
        ]

    played = {
        "greedy": {"base": rows(False, False), "sft": rows(True, False), "grpo seed 7": rows(True, True)},
        "sampled": {"sft": rows(False, True), "grpo seed 7": rows(False, True)},
    }
    options = argparse.Namespace(levels=2, json=tmp_path / "found.json", figure=None, families=[])
    web_learning.report(played, {}, options, {"sft": {"wall": 1.0}})
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    differences = {name: one["difference"] for name, one in found["greedy"]["gains"].items()}
    assert differences == {"sft minus base": 0.5, "grpo seed 7 minus base": 1.0, "grpo seed 7 minus sft": 0.5}
    assert list(found["sampled"]["gains"]) == ["grpo seed 7 minus sft"]
    assert found["sampled"]["models"]["sft"]["difficulty 1"][:2] == [1, 1]
    assert found["seconds"] == {"sft": {"wall": 1.0}} and not found["by ten steps"]
    assert [line for line in capsys.readouterr().out.splitlines() if "|" not in line] == ["greedy", "sampled"]


def test_gains_of_solved_problems_are_paired_by_kind_and_mode():
    def rows(*passed):
        return [
            {"families": kind, "mode": "greedy", "passed": one, "valid": valid} for kind, one, valid in passed
        ]

    unsolved, left_out = ("unseen", False, True), ("seen", False, False)
    before = rows(("seen", False, True), ("seen", True, True), unsolved, left_out)
    after = rows(("seen", True, True), ("seen", True, True), unsolved, ("seen", True, True))
    found = code_learning.gains(before, after)
    assert set(found) == {"seen/greedy", "unseen/greedy"}
    assert found["seen/greedy"]["difference"] == 0.5 and found["unseen/greedy"]["difference"] == 0
    assert gain_cell({"difference": 0.5, "interval": (-0.25, 1.0)}) == "+0.500 (-0.250 to +1.000)"
    assert gain_cell(None) == "–"


def test_curves_of_a_run_by_hand(tmp_path: Path):
    level = "levels/family=clamp,difficulty=1"
    rows = [{"step": at, "success/rate": at / 20, "policy/entropy": None} for at in range(1, 13)]
    rows[0] |= {f"{level}/success": 0.25, f"{level}/groups": 1, f"{level}/zero_variance": 0.0}
    rows[1] |= {f"{level}/success": 0.75, f"{level}/groups": 3, "levels/family=clamp/success": 0.75}
    rows[11] |= {f"{level}/success": 1.0, f"{level}/groups": 2}
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tens = by_tens(tmp_path)
    assert tens["success/rate"] == [0.275, 0.575]  # means of .05 to .5, and of .55 and .6
    assert tens["policy/entropy"] == [None, None] and set(tens) == set(CURVES)
    assert by_level(tmp_path, slice(2)) == {"clamp,difficulty=1": [pytest.approx(0.625), 4]}
    assert by_level(tmp_path, slice(-2, None)) == {"clamp,difficulty=1": [1.0, 2]}
    early = by_level(tmp_path, slice(20))
    assert training({"seed 0": tmp_path}, tmp_path / "curves.png") == {
        "by ten steps": {"seed 0": tens},
        "success by level": {"seed 0": {"first 20 steps": early, "last 20 steps": early}},
    }
    with Image.open(tmp_path / "curves.png") as picture:
        assert picture.size == (1210, 660)


def test_solved_problems_by_family_by_hand():
    def row(family, passed, mode="greedy", valid=True):
        return {"problem": {"family": family}, "passed": passed, "mode": mode, "valid": valid}

    sft = [row("pairs", False), row("clamp", True), row("clamp", False), row("clamp", True, valid=False)]
    grpo = [row("clamp", True), row("clamp", True), row("clamp", False, mode="sampled")]
    found = code_learning.by_family({"sft": sft, "grpo": grpo}, "greedy")
    assert found == {"clamp": {"sft": [1, 2], "grpo": [2, 2]}, "pairs": {"sft": [0, 1]}}
    assert code_learning.family_table(found, "greedy").splitlines()[2:] == [
        "| clamp | 1 of 2 | 2 of 2 |",
        "| pairs | 0 of 1 | |",
    ]
