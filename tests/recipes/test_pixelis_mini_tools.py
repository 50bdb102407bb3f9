"""The recipe of pixelis-mini-tools: who plays by words alone wins by care, and its words come back whole."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from pixelis_mini.collect import FIRST_SEED, texts_of
from pixelis_mini.tokenizer import as_text
from pixelis_mini_tools import collect, sheets
from pixelis_mini_tools.drills import (
    DRILLS,
    boards,
    goods,
    lookups,
    plates,
    plates_of_lockers,
    receipts,
    steps,
)
from pixelis_mini_tools.drills import amounts as amounts_drill
from pixelis_mini_tools.measure import right_steps
from pixelis_mini_tools.routines import ROUTINES, demonstrations
from pixelis_mini_tools.scan import scanned
from pixelis_mini_tools.words import NUMBERS, TEXTS, extend
from pixelis_mini_vl.aloud import columns, combined, compared
from transformers import AutoModelForCausalLM, AutoTokenizer

from pixelis.agents.models.named_models import MINI_NAME, shipped_folder


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extended")
    extend(shipped_folder(MINI_NAME), folder, 4096)
    return folder


@pytest.mark.parametrize("name", [name for name in ROUTINES if name != "AskImage"])
def test_care_wins_and_flaws_lose(name):
    found = list(demonstrations(name, range(FIRST_SEED, FIRST_SEED + 24), "truth"))
    careful = [one.success for one in found if one.habit == "careful"]
    others = [one.success for one in found if one.habit != "careful"]
    assert np.mean(careful) >= 0.7 > np.mean(others) and len(others) >= 6


@pytest.mark.slow
def test_sheets_are_drawn_once_and_care_answers_every_question_about_them(tmp_path):
    questions = sheets.draw(tmp_path / "sheets", 1)
    before = {path.name: path.read_bytes() for path in questions.parent.iterdir()}
    assert sheets.draw(tmp_path / "sheets", 1) == questions
    assert {path.name: path.read_bytes() for path in questions.parent.iterdir()} == before
    assert len(questions.read_text().splitlines()) == 24 + 14 + 27
    found = list(demonstrations("AskImage", range(FIRST_SEED, FIRST_SEED + 30), "ocr", questions))
    assert {"careful", "half_sheet"} < {one.habit for one in found} <= set(sheets.AskImage.habits)
    assert all(one.success for one in found if one.habit == "careful")
    assert sum(one.success for one in found if one.habit != "careful") <= 0.4 * len(found)


def test_an_episode_is_the_same_for_a_seed_whatever_was_played_before():
    first, second = (list(demonstrations("SizeCompare", range(at, 13), "truth"))[-1] for at in (10, 12))
    assert first == second


def test_its_words_are_one_token_each_and_every_text_comes_back(extended):
    tokenizer = AutoTokenizer.from_pretrained(extended)
    for word in (*TEXTS, "0.37", "0.0", "1.00"):
        assert len(tokenizer(word)["input_ids"]) == 1
    assert "0.30" in NUMBERS
    for longer in ("20.30", "0.301", "10.3"):  # the number's own digits, as those of other amounts
        assert len(tokenizer(longer)["input_ids"]) == len(longer)
    played = as_text(next(demonstrations("ReceiptSum", range(5, 6), "truth")).turns)
    for text in (played, 'a [0.12, 0.345, 1.0] "0.5" 12:05 x0.25 0.250.5'):
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_what_the_model_knew_it_still_knows(extended):
    old, new = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        for folder in (shipped_folder(MINI_NAME), extended)
    )
    ids = AutoTokenizer.from_pretrained(shipped_folder(MINI_NAME))(
        "Write a reply to this tweet", return_tensors="pt"
    ).input_ids
    logits = [model(ids).logits[..., : old.config.vocab_size] for model in (old, new)]
    torch.testing.assert_close(*logits)
    assert new.config.max_position_embeddings == 4096


def test_playing_goes_on_where_it_ended(tmp_path, monkeypatch, extended):
    monkeypatch.setattr(collect, "CHUNK", 4)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    collect.play(whole, {"SizeCompare": 8}, 1)
    for count in (4, 8, 8):
        collect.play(parts, {"SizeCompare": count}, 1)
    assert texts_of(whole / "SizeCompare.jsonl") == texts_of(parts / "SizeCompare.jsonl")
    collect.encode(parts, extended, 12)
    with np.load(parts / "tokens.npz") as arrays:
        assert len(arrays["lengths"]) == 20 and arrays["tokens"].max() < len(
            AutoTokenizer.from_pretrained(extended)
        )


def test_what_is_worked_out_aloud_by_hand():
    assert compared([("red", 0.0125), ("pink", 0.0163), ("blue", 0.0149)]) == (
        "0.0125 red. 0.0163 pink. 0.0125 0.0163: 0.0163. 0.0149 blue. 0.0163 0.0149: 0.0163. 0.0163 pink.",
        "pink",
    )
    assert compared([("red", 0.0125), ("pink", 0.0163)], smallest=True)[1] == "red"
    assert compared([("red", 0.0125)]) == ("0.0125 red. 0.0125 red.", "red")
    rows = [("Red Tea", 1580), ("Old Tea", 1026), ("New Tea", 418)]
    assert combined(rows, "group") == (
        "Red Tea 15.80. Old Tea 10.26. 15.80 10.26: 0+6+0=06 8+2+0=10 5+0+1=06 1+1+0=02 26.06."
        " New Tea 4.18. 26.06 4.18: 6+8+0=14 0+1+1=02 6+4+0=10 2+0+1=03 30.24.",
        3024,
    )
    assert combined(rows, "lowest") == (
        "Red Tea 15.80. Old Tea 10.26. 15.80 10.26: 10.26. New Tea 4.18. 10.26 4.18: 4.18.",
        418,
    )
    assert combined(rows[:1], "highest") == ("Red Tea 15.80.", 1580)
    assert columns(9850, 725) == ("0+5+0=05 5+2+0=07 8+7+0=15 9+0+1=10", 10575)  # the last carry is a digit
    assert columns(10575, 50)[0].endswith(" 5+0+1=06 0+0+0=00 1+0+0=01")  # 106.25


def test_a_page_is_gone_through_line_by_line():
    page = [("Red Tea", 1580), ("Old Nuts", 250), ("Old Tea", 426), ("Teapot", 100), ("New Tea", 418)]
    assert scanned(page, "Tea", "lowest") == (
        "Asked: Tea. Red Tea Tea: 15.80. Old Nuts Tea: no. Old Tea Tea: 4.26. 15.80 4.26: 4.26."
        " Teapot Tea: no. New Tea Tea: 4.18. 4.26 4.18: 4.18.",
        418,
    )
    said, total = scanned(page, "Tea", "group")
    assert (
        total == 2424 and f"15.80 4.26: {columns(1580, 426)[0]} 20.06." in said and said.endswith(" 24.24.")
    )
    assert scanned(page, "Soap", "group")[1] is None


@pytest.mark.parametrize("drill", DRILLS, ids=lambda each: each.__name__)
def test_a_drill_answers_what_its_text_asks(drill):
    for turns in (drill(np.random.default_rng([5, i])) for i in range(40)):
        read, said = "\n".join(read for read, _ in turns), turns[-1][1]
        result = said.partition("<answer>")[2].removesuffix("</answer>")
        if drill is steps:
            found = re.findall(r"([\d.]+) ([\d.]+): ([\d.+= ]*\d)\.(?: |$)", said)
            assert len(found) == said.count(":") == 8
            for a, b, shown in found:
                numbers = float(a), float(b)
                if read == "together":
                    *written, total = shown.split(" ")
                    assert float(total) == pytest.approx(sum(numbers))
                    carries = [int(column[-2]) for column in written]
                    for x, y, carry, ten, one in (map(int, re.findall(r"\d", each)) for each in written):
                        assert x + y + carry == 10 * ten + one
                    assert [int(each[4]) for each in written] == [0, *carries[:-1]]
                else:
                    assert float(shown) == (min if read in ("smallest", "lowest") else max)(numbers)
            continue
        if drill is lookups:
            text = " ".join(re.findall(r"^(.+?) \[", read, re.M))
            places = dict(re.findall(r"^(\d{3}) (\[[\d.]+, [\d.]+),", read, re.M))
            rows = re.findall(r"(\S.*?\S)\.(?= |$)", said)
            assert len(rows) == 8 == len(set(rows))
            for row in rows:
                *name, told = row.split()
                if row.endswith("]"):
                    number, place = row.split(" ", 1)
                    assert places[number] == place.removesuffix("]")
                elif ":" in told:
                    assert f"{told} {name[0]} Platform {name[1]}" in text
                else:
                    assert row in text
            continue
        if drill is receipts:
            found = re.findall(r"^(\S+ \S+) \[.*\n([\d.]+) \[", read, re.M)
            question = read.splitlines()[0]
            names = re.search(r"together: (.+)\?", question)
            asked = re.split(", | and ", names[1]) if names else [re.search(r"with (\w+)", question)[1]]
            found = [(name, amount) for name, amount in found if name != "TOTAL"]
            amounts = [float(amount) for name, amount in found if any(one in name for one in asked)]
            how = min if "lowest" in question else max if "highest" in question else sum
            assert float(result) == pytest.approx(how(amounts)) and len(amounts) >= 2
        elif drill is amounts_drill:
            amounts = [float(each) for each in re.findall(r"\d+\.\d\d", read)]
            how = {"together": sum, "lowest": min, "highest": max}[read.split(":")[0]]
            assert float(result) == pytest.approx(how(amounts))
        elif drill is boards:
            text = " ".join(re.findall(r"^(.+) \[", read.partition("View")[2], re.M))
            city = re.search(r"train to (\w+)", read)[1]
            time, platform = re.search(rf"(\d\d:\d\d) {city} Platform (\d+)", text).groups()
            assert result == (time if read.startswith("When") else platform)
            assert len(re.findall(r"Platform", text)) == 14  # two of the twelve are seen twice
        elif drill is goods:
            name = re.search(r"(?:does the|is the) (\w+)", read)[1].capitalize()
            assert result == re.search(rf"^{name} (\S+) \[", read, re.M)[1]
        elif drill is plates_of_lockers:
            number = re.search(r"Point at locker (\d+)\.", read)[1]
            x, y, _, _ = re.search(rf"^{number} \[(.+)\]", read, re.M)[1].split(", ")
            assert result == f"[{x}, {y}]" and said.startswith(f"{number} {result}. ")
        elif drill is plates:
            assert re.findall(r"^([A-Z\d]{4}) \[", read, re.M) == [result]
        else:
            found = re.findall(r"(?:[:,]|colour) ([a-z ]+),? (?:area_share )?(0\.0\d+)", read)
            shares = {name: float(share) for name, share in found}
            how = min if read.startswith("smallest") else max
            assert how(shares, key=shares.get) == result and len(shares) >= 2


def test_every_step_of_every_drill_is_measured(extended):
    """A model that was never taught any gets few right; a text of steps has eight results."""
    measured = right_steps(extended, count=2)
    kinds = {name.split(",")[0] for name in measured}
    assert kinds == {drill.__name__ for drill in DRILLS}
    assert sum(of for name, (_, of) in measured.items() if name.startswith("steps")) == 8 * 6
    assert measured["plates"][1] == 2 and measured["lookups"][1] == 16
    assert sum(right for right, _ in measured.values()) <= 0.2 * sum(of for _, of in measured.values())
