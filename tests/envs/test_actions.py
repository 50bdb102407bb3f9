from __future__ import annotations

import json
import random
import string

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.actions import (
    MAX_ACTION_LENGTH,
    MAX_CALLS_PER_TURN,
    MAX_DEPTH,
    BadCall,
    ParsedAction,
    ToolCall,
    parse_action,
)
from pixelis.envs.check.nasty_actions import BAD_CALLS, NASTY_ACTIONS
from pixelis.envs.spaces import clean_text

ZOOM = '<tool_call>{"name": "ZOOM", "arguments": {"factor": 2}}</tool_call>'
READ = '<tool_call>{"name": "READ"}</tool_call>'


def codes(text):
    return [call.error_code for call in parse_action(text).calls if isinstance(call, BadCall)]


# ---------------------------------------------------------------------- by hand


def test_calls_come_in_document_order():
    parsed = parse_action(f"First {ZOOM} then {READ}.")
    assert parsed == ParsedAction((ToolCall("ZOOM", {"factor": 2}), ToolCall("READ", {})), None)


def test_the_first_answer_ends_the_turn():
    parsed = parse_action(f"{ZOOM}<answer> a </answer>{READ}<answer>b</answer>")
    assert parsed == ParsedAction((ToolCall("ZOOM", {"factor": 2}),), "a")


def test_an_open_answer_takes_the_rest():
    assert parse_action("<answer>a b ").answer == "a b"
    assert parse_action("<answer>").answer == ""


def test_an_answer_inside_a_call_is_part_of_the_call():
    parsed = parse_action("<tool_call><answer>x</answer></tool_call>")
    assert parsed.answer is None
    assert codes("<tool_call><answer>x</answer></tool_call>") == ["bad_json"]


def test_xml_arguments():
    text = (
        "<tool_call>\n<function=ZOOM>\n<parameter=center>\n[0.5, 0.25]\n</parameter>\n"
        "<parameter=note>\nplain words\n</parameter>\n<parameter=n>3</parameter></function>\n</tool_call>"
    )
    call = ToolCall("ZOOM", {"center": [0.5, 0.25], "note": "plain words", "n": 3})
    assert parse_action(text).calls == (call,)


def test_json_that_mentions_the_xml_form_is_json():
    body = json.dumps({"name": "THINK", "arguments": {"thought": "<function=ZOOM>"}})
    assert parse_action(f"<tool_call>{body}</tool_call>").calls == (
        ToolCall("THINK", {"thought": "<function=ZOOM>"}),
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<tool_call>{", "unclosed_call"),
        ("<tool_call></tool_call>", "bad_json"),
        ("<tool_call>{'name': 'ZOOM'}</tool_call>", "bad_json"),
        ("<tool_call>[]</tool_call>", "bad_call"),
        ('<tool_call>{"name": 3}</tool_call>', "bad_call"),
        ('<tool_call>{"name": "Z", "arguments": [1]}</tool_call>', "bad_call"),
        ('<tool_call>{"name": "Z", "arguments": {"x": NaN}}</tool_call>', "bad_json"),
        ('<tool_call>{"name": "Z", "arguments": {"x": [1e999]}}</tool_call>', "bad_json"),
        ('<tool_call>{"name": "Z", "arguments": {"x": 9223372036854775808}}</tool_call>', "bad_json"),
        ('<tool_call>{"name": "Z", "arguments": {"x": "\\udc00"}}</tool_call>', "bad_json"),
        ('<tool_call>{"name": "Z", "arguments": {"\\udc00": 1}}</tool_call>', "bad_json"),
        ("<tool_call><function=Z><parameter=x>1</function></tool_call>", "unclosed_call"),
        ("<tool_call><function=Z><parameter=x>1e999</parameter></function></tool_call>", "bad_json"),
    ],
)
def test_what_was_wrong_is_named(text, code):
    assert codes(text) == [code]


def test_every_bad_call_says_what_would_be_right():
    calls = [call for text in BAD_CALLS.values() for call in parse_action(text).calls]
    bad = [call for call in calls if isinstance(call, BadCall) and call.error_code != "too_many_calls"]
    assert len(bad) >= 20
    assert all("<tool_call>" in call.message and len(call.message) < 300 for call in bad)


@pytest.mark.parametrize(("depth", "good"), [(MAX_DEPTH - 1, True), (MAX_DEPTH, False), (3000, False)])
def test_nesting_has_a_limit(depth, good):
    body = '{"name": "Z", "arguments": {"x": ' + "[" * depth + "]" * depth + "}}"
    assert codes(f"<tool_call>{body}</tool_call>") == ([] if good else ["bad_json"])


def test_only_the_first_calls_of_a_turn_are_run():
    parsed = parse_action(READ * (MAX_CALLS_PER_TURN + 5) + "<answer>x</answer>")
    assert len(parsed.calls) == MAX_CALLS_PER_TURN + 1
    assert codes(READ * (MAX_CALLS_PER_TURN + 5)) == ["too_many_calls"]
    assert parsed.answer is None
    assert codes(READ * MAX_CALLS_PER_TURN) == []


