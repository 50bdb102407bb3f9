"""Chats in OpenAI's form: what is read, what is learnt, and what a bad line is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.sft import load_chats
from pixelis.agents.sft.pool import difficulty_of
from pixelis.errors import ConfigError

TOOL = {"type": "function", "function": {"name": "LOOK", "description": "Looks.", "parameters": {}}}


@pytest.fixture
def read(text_policy: Policy, tmp_path: Path) -> Callable[..., Episode]:
    """Return a reader of one chat, by the text model unless another is given."""

    def read_one(messages: list[Any], policy: Policy = text_policy, **more: Any) -> Episode:
        file = tmp_path / "chats.jsonl"
        file.write_text(json.dumps({"messages": messages, **more}) + "\n")
        (episode,) = load_chats(file, policy.chat)
        return episode

    return read_one


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def learnt(episode: Episode, policy: Policy) -> str:
    return policy.chat.decode(episode.tokens[episode.loss_mask])


def test_a_system_message_has_its_place(read: Callable[..., Episode], text_policy: Policy):
    episode = read([{"role": "system", "content": "Be brief."}, user("hi"), assistant("yo")])
    assert episode.text == "<|system|>Be brief.<|end|><|user|>hi<|end|><|assistant|>yo<|end|>"
    assert learnt(episode, text_policy) == "yo<|end|>"


def test_a_system_message_and_tools_share_it(read: Callable[..., Episode]):
    episode = read([{"role": "system", "content": "Be brief."}, user("hi"), assistant("yo")], tools=[TOOL])
    assert episode.text.startswith("<|system|>Be brief.\n\nCall a tool with <tool_call>")
    assert '"name": "LOOK"' in episode.text and episode.text.count("<|system|>") == 1


def test_a_template_without_a_system_role_shows_it_before_the_question(
    read: Callable[..., Episode], make_text_policy: Callable[..., Policy]
):
    template = (
        "{%- for m in messages -%}{%- if m['role'] == 'system' -%}{{ raise_exception('no system') }}"
        "{%- endif -%}{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}{%- endfor -%}"
        "{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}"
    )
    messages = [{"role": "system", "content": "Be brief."}, user("hi"), assistant("yo")]
    episode = read(messages, make_text_policy(template))
    assert episode.text == "<|user|>Be brief.\n\nhi<|end|><|assistant|>yo<|end|>"


def test_tool_calls_are_written_as_the_environments_read_them(
    read: Callable[..., Episode], text_policy: Policy
):
    calls = [
        {"type": "function", "id": "1", "function": {"name": "LOOK", "arguments": '{"at": [0.5, 1]}'}},
        {"type": "function", "id": "2", "function": {"name": "READ"}},
    ]
    episode = read(
        [
            user("what?"),
            assistant(None, tool_calls=calls),
            {"role": "tool", "tool_call_id": "1", "content": "seen"},
            {"role": "tool", "tool_call_id": "2", "content": "read"},
            assistant("<answer>a</answer>"),
        ]
    )
    assert learnt(episode, text_policy) == (
        '<tool_call>{"name": "LOOK", "arguments": {"at": [0.5, 1]}}</tool_call>\n'
        '<tool_call>{"name": "READ", "arguments": {}}</tool_call><|end|><answer>a</answer><|end|>'
    )
    assert "<|user|>seen\nread<|end|>" in episode.text


def test_weight_0_is_read_and_not_learnt(read: Callable[..., Episode], text_policy: Policy):
    episode = read([user("1?"), assistant("bad", weight=0), user("2?"), assistant("good", weight=1)])
    assert learnt(episode, text_policy) == "good<|end|>"
    assert "bad<|end|><|user|>2?" in episode.text


def test_a_line_and_a_message_may_weigh_anything(read: Callable[..., Episode]):
    episode = read([user("1?"), assistant("one", weight=0.5), user("2?"), assistant("two")], weight=3)
    weights = episode.weights[episode.loss_mask]
    assert weights.tolist() == [1.5] * 4 + [3.0] * 4  # three bytes and the end of the turn each
    assert read([user("1?"), assistant("one")], weight=0).completion_length == 0


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "a.png"}},
        {"type": "image_url", "image_url": "a.png"},
        {"type": "image", "image": "a.png"},
    ],
)
def test_an_image_is_read_by_its_path(
    part: dict[str, Any], read: Callable[..., Episode], vision_policy: Policy, tmp_path: Path
):
    Image.fromarray(np.full((8, 8, 3), 90, np.uint8)).save(tmp_path / "a.png")
    words = {"type": "text", "text": "what?"}
    episode = read([user([part, words]), assistant("grey")], vision_policy)
    beside = read([user("what?", image="a.png"), assistant("grey")], vision_policy)
    assert episode.images["pixel_values"].shape == (1, 3, 32, 32)
    assert episode.images["pixel_values"].equal(beside.images["pixel_values"])
    assert episode.tokens.tolist() == beside.tokens.tolist()


def test_a_line_tells_its_difficulty(read: Callable[..., Episode]):
    assert difficulty_of(read([user("a"), assistant("b")], difficulty=3)) == 3
    assert difficulty_of(read([user("a"), assistant("b")])) == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"messages": [user("a")]}, "roles must be user, assistant"),
        ({"messages": [user("a"), assistant("b"), assistant("c")]}, "roles must be"),
        ({"messages": [user("a"), {"role": "system", "content": "x"}, assistant("b")]}, "system only first"),
        ({"messages": [{"role": "bot", "content": "x"}]}, "unknown role 'bot'"),
        ({"messages": [{"content": "x"}]}, "unknown role None"),
        ({"messages": ["hi"]}, "no attribute 'get'"),
        ({"messages": [{"role": "user"}, assistant("b")]}, "'content' is missing"),
        ({"messages": [user(7), assistant("b")]}, "text or a list of parts"),
        ({"messages": [user([{"type": "sound"}]), assistant("b")]}, "got 'sound'"),
        ({"messages": [user("a", image="none.png"), assistant("b")]}, "none.png"),
        ({"messages": [user([{"type": "image", "image": "https://x/y.png"}]), assistant("b")]}, "a path on"),
        ({"messages": [user("a"), assistant("")]}, "says nothing"),
        ({"messages": [user("a"), assistant("b", weight=-1)]}, "a finite number of at least 0, got -1"),
        ({"messages": [user("a"), assistant("b", weight=True)]}, "a finite number of at least 0, got True"),
        ({"messages": [user("a"), assistant("b")], "weight": "2"}, "a finite number of at least 0, got '2'"),
        ({"messages": [user("a"), assistant("b")], "weight": float("inf")}, "a finite number of at least 0"),
        ({"messages": [user("a"), assistant("b", weight=1e15)], "weight": 1e15}, "make 1e+30; 1e+15 at most"),
        ({"messages": [user("a"), assistant("b")], "weight": 10**400}, "a finite number of at least 0"),
        ({"messages": [user("a"), assistant(None, tool_calls=[{"function": {}}])]}, "'name' is missing"),
        ({"messages": [user("a"), assistant("b")], "difficulty": "hard"}, "difficulty must be an integer"),
    ],
)
def test_a_bad_line_is_told_by_number_and_reason(
    row: dict[str, Any], message: str, text_policy: Policy, tmp_path: Path
):
    good = json.dumps({"messages": [user("hi"), assistant("hello")]})
    file = tmp_path / "chats.jsonl"
    file.write_text(f"{good}\n\n{json.dumps(row)}\n{good}\n")
    with pytest.raises(ConfigError, match="line 3: ") as caught:
        load_chats(file, text_policy.chat)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_two_images_for_one_answer_are_refused(
    read: Callable[..., Episode], vision_policy: Policy, tmp_path: Path
):
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(ConfigError, match="at most one image"):
        read([user("x", image="a.png"), user("y", image="a.png"), assistant("b")], vision_policy)
