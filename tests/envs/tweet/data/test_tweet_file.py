"""Files of tweets: JSONL and CSV say the same, are read row by row, and name the lines of what is wrong."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.data.lines import MAX_LINE_BYTES
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.errors import DatasetError

ROWS = [
    {"tweet": 'She said "no", twice.\nThen left.', "author": "amy", "engagement": 3, "split": "train"},
    {"tweet": "Ça va? 🎉", "reply": "Oui, et toi?", "split": "test"},
    {"tweet": "Rain again.", "thread": [{"tweet": "And hail."}], "split": "train"},
]


def write_jsonl(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    return path


def write_csv(path, rows=ROWS, encoding="utf-8", **format):
    with path.open("w", encoding=encoding, newline="") as file:
        names = ["tweet", "reply", "author", "engagement", "thread", "split"]
        writer = csv.DictWriter(file, names, **format)
        writer.writeheader()
        for row in rows:
            thread = {"thread": json.dumps(row["thread"])} if "thread" in row else {}
            writer.writerow({**row, **thread})
    return path


def contents(tweets):
    return [tweets.read(split, n)[1] for split in ("train", "test") for n in range(tweets.count(split))]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_csv_and_jsonl_hold_the_same_rows(tmp_path, encoding):
    jsonl = TweetFile(write_jsonl(tmp_path / "a.jsonl"))
    table = TweetFile(write_csv(tmp_path / "a.csv", encoding=encoding))
    assert contents(jsonl) == contents(table)
    assert [row for _, row in jsonl.rows()] == [row for _, row in table.rows()]
    assert (len(table), table.count("train"), table.count("test")) == (3, 2, 1)
    assert jsonl.read("train", 1)[0] == 5  # blank lines count as lines
    assert table.read("train", 1)[0] == 5  # the first record has two lines
    assert table.at(1).reply == "Oui, et toi?"


def test_threads_only_leaves_the_other_rows_out(tmp_path):
    tweets = TweetFile(write_jsonl(tmp_path / "a.jsonl"), threads_only=True)
    assert (tweets.count("train"), tweets.count("test"), len(tweets)) == (1, 0, 3)
    assert tweets.read("train", 0)[1].thread[0].tweet == "And hail."


@settings(max_examples=30)
@given(
    texts=st.lists(
        st.text(st.sampled_from('ab ,"\r\n;é'), min_size=1).map("x{}y".format), min_size=1, max_size=6
    )
)
def test_any_csv_that_python_writes_is_read_back(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    rows = [{"tweet": text, "split": "train"} for text in texts]
    tweets = TweetFile(write_csv(path, rows))
    assert [row.tweet for row in contents(tweets)] == texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rows"),
        ("tweet\n", "no rows"),
        ("text,author\nhi,amy\n", "line 1: unknown field 'text'. Did you mean 'tweet'"),
        ("author\namy\n", "line 1: expected a column 'tweet', got author"),
        ("tweet,tweet\na,b\n", "named twice"),
        ("tweet;author\nhi;amy\n", "line 1: unknown field 'tweet;author'"),
        ("tweet,author\nhi,amy\nthere\n", "line 3: expected 2 cells as in the header, got 1"),
        ("tweet,author\nhi, there, amy\n", "line 2: expected 2 cells as in the header, got 3"),
        ("tweet,author\n,amy\nok,bob\n...,cy\n", r"line 2: .*hold a word[\s\S]*line 4: .*hold a word"),
        ("tweet,thread\nhi,[oops\n", "line 2: field 'thread' must be a JSON list"),
        ('tweet\n"never closed\nmore\n', "line 2: expected CSV"),
        ('tweet\n"a"b\n', "line 2: expected CSV"),
    ],
)
def test_bad_csv_is_refused_with_the_line(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(DatasetError, match=words):
        TweetFile(path)


def test_csv_that_is_no_utf8_or_has_an_endless_record_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("tweet\ncaf\u00e9\n".encode("latin-1"))
    with pytest.raises(DatasetError, match="line 2: expected UTF-8"):
        TweetFile(path)
    path.write_bytes(b'tweet\n"' + b"many words\n" * (MAX_LINE_BYTES // 10))
    with pytest.raises(DatasetError, match=r"line 2: expected CSV.*never closed"):
        TweetFile(path)
    path.write_bytes(b"tweet\nx" + b",x" * (MAX_LINE_BYTES // 2))
    with pytest.raises(DatasetError, match="line 2: expected at most 1,048,576 bytes a row"):
        TweetFile(path)


def test_bad_jsonl_is_refused_with_the_lines_five_at_most(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"tweet": "ok"}\n' + '{"tweet": ""}\n' * 7)
    with pytest.raises(DatasetError) as caught:
        TweetFile(path)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()[1:]] == [
        f"line {n}" for n in range(2, 7)
    ]


def test_one_tweet_in_both_splits_is_refused_with_both_lines(tmp_path):
    rows = [{"tweet": "Rain, again!", "split": "train"}, {"tweet": "Snow", "split": "train"}]
    path = write_jsonl(tmp_path / "a.jsonl", [*rows, {"tweet": "rain AGAIN", "split": "test"}])
    with pytest.raises(DatasetError, match=r"lines 1 \(train\) and 5 \(test\) hold the same tweet"):
        TweetFile(path)
    assert len(TweetFile(path, splits_apart=False)) == 3
    again = write_jsonl(tmp_path / "b.jsonl", [*rows, {"tweet": "rain AGAIN", "split": "train"}])
    assert TweetFile(again).count("train") == 3  # two replies to one tweet may be two rows


def test_a_file_that_changes_is_noticed_and_opened_anew(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl")
    tweets = TweetFile.open(path)
    assert TweetFile.open(path) is tweets
    write_jsonl(path, ROWS[:1])
    with pytest.raises(DatasetError, match="has changed"):
        tweets.read("train", 0)
    assert len(TweetFile.open(path)) == 1


@pytest.mark.parametrize("path", [3, None, "no\0name", "/no/such/file.jsonl", "/"])
def test_what_is_no_file_is_one_clear_error(path):
    with pytest.raises(DatasetError, match="JSONL or CSV file"):
        TweetFile.open(path)