def test_an_answer_after_the_greatest_number_of_calls_counts():
    assert parse_action(READ * MAX_CALLS_PER_TURN + "<answer>x</answer>").answer == "x"


def test_longer_text_is_cut():
    assert parse_action("x" * MAX_ACTION_LENGTH + "<answer>a</answer>") == ParsedAction((), None)


def test_half_surrogates_become_question_marks():
    assert parse_action("<answer>\ud800KT</answer>").answer == "?KT"


@pytest.mark.parametrize(
    ("text", "calls", "answer"),
    [
        ("<think>The form is <answer>…</answer>.</think><answer>blue</answer>", 0, "blue"),
        ("\n <think>\n</think>\n<answer>blue</answer>", 0, "blue"),
        (
            "The form is <answer>…</answer>.</think>\n<answer>blue</answer>",
            0,
            "blue",
        ),  # the template opened it
        ("The form is <answer> </think><answer>blue</answer>", 0, "blue"),
        (f"<think>{READ}</think>{ZOOM}", 1, None),
        (f"{READ}</think>{ZOOM}", 1, None),
        (f"<think>a</think>{READ}<think>{READ}<answer>x</answer></think>{ZOOM}", 2, None),
        (f"Well. <think>{READ}</think><answer>blue</answer>", 0, "blue"),
        ("<think>a</think><answer>blue</answer></think>", 0, "blue"),
        ("<think>a</think><answer>s = '</think>'</answer>", 0, "s = '</think>'"),
        ("<answer>s = '</think>'</answer>", 0, "s = '</think>'"),
        ('<tool_call>{"name": "READ", "arguments": {"x": "</think>"}}</tool_call>', 1, None),
        (f"{READ}<answer>s = '</think>' # <answer></answer>", 0, ""),
        ("In <think> tags? <answer>blue</answer>", 0, "blue"),
        ("<think>a</think>no tag", 0, None),
    ],
)
def test_what_is_thought_is_passed_over(text, calls, answer):
    parsed = parse_action(text)
    assert [type(one) for one in parsed.calls] == [ToolCall] * calls
    assert parsed.answer == answer


def test_what_is_written_in_an_answer_after_a_thought_keeps_its_space():
    assert parse_action("<think>x</think><answer>\n  a\n</answer>").written == "\n  a\n"


@pytest.mark.parametrize("text", [f"<think>{ZOOM}<answer>x</answer>", "\n<think>" + "x" * MAX_ACTION_LENGTH])
def test_a_thought_without_end_does_nothing_and_is_told(text):
    (call,) = parse_action(text).calls
    assert call.error_code == "unclosed_thought" and parse_action(text).answer is None
    assert call.message.startswith("Nothing was done: <think> has no </think> in the 16,384 characters")
    assert "<answer>" in call.message


def test_a_thought_is_passed_over_in_an_episode():
    env = gym.make("Pixelis/ReceiptSum-v0", reader="truth", disable_env_checker=True)
    env.reset(seed=0)
    right = env.unwrapped.task.answer
    observation, _, ended, _, info = env.step(f"<think>{READ}<answer>{right}</answer>")
    assert not ended and "has no </think>" in observation["text"]
    assert [one["error_code"] for one in info["tool_calls"]] == ["unclosed_thought"]
    thought = '<think><tool_call>{"name": "READ_TEXT"}</tool_call> or <answer>…</answer></think>'
    *_, ended, _, info = env.step(f"{thought}<answer>{right}</answer>")
    assert ended and info["success"] and info["tool_calls"] == []


def code_call(code):
    body = f"<function=RUN>\n<parameter=code>\n{code}\n</parameter>\n<parameter=n>3</parameter>\n</function>"
    return f"<tool_call>\n{body}\n</tool_call>"


@pytest.mark.parametrize(
    "code",
    [
        "s = '</parameter>'",
        "s = '</tool_call>'",
        "s = '</function>'",
        "s = '<tool_call>'",
        "s = '<tool_call></tool_call>'",
        "s = '</parameter> </parameter>'\nt = '</tool_call>'",
    ],
)
def test_an_xml_argument_may_hold_the_tags_of_its_form(code):
    (call,) = parse_action(code_call(code)).calls
    assert call.texts == {"code": code, "n": "3"} and call.arguments["n"] == 3
    assert [one.name for one in parse_action(code_call(code) + READ + code_call("x")).calls] == [
        *("RUN", "READ", "RUN")
    ]


def test_an_xml_argument_at_the_end_may_hold_the_end_of_a_function():
    body = "<function=RUN><parameter=code>s = '</parameter></function>'</parameter></function>"
    (call,) = parse_action(f"<tool_call>{body}</tool_call>").calls
    assert call.texts == {"code": "s = '</parameter></function>'"}


def test_an_xml_call_without_its_end_takes_none_of_the_next_one():
    text = f"<tool_call><function=RUN><parameter=x>1</tool_call>{code_call('x')}"
    first, second = parse_action(text).calls
    assert (first.error_code, second.name) == ("unclosed_call", "RUN")
    bare = "<tool_call><function=RUN></tool_call><tool_call><function=RUN></function></tool_call>"
    assert parse_action(bare).calls == (ToolCall("RUN"), ToolCall("RUN"))


