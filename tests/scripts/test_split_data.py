"""The command that splits a file of tweets: what it prints, and how it fails."""

from __future__ import annotations

import pytest

from pixelis.cli import USER_MISTAKE, split_data


@pytest.fixture(scope="module")
def script():
    return split_data


def test_a_csv_is_split_and_the_sizes_are_reported(script, tmp_path, capsys):
    rows = [f'"Tweet number {n * 7919}, with a comma",author{n // 2},{n}' for n in range(40)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["\ufefftweet,author,engagement", *rows]), encoding="utf-8")
    assert script.main([str(path), "--output", str(tmp_path / "out"), "--near", "0.95"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("40 tweets in 20 groups, the largest of 2\n")
    for line in ("sft            16   40.0%", "grpo           16   40.0%", "held_out        8   20.0%"):
        assert line in said
    assert f"written to {tmp_path / 'out'}" in said
    assert script.main([str(path), "--output", str(tmp_path / "out"), "--near", "0.95"]) == 0
    assert f"already in {tmp_path / 'out'}" in capsys.readouterr().out


def test_mistakes_are_one_line_and_status_2(script, tmp_path, capsys):
    path = tmp_path / "mine.csv"
    path.write_text("text\nhello\n")
    for words in ([str(path)], [str(tmp_path / "none.csv")], ["--sft", "0.9"]):
        assert script.main([*words, "--output", str(tmp_path / "out")]) == USER_MISTAKE
        said = capsys.readouterr()
        assert said.err.startswith("error: ")
        assert said.out == ""
    assert not (tmp_path / "out").exists()
