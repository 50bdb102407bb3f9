"""Own rows as an environment: where they come from, how they are split, what a wrong one is told."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest

import pixelis  # noqa: F401
from pixelis.envs import RowsEnv, check_env
from pixelis.envs.rows.rows import RowTasks, read_rows
from pixelis.errors import ConfigError, DatasetError, RewardError, UserCodeError

ROWS = [{"prompt": f"{number} + 1 = ", "answer": str(number + 1)} for number in range(20)]


def equal(row, text):
    return text == row["answer"]


def prompts(env: RowsEnv, split: str) -> set[str]:
    return {env.reset(seed=seed, options={"split": split})[0]["text"] for seed in range(200)}


def test_the_prompt_alone_is_shown_and_the_whole_turn_is_the_reply():
    env = gym.make("Pixelis/Rows-v0", rows=ROWS, reward=equal)
    observation, _ = env.reset(seed=0)
    (row,) = [row for row in ROWS if row["prompt"] == observation["text"]]
    _, reward, terminated, _, info = env.step(row["answer"])
    assert (reward, terminated, info["success"], info["reward_terms"]) == (1.0, True, True, {"task": 1.0})
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(f"<answer>{row['answer']}</answer>")
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_a_fifth_is_held_out_and_the_splits_never_meet():
    many = [{"prompt": str(number)} for number in range(500)]
    tasks = RowsEnv(rows=many, reward=lambda row, text: 0).rows._rows
    assert len(tasks["train"]) + len(tasks["test"]) == 500 and 70 < len(tasks["test"]) < 130
    env = RowsEnv(rows=ROWS, reward=equal)
    train, test = prompts(env, "train"), prompts(env, "test")
    assert train | test == {row["prompt"] for row in ROWS} and not train & test


def test_a_row_may_name_its_split():
    named = [{"prompt": "a", "split": "test"}, {"prompt": "b", "split": "train"}]
    env = RowsEnv(rows=named, reward=equal)
    assert (prompts(env, "train"), prompts(env, "test")) == ({"b"}, {"a"})
    with pytest.raises(DatasetError, match="every row has the split 'test'"):
        RowsEnv(rows=named[:1], reward=equal)
    with pytest.raises(DatasetError, match="'a' is in both splits"):
        RowsEnv(rows=[*named, {"prompt": "a", "split": "train"}], reward=equal)
    with pytest.raises(DatasetError, match="'a' is in both splits"):  # nor when it is written otherwise
        RowsEnv(rows=[*named, {"prompt": "A ", "split": "train"}], reward=equal)
    with pytest.raises(DatasetError, match="row 1: field 'split' must be 'train' or 'test', got 'dev'"):
        RowsEnv(rows=[{"prompt": "a", "split": "dev"}], reward=equal)


def test_prompts_that_differ_in_case_and_spaces_alone_are_never_held_apart():
    """Of forty prompts a fifth would be for testing; forty ways to write one of them stay together."""
    words = [f"What {' ' * number}is {'IT' if number % 2 else 'it'}?{' ' * number}" for number in range(40)]
    env = RowsEnv(rows=[{"prompt": word} for word in words], reward=equal)
    assert prompts(env, "train") == prompts(env, "test")  # all of them: there is nothing to hold out


def test_a_row_that_nobody_labelled_is_no_failure():
    """A labelled check set beside training rows without labels: of these nothing is known."""

    def known(row, text):
        return float(text == row["answer"]) if "answer" in row else None

    rows = [{"prompt": "a", "split": "train"}, {"prompt": "b", "answer": "c", "split": "test"}]
    env = RowsEnv(rows=rows, reward=known)
    for split, success in (("train", None), ("test", False)):
        env.reset(seed=0, options={"split": split})
        _, reward, _, _, info = env.step("d")
        assert (reward, info.get("success")) == (0.0, success)
    forgotten = RowsEnv(rows=[{"prompt": "a", "answer": "b"}], reward=lambda row, text: None)
    with pytest.raises(ConfigError, match=r"row 1: .*got None"):
        forgotten.check_reward()


def test_too_few_rows_to_hold_some_out_are_all_played():
    env = RowsEnv(rows=[{"prompt": "only"}], reward=equal)
    assert prompts(env, "train") == prompts(env, "test") == {"only"}


def test_rows_from_files_and_from_a_dataset(tmp_path):
    lines, table = tmp_path / "rows.jsonl", tmp_path / "rows.csv"
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    table.write_text("prompt,answer\n" + "".join(f"{row['prompt']},{row['answer']}\n" for row in ROWS))

    class Dataset:  # what is used of datasets.Dataset: iterating yields a dict a row
        def __iter__(self):
            return iter(ROWS)

    expected = RowsEnv(rows=ROWS, reward=equal)
    for rows in (lines, str(table), Dataset(), tuple(ROWS)):
        env = RowsEnv(rows=rows, reward=equal)
        assert prompts(env, "test") == prompts(expected, "test")
        env.reset(seed=3)
        assert env.step(env.task.answer)[1] == 1.0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "rows is empty; give at least one row such as"),
        (
            [{"prompt": "a"}, {"question": "b"}],
            r"row 2: field 'prompt' is missing; the row has \['question'\]",
        ),
        ([{"prompt": ""}], "row 1: field 'prompt' must be a text of 1 to 8,000 characters, got ''"),
        ([{"prompt": "x" * 8001}], "must be a text of 1 to 8,000 characters"),
        ([{"prompt": 3}], "must be a text of 1 to 8,000 characters, got 3"),
        ([{"prompt": "a", "when": {1}}], "row 1: a row must hold JSON values"),
        (["a"], "row 1: a row must be a dict, got 'a'"),
        ({"train": ROWS}, r"rows must be a list of dicts.*choose one of its parts, \['train'\]"),
        (3, "rows must be a list of dicts, a JSONL or CSV file or a datasets.Dataset, got 3"),
        ("nowhere.jsonl", "expected a JSONL or CSV file of rows at .*nowhere.jsonl, got nothing"),
    ],
)
def test_wrong_rows(rows, message):
    with pytest.raises(ConfigError, match=message):
        RowsEnv(rows=rows, reward=equal)


def labelled(row, text):
    return None if row.get("answer") is None else float(text == row["answer"])


def test_blank_cells_of_a_table_are_fields_that_are_left_out(tmp_path):
    """As in JSONL: no label is not the label "", and no split is chosen."""
    path = tmp_path / "rows.csv"
    path.write_text("prompt,answer,split,note\na,,train,\nb, ,train,x\nc,d,test,\n")
    env = RowsEnv(rows=path, reward=labelled)
    seen = {}
    for seed in range(20):
        _, info = env.reset(seed=seed)
        *_, info = env.step("d")
        seen[info["task"]["id"]] = (info.get("success"), info.get("unlabelled"))
    assert seen == {"rows-train-2": (None, True), "rows-train-3": (None, True)}
    env.reset(seed=0, options={"split": "test"})
    *_, info = env.step("d")
    assert info["success"] is True and "unlabelled" not in info
    path.write_text("prompt,split\na,\nb,train\n")
    assert [row.values for row in read_rows(path)] == [{"prompt": "a"}, {"prompt": "b", "split": "train"}]
    assert read_rows([{"prompt": "a", "split": None}])[0] == read_rows([{"prompt": "a"}])[0]


def test_the_same_question_in_another_form_of_unicode_is_the_same():
    composed, apart = "Say caf\u00e9", "say  CAFE\u0301"
    with pytest.raises(DatasetError, match="in both splits"):
        RowsEnv(rows=[{"prompt": composed, "split": "train"}, {"prompt": apart, "split": "test"}])
    assert len({row.split for row in read_rows([{"prompt": composed}, {"prompt": apart}])}) == 1


def test_other_numbers_are_other_questions():
    rows = [{"prompt": f"What is {n}?", "split": split} for n, split in (("3²", "train"), ("32", "test"))]
    rows += [
        {"prompt": "What is ½ of it?", "split": "train"},
        {"prompt": "What is 1⁄2 of it?", "split": "test"},
    ]
    assert len(RowsEnv(rows=rows).rows.sample(np.random.default_rng(0), 0, "test").question) > 0


def test_a_row_without_an_answer_has_no_text_for_it():
    tasks = RowTasks(read_rows([{"prompt": "a", "answer": None}, {"prompt": "b", "answer": 3}]))
    drawn = [tasks.sample(np.random.default_rng(seed), 0, "train") for seed in range(20)]
    assert {(task.question, task.answer) for task in drawn} == {("a", ""), ("b", "3")}


@pytest.mark.parametrize("row", [{"prompt": "\ud800 hi"}, {"prompt": "hi", "note": "\udfff"}])
def test_half_a_surrogate_pair_is_told_with_its_row(row, tmp_path):
    with pytest.raises(DatasetError, match=r"row 2: a row must hold JSON values \(.*surrogates not allowed"):
        RowsEnv(rows=[{"prompt": "whole"}, row])
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"prompt": "whole"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(DatasetError, match=r"line 2: a row must hold JSON values"):
        RowsEnv(rows=path)


def test_wrong_files_name_the_line(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("prompt,answer\na,b\nc\n")
    with pytest.raises(DatasetError, match="line 3: expected 2 columns"):
        RowsEnv(rows=path, reward=equal)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a"}\n\nnot JSON\n')
    with pytest.raises(DatasetError, match="line 3: expected one JSON object"):
        RowsEnv(rows=path, reward=equal)


def divides(row, text):
    return 1 / 0


@pytest.mark.parametrize(
    ("reward", "kind", "message"),
    [
        (
            lambda row, text: math.nan,
            RewardError,
            r"row 1: reward: expected a finite number.*test_rows.py:\d+",
        ),
        (lambda row, text: "good", RewardError, r"got 'good' \(.*test_rows.py:\d+\)"),
        (lambda row, text: None, RewardError, "got None"),
        (divides, UserCodeError, r"the reward of row 1 raised ZeroDivisionError.*test_rows.py:\d+"),
    ],
)
def test_a_wrong_reward_is_told_with_its_line(reward, kind, message):
    env = RowsEnv(rows=[{"prompt": "a"}], reward=reward)
    env.reset(seed=0)
    with pytest.raises(kind, match=message):
        env.step("text")
    with pytest.raises(ConfigError, match=message):
        env.check_reward()


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (lambda row: 1.0, r"reward must take a row and a text, reward\(row, text\)"),
        (3, "reward must be a function or its module:name, got 3"),
        ("nowhere_at_all:reward", "cannot be imported"),
        ("given:my.py:12", "the function my.py:12 was given in Python and is not kept in the settings"),
    ],
)
def test_a_reward_that_is_no_function_of_a_row_and_a_text(reward, message):
    with pytest.raises(ConfigError, match=message):
        RowsEnv(rows=ROWS, reward=reward)


@pytest.mark.slow
def test_the_contract_holds_but_for_what_speaks_of_tools_and_of_policies():
    rows = [
        {"prompt": f"{number} + 30 = ", "answer": str(number + 30)} for number in range(20)
    ]  # no line's number
    report = check_env("Pixelis/Rows-v0", seeds=5, processes=False, keywords={"rows": rows, "reward": equal})
    # Every turn is a reply, so none is bad and each ends the episode; whoever knows the rows has exploits.
    other = {"bad_actions_are_observations", "the_end", "floors_hold"}
    assert {finding.clause for finding in report.failures} == other, str(report)