# ---------------------------------------------------------------------- 50,000 random and mutated texts

SEEDS = [ZOOM, READ, f"{ZOOM}{READ}<answer>KT47</answer>", *BAD_CALLS.values(), *NASTY_ACTIONS.values()]
SEEDS = [text[:400] for text in SEEDS if text]
PIECES = [
    *("<think>", "</think>", "</function>"),
    *("<tool_call>", "</tool_call>", "<answer>", "</answer>", "<function=", "<parameter=x>", "</parameter>"),
    *("{", "}", "[", "]", '"', "\\", ":", ",", "NaN", "Infinity", "-1e999", "null", "true", "\0", "\ud800"),
    *("🙂", "\u202e", "\ufeff", "9" * 500, "[" * 500, '{"a":' * 100, "\\ud800", '"name"', '"arguments"'),
]


def mutate(rng, text):
    """Return the text after one to six edits: delete, double, swap, insert a piece or a letter, cut."""
    for _ in range(rng.randint(1, 6)):
        a, b = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        edits = (
            lambda a=a, b=b, text=text: text[:a] + text[min(b, a + 12) :],
            lambda a=a, b=b, text=text: text[:b] + text[a : a + 60] + text[b:],
            lambda a=a, text=text: text[:a] + rng.choice(PIECES) + text[a:],
            lambda a=a, text=text: text[:a] + rng.choice(string.printable) + text[a + 1 :],
            lambda a=a, text=text: text[:a] + rng.choice(SEEDS) + text[a:],
            lambda b=b, text=text: text[:b],
        )
        text = rng.choice(edits)()[:2000]
    return text


def check(text):
    parsed = parse_action(text)
    assert len(parsed.calls) <= MAX_CALLS_PER_TURN + 1
    for call in parsed.calls:
        if isinstance(call, BadCall):
            assert call.error_code
            assert clean_text(call.message) == call.message
        else:
            json.dumps([call.name, call.arguments], allow_nan=False, ensure_ascii=False).encode()
    if parsed.answer is not None:
        parsed.answer.encode()
        assert "<answer>" in text
    return parsed


@pytest.mark.timeout(200)
def test_forty_six_thousand_mutated_texts():
    rng = random.Random(20)
    kinds = {"answer": 0, "good": 0, "bad": 0, "none": 0}
    for _ in range(46_000):
        parsed = check(mutate(rng, rng.choice(SEEDS)))
        kinds["answer"] += parsed.answer is not None
        kinds["good"] += any(isinstance(call, ToolCall) for call in parsed.calls)
        kinds["bad"] += any(isinstance(call, BadCall) for call in parsed.calls)
        kinds["none"] += parsed == ParsedAction((), None)
    assert min(kinds.values()) > 2_000  # the mutants reach every kind of outcome


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=1500)
@given(st.text(st.characters(), max_size=300))
def test_any_text(text):
    check(text)


@settings(max_examples=1500)
@given(st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=6), max_size=30))
def test_any_pieces(pieces):
    check("".join(pieces))


@settings(max_examples=1000)
@given(st.text(max_size=12), json_values)
def test_any_json_in_a_call(name, arguments):
    text = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    (call,) = check(text).calls
    if isinstance(call, ToolCall):
        assert (call.name, call.arguments) == (name, arguments)
    else:
        assert call.error_code in ("bad_call", "bad_json", "unclosed_call")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", [*BAD_CALLS, *NASTY_ACTIONS])
def test_every_nasty_text(name):
    check({**BAD_CALLS, **NASTY_ACTIONS}[name])


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", [*PIECES, "<function=a><parameter=b>1</parameter>", READ])
def test_a_megabyte_of_a_piece(piece):
    check(piece * (1_000_000 // len(piece)))
    check(f"<tool_call>{piece * (16_000 // len(piece))}</tool_call>")


def test_a_call_ends_where_its_json_ends():
    text = "print('</tool_call>')  # <answer>"
    call = f"<tool_call>{json.dumps({'name': 'RUN', 'arguments': {'code': text}})}</tool_call>"
    parsed = parse_action(f"{call}{READ}<answer>x</answer>")
    assert parsed.calls == (ToolCall("RUN", {"code": text}), ToolCall("READ", {}))
    assert parsed.answer == "x"


def test_the_white_space_around_an_answer_and_an_xml_argument_is_kept_beside_them():
    parsed = parse_action("<answer>\n    return x\n</answer>")
    assert (parsed.answer, parsed.written) == ("return x", "\n    return x\n")
    body = "<function=RUN><parameter=code>\n    return x\n</parameter><parameter=n> 3 </parameter></function>"
    (call,) = parse_action(f"<tool_call>{body}</tool_call>").calls
    assert call.arguments == {"code": "return x", "n": 3}
    assert call.texts == {"code": "    return x", "n": "3"}
