"""The study of tweet paradigms: its numbers by hand, its plan, and a small one from end to end."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from tiny_models import build

from pixelis.agents.publish.lora_analysis import LayerUpdate
from pixelis.errors import ConfigError

FOLDER = Path(__file__).parents[2] / "benchmarks" / "learning"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


report = _load("tweet_study_report")
study = _load("tweet_study")


def by_first_letter(texts: Sequence[str]) -> np.ndarray:
    """Return a direction for each first letter, nothing for a text that begins with z."""
    vectors = np.zeros((len(texts), 26))
    for row, text in enumerate(texts):
        vectors[row, ord(text[0]) - ord("a")] = 0.0 if text[0] == "z" else 1.0
    return vectors


def row(*replies: tuple[str, float]) -> dict[str, object]:
    return {"replies": [{"text": t, "reward": r, "gate": None if r >= 0 else "spam"} for t, r in replies]}


def test_the_numbers_of_replies_by_hand():
    rows = [
        row(("a cat sat down", 0.8), ("b dog ran off", 0.2), ("a cat sat down", -0.5), ("", -0.5)),
        row(("zero", 0.0), ("ape", 0.0), ("ape", 0.0), ("bee", 0.0)),
    ]
    found = report.measure_replies(rows, by_first_letter)
    assert found["reward"] == pytest.approx((0.8 + 0.2 - 1.0) / 8) and found["stopped"] == 2 / 8
    assert found["pass@1"] == pytest.approx(1 / 8) and found["pass@4"] == pytest.approx(1 / 2)
    assert found["best@4"] == pytest.approx((0.8 + 0.0) / 2)
    assert found["efficiency"] == pytest.approx((1 / 2) / (4 / 8))
    # of a, b, a two pairs of three differ; so do two of ape, ape, bee (nothing is seen in zero)
    assert found["embedding_diversity"] == pytest.approx(2 / 3)
    shares = np.array([2 / 3, 1 / 3])
    assert found["vendi"] == pytest.approx(math.exp(-(shares * np.log(shares)).sum()))
    assert found["distinct_1"] is None  # fewer than 500 words
    assert 0 < found["self_bleu"] < 1


def test_what_cannot_be_measured_is_none():
    found = report.measure_replies([row(("", -0.5), ("", -0.5))], by_first_letter)
    assert found["reward"] == -0.5 and found["pass@1"] == 0
    for name in ("efficiency", "self_bleu", "vendi", "embedding_diversity", "distinct_2"):
        assert found[name] is None


def test_what_was_never_paid_knows_a_reply_from_nothing():
    tweet = "Our village library closes on Saturday after ninety years."
    found = [
        report.never_paid([{"tweet": tweet, "replies": [{"text": text}] * 2}])
        for text in ("Ninety years is a long time. Where will the old maps go when the doors close?", "")
    ]
    assert 0 <= found[1] < 0.5 < found[0] <= 1


def measured(quality, diversity, collapse=None):
    numbers = {"never_paid": quality, "embedding_diversity": diversity}
    course = {"steps": [1, 2], "values": [0.5, 0.2], "means": report.smoothed([0.5, 0.2])}
    sizes = {"model.layers.0.q": 3.0, "model.layers.0.v": 4.0, "model.layers.1.q": 1.0}
    norms = {name: {"norm": size, "change": size / 2} for name, size in sizes.items()}
    return {"numbers": numbers, "collapse": collapse, "course": course, "layer_norms": norms}


def test_the_summary_and_the_table_by_hand():
    runs = {
        "base": [measured(0.1, None), measured(0.1, 0.1)],
        "one": [measured(0.5, 0.4, 2), measured(0.7, 0.2)],
    }
    told = report.summary(runs)
    spread = told["paradigms"]["one"]["never_paid"]
    assert spread["mean"] == pytest.approx(0.6) and spread["std"] == pytest.approx(math.sqrt(0.02))
    assert told["paradigms"]["base"]["embedding_diversity"] == {"mean": 0.1, "std": None, "runs": 1}
    # from (0, 0): 0.5 x 0.4; and 0.7 x 0.2, which covers the other
    assert [each["hypervolume"] for each in told["fronts"]] == pytest.approx([0.2, 0.14])
    assert [each["front"] for each in told["fronts"]] == [["one"], ["one"]]
    lines = report.table_of(told).splitlines()
    assert lines[0] == "| paradigm | never_paid | embedding_diversity | collapse |"
    assert lines[3] == "| one | 0.600 ± 0.141 | 0.300 ± 0.141 | 2, – |"
    assert report.by_depth(runs["one"][0]["layer_norms"], "norm") == {0: 5.0, 1: 1.0}
    dots = report.draw_pareto(told).axes[0].lines
    assert {(line.get_xdata()[0], line.get_ydata()[0]) for line in dots} >= {(0.5, 0.4), (0.7, 0.2)}
    left, right = report.draw_courses(runs, {"base": "none", "one": "grpo"}).axes
    assert len(left.lines) == 0 and [list(line.get_ydata()) for line in right.lines] == [[0.5, 0.35]] * 2
    left, right = report.draw_norms(runs).axes
    assert list(left.lines[0].get_ydata()) == [5.0, 1.0]
    assert list(right.lines[0].get_ydata()) == [2.5, 0.5]


def test_one_low_measurement_is_no_collapse():
    assert report.smoothed([6, 0, 3, 3, 3, 1]) == [6, 3, 3, 3, 3, 2]


def test_layer_norms_by_hand():
    def update(factor):
        a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0], [4.0]])
        return LayerUpdate("layers.0.q", a, b, factor, 1.0)

    # 2 x (3, 4) has the norm 10; from 0.5 x (3, 4) it is 7.5 away
    found = report.layer_norms([update(2.0)], [update(0.5)])["layers.0.q"]
    assert found == pytest.approx({"norm": 10.0, "change": 7.5})
    assert report.layer_norms([update(2.0)])["layers.0.q"]["change"] == pytest.approx(10.0)


def test_each_paradigm_has_its_configuration_and_comes_after_its_start():
    assert {path.stem for path in study.CONFIGS.glob("*.yaml")} == set(study.PARADIGMS) - {"base"}
    assert sum(each.one_of_six for each in study.PARADIGMS.values()) == 6
    assert study.with_starts(["grpo_from_sft", "base", "sft"]) == ["sft", "grpo_from_sft", "base"]
    with pytest.raises(ConfigError, match=r"no paradigm 'stf'.*sft"):
        study.with_starts(["stf"])


@pytest.mark.slow
def test_a_small_study_is_whole_and_not_done_twice(tmp_path, capsys):
    model = build("llama", tmp_path / "model")
    words = ["--smoke", "--model", str(model), "--output", str(tmp_path / "study")]
    words += ["--paradigms", "base", "grpo_from_sft", "--sft-words", "--lora.rank 2"]
    assert study.main(words) == 0, capsys.readouterr().err
    assert "== grpo_from_sft, seed 0" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "study").iterdir()}
    pictures = {f"{name}.{kind}" for name in ("pareto", "diversity", "lora_norms") for kind in ("png", "svg")}
    assert pictures | {"report.md", "study.json", "data", "runs"} <= names
    written = json.loads((tmp_path / "study" / "study.json").read_text())
    assert list(written["runs"]) == ["base", "sft", "grpo_from_sft"]
    assert written["runs"]["base"][0]["layer_norms"] == {}
    norms = written["runs"]["grpo_from_sft"][0]["layer_norms"].values()
    assert all(0 <= each["change"] < each["norm"] for each in norms)
    samples = (tmp_path / "study" / "runs" / "base" / "seed0" / "samples.jsonl").read_text().splitlines()
    assert len(samples) == 1 + 3 and len(json.loads(samples[1])["replies"]) == 4

    assert study.main(words) == 0
    assert "==" not in capsys.readouterr().out
