"""Which ``<answer>`` of a turn is the answer, and which is part of the code."""

from __future__ import annotations

import json
import time

import gymnasium as gym
import pytest

import pixelis  # noqa: F401
from pixelis.envs.coding.answers.extraction import extract_code, fenced_blocks
from pixelis.envs.coding.code_problem.answer_tag import parse_turn

RIGHT = "def f(n):\n    '''Return <answer>.'''\n    return n + 1"
WRONG = "def f(n):\n    return 0"
SUBMIT = '<tool_call>{"name": "SUBMIT"}</tool_call>'
ROW = {
    "statement": "Add one.",
    "entry": "f",
    "tests": [{"args": [n], "expected": n + 1} for n in (1, 2)],
    "split": "train",
}


@pytest.fixture(scope="module")
def envs(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text(json.dumps(ROW))
    made = {
        mode: gym.make("Pixelis/CodeProblem-v0", problems=str(path), mode=mode, disable_env_checker=True)
        for mode in ("single", "multi")
    }
    yield made
    for env in made.values():
        env.close()


def fenced(code, label="python"):
    return f"```{label}\n{code}\n```"


def reward(env, turn):
    env.reset(seed=0)
    return env.step(turn)[1]


@pytest.mark.parametrize(
    "turn",
    [
        fenced(RIGHT),
        fenced(RIGHT).replace("\n", "\r\n"),
        RIGHT,
        f"```python\n{RIGHT}",
        f"```python\n{RIGHT}\n```</think>",
        f"{fenced(RIGHT)}\nI put it in <answer> tags.",
        f"{fenced('Write <answer>x</answer>', 'text')}\n{fenced(RIGHT)}",
        "def h(n):\n    '''<answer>'''\n    return n + 1\n\ndef f(n):\n    return h(n)",
        f"<answer>{fenced(RIGHT)}</answer>",
        f"<answer>{RIGHT}</answer>",
        f"{fenced(WRONG)}\n<answer>\n{RIGHT}</answer>",
        f"{fenced(WRONG)}\n<answer>\ndef f(n):\n    return n + 1",  # a stop sequence has taken the end
        f"```python\n{WRONG}\n<answer>\n{fenced(RIGHT)}\n</answer>",  # a fence that was never closed
    ],
)
def test_the_code_of_a_turn_counts(envs, turn):
    assert reward(envs["single"], turn) == 1.0


@pytest.mark.parametrize("between", ["\n", "", "\nIt goes into <answer>, so:\n"])
@pytest.mark.parametrize("code", [fenced(RIGHT), RIGHT + "\n"])
def test_the_code_in_front_of_a_call_counts(envs, code, between):
    assert reward(envs["multi"], f"{code}{between}{SUBMIT}") == 1.0


def test_a_broken_block_is_told_its_mistake(envs):
    envs["single"].reset(seed=0)
    observation, *_ = envs["single"].step(fenced("def f(n):\n    '''<answer>'''\n    return (n"))
    assert "line 3" in observation["text"] and "was never closed" in observation["text"]


def test_an_answer_keeps_its_white_space_and_calls_keep_theirs():
    call = f"<tool_call>{json.dumps({'name': 'RUN', 'arguments': {'code': RIGHT}})}</tool_call>"
    parsed = parse_turn(
        f"{fenced(RIGHT)}\n{call}<answer>\n  x\n</answer>", "f", lambda text: extract_code(text, "f")
    )
    assert parsed.answer == "\n  x\n" and parsed.calls[0].arguments["code"] == RIGHT


def test_blocks_stand_where_they_are_said_to():
    text = "So:```py\na\n```<tool_call>\r\n  ~~~\n  b\n  ~~~\nc\n```\nd"
    blocks = fenced_blocks(text)
    assert [text[block.start : block.end] for block in blocks] == ["a\n", "  b\n", "d"]
    assert [(block.code, block.is_closed) for block in blocks] == [("a", True), ("b", True), ("d", False)]


@pytest.mark.parametrize("piece", ["<answer>", "```\n<answer>", "def g(): 0\n<answer>", "`<answer>\n```\n"])
def test_many_tags_take_little_time(envs, piece):
    started = time.process_time()
    reward(envs["multi"], (fenced("x = 1") + "\n" + piece * 2_000)[:16_384])
    assert time.process_time() - started < 5


def test_code_in_a_thought_without_an_end_is_not_handed_in(envs):
    env = envs["single"]
    env.reset(seed=0)
    observation, paid, *_ = env.step(f"<think>Perhaps\n{fenced(RIGHT)}\nbut then")
    assert paid == 0 and "<think> has no </think>" in observation["text"]
    assert reward(env, f"<think>Perhaps\n{fenced('def f(n): return 0')}</think>\n{fenced(RIGHT)}") == 1.0
