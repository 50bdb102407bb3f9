"""The split: no author and no near-duplicate in two parts, shares kept, folders whole or not there."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.tweet.data.seed_data import SEED_TWEETS
from pixelis.envs.tweet.data.split import PARTS, SplitSettings, deal, quartiles, split_tweets
from pixelis.envs.tweet.data.split_folder import write_split
from pixelis.envs.tweet.data.tweet_file import TweetFile
from pixelis.envs.tweet.data.tweet_text import jaccard, shingles
from pixelis.errors import ConfigError, DatasetError, OutputError


def data_file(folder, rows):
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parts_of(folder):
    return {
        name: [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name in PARTS
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("splits") / "seed"
    return folder, *write_split(SEED_TWEETS, folder, SplitSettings())


def test_the_parts_are_all_rows_once_with_the_split_they_are_for(written):
    folder, manifest, fresh = written
    parts = parts_of(folder)
    source = [json.loads(line)["tweet"] for line in SEED_TWEETS.read_text("utf-8").splitlines()]
    assert fresh
    assert sorted(row["tweet"] for rows in parts.values() for row in rows) == sorted(source)
    assert {name: len(rows) for name, rows in parts.items()} == manifest["sizes"]
    assert {row["split"] for row in parts["held_out"]} == {"test"}
    assert {row["split"] for name in ("sft", "grpo") for row in parts[name]} == {"train"}


def test_no_author_and_no_near_duplicate_is_in_two_parts(written):
    parts = parts_of(written[0])
    for first, second in itertools.combinations(parts.values(), 2):
        assert not {row["author"] for row in first} & {row["author"] for row in second}
        pairs = itertools.product(*([shingles(row["tweet"]) for row in rows] for rows in (first, second)))
        assert max(jaccard(*pair) for pair in pairs) < 0.5


def test_the_shares_hold_over_all_and_in_every_topic(written):
    manifest = written[1]
    for part, share in zip(PARTS, (0.4, 0.4, 0.2), strict=True):
        assert manifest["sizes"][part] / 360 == pytest.approx(share, abs=0.02)
    for counts in manifest["strata"].values():
        assert [counts[part] for part in PARTS] == pytest.approx([4.5, 4.5, 2.25], abs=1.6)


def test_near_duplicates_of_different_authors_stay_together(tmp_path):
    rows = [
        {"tweet": f"{word} {n} times and then the sea came in", "author": f"{word}{n}"}
        for n in range(9)
        for word in ("once", "ebb")
    ]
    rows += [{"tweet": f"A quite different thing, number {n * 7919}: {'xyzw'[n % 4] * 9}"} for n in range(9)]
    tweets = TweetFile(data_file(tmp_path, rows), splits_apart=False)
    split = split_tweets(tweets, SplitSettings())
    assert split.near_pairs > 0
    for first, second in itertools.combinations(range(len(rows)), 2):
        if jaccard(shingles(rows[first]["tweet"]), shingles(rows[second]["tweet"])) >= 0.55:
            assert split.parts[first] == split.parts[second]


def test_the_seed_decides_and_equal_seeds_agree():
    tweets = TweetFile(SEED_TWEETS)
    first, again, other = (split_tweets(tweets, SplitSettings(seed=seed)).parts for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_engagement_is_shared_out_by_quartile(tmp_path):
    rows = [{"tweet": f"{n * 7919} words of {n * 104729}", "engagement": n} for n in range(80)]
    split = split_tweets(TweetFile(data_file(tmp_path, rows)), SplitSettings(sft=0.5, grpo=0.3))
    assert list(split.strata) == ["q1", "q2", "q3", "q4"]
    assert all(counts == (10, 6, 4) for counts in split.strata.values())


def test_quartiles_by_hand():
    assert quartiles([0, 10, 20, 30, math.nan]) == ["q1", "q2", "q3", "q4", ""]
    assert quartiles([math.nan] * 2) == ["", ""]
    assert quartiles([5, 5, 5]) == ["q1"] * 3


def test_dealing_by_hand():
    # Shares 1/2, 1/2, 0: the group of 3 goes to one part, the three of 1 to the other.
    parts = deal([[0, 1, 2], [3], [4], [5]], [""] * 6, SplitSettings(sft=0.5, grpo=0.5))
    assert sorted([parts[0:3], parts[3:6]]) == [[0, 0, 0], [1, 1, 1]]


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from("ab")), min_size=1, max_size=30), st.integers(0, 5)
)
def test_groups_stay_whole_and_sizes_come_within_the_largest_group(groups, seed):
    numbers = iter(range(1_000))
    rows = [list(itertools.islice(numbers, size)) for size, _ in groups]
    strata = [name for size, name in groups for _ in range(size)]
    parts = deal(rows, strata, SplitSettings(sft=0.4, grpo=0.4, seed=seed))
    assert all(len({parts[row] for row in group}) == 1 for group in rows)
    largest = max(map(len, rows))
    for part, share in enumerate((0.4, 0.4, 0.2)):
        assert abs(parts.count(part) - share * len(parts)) <= 2 * largest


def test_a_share_of_zero_gets_nothing(tmp_path):
    folder = tmp_path / "out"
    manifest, _ = write_split(SEED_TWEETS, folder, SplitSettings(sft=0.8, grpo=0.0))
    assert manifest["sizes"]["grpo"] == 0
    assert (folder / "grpo.jsonl").read_text() == ""


# ---------------------------------------------------------------------- the folder


def test_the_same_split_again_changes_nothing_and_another_needs_overwrite(tmp_path):
    source = data_file(tmp_path, [{"tweet": f"Tweet {n * 7919}"} for n in range(10)])
    folder = tmp_path / "deep" / "out"
    first, fresh = write_split(source, folder, SplitSettings())
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert fresh
    assert write_split(source, folder, SplitSettings()) == (first, False)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    with pytest.raises(OutputError, match=r"another split.*--overwrite"):
        write_split(source, folder, SplitSettings(seed=1))
    assert write_split(source, folder, SplitSettings(seed=1), overwrite=True)[1]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["out"]


def test_a_damaged_part_is_noticed(tmp_path):
    source = data_file(tmp_path, [{"tweet": f"Tweet {n * 7919}"} for n in range(10)])
    folder = tmp_path / "out"
    write_split(source, folder, SplitSettings())
    good = (folder / "sft.jsonl").read_bytes()
    (folder / "sft.jsonl").write_bytes(good[:-5])
    with pytest.raises(OutputError, match="damaged"):
        write_split(source, folder, SplitSettings())
    write_split(source, folder, SplitSettings(), overwrite=True)
    assert (folder / "sft.jsonl").read_bytes() == good


def test_what_a_killed_run_left_is_replaced(tmp_path):
    source = data_file(tmp_path, [{"tweet": "One"}, {"tweet": "Two"}])
    left = tmp_path / ".out.unfinished"
    left.mkdir()
    (left / "sft.jsonl").write_text("half a li")
    write_split(source, tmp_path / "out", SplitSettings())
    assert not left.exists()
    assert sum(map(len, parts_of(tmp_path / "out").values())) == 2


def test_a_run_that_fails_leaves_no_folder(tmp_path):
    source = data_file(tmp_path, [{"tweet": "One"}, {"tweet": "..."}])
    with pytest.raises(DatasetError, match="line 2"):
        write_split(source, tmp_path / "out", SplitSettings())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.jsonl"]


def test_a_folder_that_is_no_split_is_left_alone_even_with_overwrite(tmp_path):
    source = data_file(tmp_path, [{"tweet": "One"}])
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("precious")
    with pytest.raises(OutputError, match="something that is no split"):
        write_split(source, folder, SplitSettings(), overwrite=True)
    assert (folder / "chapter.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"sft": 1.2}, "sft must be a share"),
        ({"sft": 0.7, "grpo": 0.4}, "at most 1 together"),
        ({"grpo": math.nan}, "grpo must be a share"),
        ({"near": 0.0}, "near must be above 0"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_wrong_settings_are_one_clear_error(keywords, words):
    with pytest.raises(ConfigError, match=words):
        SplitSettings(**keywords)
