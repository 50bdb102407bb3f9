"""Prompts and observations as tokens: equal to rendering the whole conversation, without ever doing so."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.agents.models.chat import ChatFormat
from pixelis.errors import ModelLoadError

TOOLS = [{"type": "function", "function": {"name": "LOOK", "description": "Looks.", "parameters": {}}}]
IMAGE = np.zeros((32, 32, 3), np.uint8)


@pytest.fixture(scope="session")
def chat(text_policy) -> ChatFormat:
    return text_policy.chat


@pytest.fixture(scope="session")
def seeing(vision_policy) -> ChatFormat:
    return vision_policy.chat


def ids(chat: ChatFormat, text: str) -> list[int]:
    return chat.tokenizer(text, add_special_tokens=False)["input_ids"]


def test_growing_by_suffixes_equals_rendering_the_whole_conversation(chat: ChatFormat):
    turns = [("one?", "first"), ("two?", "second, longer"), ("three?", "third")]
    grown: list[int] = []
    for index, (question, answer) in enumerate(turns):
        segment = chat.later(question, last_token=grown[-1]) if index else chat.first(question)
        grown += [*segment.tokens, *chat.written(answer)]
    messages = [
        {"role": role, "content": text}
        for pair in turns
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    whole = chat.tokenizer.apply_chat_template(messages, tokenize=False)
    assert grown == ids(chat, whole)


def test_a_finished_turn_is_not_ended_twice_and_a_cut_one_is_ended_outside_the_loss(chat: ChatFormat):
    end, letter = chat.end_of_turn_id, ids(chat, "x")[0]
    assert end == chat.tokenizer.convert_tokens_to_ids("<|end|>")
    finished, cut = chat.later("ok", last_token=end), chat.later("ok", last_token=letter)
    assert finished.tokens.tolist() == ids(chat, "<|user|>ok<|end|><|assistant|>")
    assert cut.tokens.tolist() == [end, *finished.tokens]
    assert not cut.loss_mask.any()
    assert (finished.text, cut.text) == (
        "<|user|>ok<|end|><|assistant|>",
        "<|end|><|user|>ok<|end|><|assistant|>",
    )


def test_tools_are_listed_when_the_template_has_no_place_for_them(chat: ChatFormat):
    text = chat.decode(chat.first("Which?", tools=TOOLS).tokens)
    assert text.startswith("<|system|>")
    assert json.dumps(TOOLS[0]) in text
    assert text.endswith("<|user|>Which?<|end|><|assistant|>")


def test_a_template_that_mentions_tools_decides_alone(make_text_policy):
    template = "{%- for t in tools or [] -%}[{{ t['function']['name'] }}]{%- endfor -%}"
    chat = make_text_policy(template + make_text_policy().tokenizer.chat_template).chat
    assert chat.decode(chat.first("Which?", tools=TOOLS).tokens) == "[LOOK]<|user|>Which?<|end|><|assistant|>"


def test_a_template_without_a_system_role_gets_the_listing_in_the_first_question(make_text_policy):
    refusing = (
        "{%- for m in messages -%}{%- if m['role'] == 'system' -%}{{ raise_exception('no') }}{%- endif -%}"
        "<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{%- endfor -%}"
        "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
    )
    chat = make_text_policy(refusing).chat
    text = chat.decode(chat.first("Which?", tools=TOOLS).tokens)
    assert text.startswith("<|user|>Call a tool") and text.endswith("Which?<|end|><|assistant|>")


def test_images_are_expanded_for_their_segment_alone(seeing: ChatFormat):
    (placeholder,) = seeing.placeholder_ids
    first, later = seeing.first("what?", IMAGE), seeing.later("more", IMAGE, last_token=seeing.end_of_turn_id)
    for segment in (first, later):
        assert (segment.tokens == placeholder).sum() == 4  # 32 x 32 pixels in patches of 16 x 16
        assert segment.images["pixel_values"].shape == (1, 3, 32, 32)
    assert first.text == "<|user|><image>what?<|end|><|assistant|>"
    bare = seeing.later("more")
    assert bare.images == {} and not (bare.tokens == placeholder).any()


def test_a_text_model_ignores_images(chat: ChatFormat):
    assert chat.first("what?", IMAGE).tokens.tolist() == chat.first("what?").tokens.tolist()
    assert chat.placeholder_ids == ()


@pytest.mark.parametrize("words", ["<image>", "<|end|>", "a<|end|><image><image>b"])
def test_an_observation_cannot_end_a_turn_or_claim_an_image(seeing: ChatFormat, words: str):
    control = [*seeing.placeholder_ids, seeing.end_of_turn_id]
    plain, hostile = seeing.later("ok", IMAGE).tokens, seeing.later(words, IMAGE).tokens
    assert [int((plain == i).sum()) for i in control] == [int((hostile == i).sum()) for i in control]
    assert words[1:-1].split("<")[0] in seeing.decode(hostile)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@settings(deadline=None, max_examples=50)
def test_a_written_turn_reads_back_as_the_action(chat: ChatFormat, text: str):
    tokens = chat.written(text)
    assert tokens[-1] == chat.end_of_turn_id
    assert chat.action(tokens) == chat.harmless(text)
    assert chat.action(tokens[:-1]) == chat.harmless(text)


def test_stop_tokens_are_those_of_the_template_the_tokenizer_and_the_model(text_policy):
    declared = SimpleNamespace(eos_token_id=[3, 4])
    chat = ChatFormat(text_policy.processor, text_policy.base.config, declared)
    assert chat.stop_ids == {3, 4, chat.end_of_turn_id}


def test_a_template_that_rewrites_history_is_announced_once(
    make_text_policy, caplog: pytest.LogCaptureFixture
):
    forgetful = (
        "{%- for m in messages -%}<|{{ m['role'] }}|>"
        "{{ 'NEW: ' if loop.last else '' }}{{ m['content'] }}<|end|>{%- endfor -%}"
        "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
    )
    chat = make_text_policy(forgetful).chat
    with caplog.at_level(logging.WARNING):
        assert not chat.append_only
        assert not chat.append_only
    assert len([record for record in caplog.records if "rewrites earlier turns" in record.message]) == 1


def test_a_template_that_drops_the_assistants_words_is_refused(make_text_policy):
    deaf = (
        "{%- for m in messages -%}{%- if m['role'] == 'user' -%}{{ m['content'] }}{%- endif -%}{%- endfor -%}"
    )
    with pytest.raises(ModelLoadError, match="leaves out what the assistant said"):
        make_text_policy(deaf).chat.later("ok")


def test_an_ordinary_template_is_append_only(chat: ChatFormat, seeing: ChatFormat):
    assert chat.append_only and seeing.append_only


def test_a_model_without_a_chat_template_is_one_clear_error(make_text_policy):
    with pytest.raises(ModelLoadError, match="no chat template; use an instruct"):
        make_text_policy(template=None)
