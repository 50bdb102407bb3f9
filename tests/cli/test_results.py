"""What an evaluation leaves on disk: whole, cut off, and beside a table that was there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.evaluate import summarise
from pixelis.cli.results import Results, check_place, free_path
from pixelis.errors import OutputError

ENDS = [(True, 1.0), (False, 0.25), (False, 0.0)]


def episodes(count: int) -> list[Episode]:
    return [Episode("Toy-v0", n, n, 0, success=ENDS[n][0], reward=ENDS[n][1]) for n in range(count)]


def planned(agent: str = "oracle"):
    return replace(summarise([], agent=agent, mode="scripted"), env_id="Toy-v0", planned=3, tasks="toys")


def play(results: Results, count: int, agent: str = "oracle") -> None:
    with results.row(planned(agent)) as row:
        for episode in episodes(count):
            row.played([episode])
        if count < 3:
            raise KeyboardInterrupt


def table(path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_whole_evaluation(tmp_path):
    path = tmp_path / "deep" / "one.json"
    with Results(path, {"note": "mine"}) as results:
        play(results, 3)
        assert table(path)["partial"] is True  # while it goes on
        results.more["later"] = 1
    written = table(path)
    assert (written["partial"], written["note"], written["later"]) == (False, "mine", 1)
    (row,) = written["rows"]
    assert (row["agent"], row["env_id"], row["episodes"], row["planned"]) == ("oracle", "Toy-v0", 3, 3)
    assert row["success_rate"] == pytest.approx(1 / 3) and row["mean_reward"] == pytest.approx(1.25 / 3)
    lines = [json.loads(line) for line in results.transcripts.read_text().splitlines()]
    assert [(line["agent"], line["seed"], line["reward"]) for line in lines] == [
        ("oracle", 0, 1.0),
        ("oracle", 1, 0.25),
        ("oracle", 2, 0.0),
    ]
    assert sorted(each.name for each in path.parent.iterdir()) == ["one.json", "one.transcripts.jsonl"]


def test_what_is_cut_off_is_kept_and_told(tmp_path):
    results = Results(tmp_path / "one.json", {})
    with pytest.raises(KeyboardInterrupt), results:
        play(results, 3)
        play(results, 2, "random")
    written = table(tmp_path / "one.json")
    assert written["partial"] is True
    assert [(row["agent"], row["episodes"]) for row in written["rows"]] == [("oracle", 3), ("random", 2)]
    assert len((tmp_path / written["transcripts"]).read_text().splitlines()) == 5
    counts = "3 of 3 of oracle scripted, 2 of 3 of random scripted"
    assert results.partial == f"partial results ({counts}) are in {tmp_path / 'one.json'}"


def test_nothing_played_leaves_nothing(tmp_path):
    results = Results(tmp_path / "one.json", {})
    with pytest.raises(KeyboardInterrupt), results:
        play(results, 0)
    assert results.partial is None and list(tmp_path.iterdir()) == []


def test_a_whole_table_stays_until_another_is_whole(tmp_path):
    path = tmp_path / "one.json"
    with Results(path, {}) as results:
        play(results, 3, "first")
    with pytest.raises(KeyboardInterrupt), Results(path, {}) as results:
        play(results, 1, "second")
    assert [row["agent"] for row in table(path)["rows"]] == ["first"]
    aside = table(tmp_path / "one.partial.json")
    assert aside["rows"][0]["agent"] == "second" and aside["transcripts"] == "one.partial.transcripts.jsonl"
    assert len((tmp_path / aside["transcripts"]).read_text().splitlines()) == 1
    assert len((tmp_path / "one.transcripts.jsonl").read_text().splitlines()) == 3
    with Results(path, {}) as results:
        play(results, 3, "third")
    assert [row["agent"] for row in table(path)["rows"]] == ["third"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.json", "one.transcripts.jsonl"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (None, "one.json"),
        ('{"partial": true}', "one.json"),
        ('{"partial": false}', "one.partial.json"),
        ("{}", "one.partial.json"),
        ("[1]", "one.partial.json"),  # no table of ours is not written over either
        ("not JSON", "one.partial.json"),
    ],
)
def test_where_an_unfinished_table_goes(tmp_path, text, name):
    if text is not None:
        (tmp_path / "one.json").write_text(text)
    assert check_place(tmp_path / "one.json") == tmp_path / name


def test_a_place_where_nothing_can_be_written_is_told_before_anything_is_played(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "one.json"):
        with pytest.raises(OutputError):
            check_place(path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["a\0b.json", "a\ud800.json"])
def test_a_name_that_no_file_can_have_is_told(tmp_path, name):
    with pytest.raises(OutputError, match=r"no file can have that name \(.*\); choose another --output"):
        check_place(tmp_path / name)


@pytest.mark.parametrize(
    ("there", "name"),
    [
        ({}, "one.json"),
        ({"one.json": {"settings": {"agent": "a", "mix": {"0": 1}}, "rows": []}}, "one.json"),
        ({"one.json": {"settings": {"agent": "a", "mix": {"0": 1}}, "partial": True}}, "one.json"),
        ({"one.json": {"settings": {"agent": "b", "mix": {"0": 1}}}}, "one-2.json"),
        ({"one.json": {"settings": {"agent": "b"}, "partial": True}}, "one-2.json"),
        ({"one.json": {}, "one-2.json": [1]}, "one-3.json"),
        ({"one.json": {}, "one-2.json": {"settings": {"agent": "a", "mix": {"0": 1}}}}, "one-2.json"),
    ],
)
def test_a_table_that_nobody_named_goes_over_one_of_the_same_settings_alone(tmp_path, there, name):
    for file, saved in there.items():
        (tmp_path / file).write_text(json.dumps(saved))
    made_by = {"settings": {"agent": "a", "mix": {0: 1}}}  # whose keys are text in JSON
    assert free_path(tmp_path / "one.json", made_by) == tmp_path / name


def test_half_a_surrogate_in_a_text_is_kept_as_it_is(tmp_path):
    path = tmp_path / "one.json"
    with Results(path, {}) as results, results.row(planned()) as row:
        row.played([replace(each, asked="half \ud83d of it, and é") for each in episodes(3)])
    lines = [json.loads(line) for line in results.transcripts.read_text(encoding="utf-8").splitlines()]
    assert [line["asked"] for line in lines] == ["half \ud83d of it, and é"] * 3
