"""What a server does wrong, and what a model says that nobody expects."""

from __future__ import annotations

import base64
import io
import json
import re
import time

import numpy as np
import pytest
from answering import completion, refusal
from PIL import Image

from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.errors import ConfigError, EndpointError

ZOOM, CODE = "Pixelis/ZoomRead-v0", "Pixelis/CodeProblem-v0"
CALL = '<tool_call>{"name": "ZOOM", "arguments": {"center": [0.5, 0.5], "factor": 2}}</tool_call>'


def zooms_then_answers(body, number):
    """Say a call in the first turn of an episode, an answer in the second."""
    turns = sum(message["role"] == "assistant" for message in body["messages"])
    return completion("<answer>X</answer>" if turns else CALL)


def test_what_is_asked_is_the_episode_in_openais_form(ask):
    (episode,), server, agent = ask(zooms_then_answers, ZOOM, pictures=True)
    first, second = server.bodies
    assert first["model"] == "m" and first["max_tokens"] == 50 and first["temperature"] == 0
    assert "seed" not in first and "tools" not in first
    system, user = first["messages"]
    assert system["role"] == "system" and '"ZOOM"' in system["content"]
    picture, text = user["content"]
    assert text == {"type": "text", "text": episode.asked}
    data = base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/png;base64,"))
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), episode.pictures[0])
    assert [each["role"] for each in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][2]["content"] == CALL == episode.exchanges[0].action
    assert second["messages"][3]["content"][1]["text"] == episode.exchanges[0].heard
    assert [call["tool"] for call in episode.tool_calls] == ["ZOOM"] and episode.tool_calls[0]["ok"]
    assert episode.terminated and episode.turns == 2 and episode.success is False
    usage = agent.usage()
    assert usage == {"requests": 2, "tokens_in": 200, "tokens_out": 20, "uncounted": 0, "dollars": 0}


def test_sampling_has_a_seed_of_its_own_for_every_turn_and_the_same_again(ask):
    how = SamplingSettings(0.7, 0.9, 50)
    seen = []
    for _ in range(2):
        _, server, _ = ask(zooms_then_answers, ZOOM, (1, 2), how=how, at_once=1)
        assert {body["temperature"] for body in server.bodies} == {0.7}
        assert {body["top_p"] for body in server.bodies} == {0.9}
        seen.append([body["seed"] for body in server.bodies])
    assert seen[0] == seen[1] and len(set(seen[0])) == 4


def test_native_calls_are_tools_and_their_results_go_by_id(ask):
    calls = [("ZOOM", '{"center": [0.5, 0.5], "factor": 2}'), ("READ_TEXT", "")]

    def answer(body, number):
        return completion("<answer>X</answer>") if number else completion(None, calls)

    (episode,), server, _ = ask(answer, ZOOM, tools="native")
    first, second = server.bodies
    assert {"ZOOM", "READ_TEXT"} <= {tool["function"]["name"] for tool in first["tools"]}
    assert "ZOOM" not in first["messages"][0]["content"]
    assert [call["tool"] for call in episode.tool_calls] == ["ZOOM", "READ_TEXT"]
    assert all(call["ok"] for call in episode.tool_calls)
    said, result, other, shown = second["messages"][2:]
    assert [each["id"] for each in said["tool_calls"]] == ["id0", "id1"]
    assert result == {"role": "tool", "tool_call_id": "id0", "content": episode.exchanges[0].heard}
    assert other["tool_call_id"] == "id1" and shown["role"] == "user"
    assert [part["type"] for part in shown["content"]] == ["image_url"]  # a result holds no picture


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "null", "9" * 5000, "</tool_call>", '{"a": NaN}'])
def test_arguments_that_are_none_are_the_models_mistake(ask, arguments):
    def answer(body, number):
        return completion("<answer>X</answer>") if number else completion("", [("ZOOM", arguments)])

    (episode,), _, _ = ask(answer, ZOOM, tools="native")
    assert episode.valid_for_training and episode.turns == 2
    assert not any(call["ok"] for call in episode.tool_calls)


@pytest.mark.parametrize("text", [None, "", "9" * 5000, "\ud83d", "<answer>"])
def test_whatever_a_model_says_is_a_turn(ask, text):
    (episode,), _, _ = ask(lambda *_: completion(text), ZOOM)
    assert episode.valid_for_training and episode.success is False


def test_a_turn_that_the_limit_ended_is_counted(ask):
    (episode,), _, _ = ask(lambda *_: completion("<answer>X</answer>", finish="length"), ZOOM)
    assert episode.cut_turns == 1


@pytest.mark.parametrize(
    "status, told", [(401, "a wrong key"), (404, "no such model"), (400, "no images here")]
)
def test_what_holds_for_all_turns_ends_it_at_once(ask, status, told):
    with pytest.raises(EndpointError, match=rf"answers {status}: .*{told}.*the model 'm'"):
        ask(lambda *_: refusal(status, told), ZOOM, range(20), at_once=1)


@pytest.mark.parametrize("status", [400, 403, 404])
def test_what_is_refused_for_what_was_said_ends_its_episode_alone(ask, status):
    """A moderator refuses the second episode; the first and the third are played."""

    def answer(body, number):
        return refusal(status, "flagged") if number == 1 else completion("<answer>X</answer>")

    episodes, _, _ = ask(answer, ZOOM, (1, 2, 3), at_once=1)
    assert [each.valid_for_training for each in episodes] == [True, False, True]


def test_a_key_that_is_withdrawn_ends_all(ask):
    def answer(body, number):
        return refusal(401, "no longer") if number else completion("<answer>X</answer>")

    with pytest.raises(EndpointError, match="answers 401"):
        ask(answer, ZOOM, (1, 2, 3), at_once=1)


def test_episodes_come_back_in_the_order_they_were_asked_for(ask):
    """The first one asked is answered last."""

    def answer(body, number):
        time.sleep(0.4 if number == 0 else 0)
        return completion("<answer>X</answer>")

    episodes, _, _ = ask(answer, ZOOM, (5, 3, 4))
    assert [each.seed for each in episodes] == [5, 3, 4]


def test_load_is_waited_out(ask):
    def answer(body, number):
        return refusal(429, "slow down") if number % 2 == 0 else completion("<answer>X</answer>")

    (episode,), server, agent = ask(answer, ZOOM)
    assert episode.valid_for_training and len(server.bodies) == 2 and agent.usage()["requests"] == 1


@pytest.mark.parametrize(
    "answer, told",
    [
        (refusal(500, "down"), "answers 500: .*down"),
        ((200, b"<html>welcome</html>"), "no chat completion"),
        ((200, {"hello": 1}), "no chat completion"),
        ((200, {"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}), "no chat completion"),
    ],
)
def test_a_turn_that_is_not_given_is_no_failure_of_the_model(ask, answer, told):
    """An episode without an answer is left out; those that have one count."""

    def answers(body, number):
        return completion("<answer>X</answer>") if number == 0 else answer

    good, bad = ask(answers, ZOOM, (1, 2), at_once=1, retries=0)[0]
    assert good.valid_for_training and not bad.valid_for_training
    assert re.search(told, bad.failure_reason)


def test_a_server_that_is_gone_is_told_by_its_address(ask, serve):
    server = serve(lambda *_: completion(""))
    server.close()
    (episode,), _, _ = ask(lambda *_: (200, b""), ZOOM, retries=0)
    assert not episode.valid_for_training and "127.0.0.1" in episode.failure_reason


def test_a_conversation_that_is_too_long_ends_as_a_full_context_does(ask):
    def answer(body, number):
        full = refusal(400, "This model's maximum context length is 100 tokens, you asked for 101")
        return full if number else completion(CALL)

    (episode,), _, _ = ask(answer, ZOOM)
    assert episode.valid_for_training and episode.truncated and episode.cut_off and episode.turns == 1


def test_a_field_of_the_request_can_be_set_and_left_out(ask):
    body = {"max_tokens": None, "max_completion_tokens": 9, "reasoning_effort": "low", "temperature": None}
    _, server, _ = ask(zooms_then_answers, ZOOM, body=body)
    asked = server.bodies[0]
    assert asked["max_completion_tokens"] == 9 and asked["reasoning_effort"] == "low"
    assert not {"max_tokens", "temperature"} & set(asked)


def test_pictures_are_left_out_where_nobody_wants_them(ask):
    _, server, _ = ask(zooms_then_answers, ZOOM, images=False)
    assert isinstance(server.bodies[0]["messages"][1]["content"], str)


def test_turns_a_minute_are_kept_to(ask):
    start = time.monotonic()
    ask(lambda *_: completion("<answer>X</answer>"), ZOOM, range(4), requests_per_minute=600)
    assert time.monotonic() - start >= 0.3  # four turns, a tenth of a second apart


def test_it_is_paid_by_the_prices_given(ask):
    _, _, agent = ask(zooms_then_answers, ZOOM, price_in=2.5, price_out=10.0)
    assert agent.usage()["dollars"] == pytest.approx((200 * 2.5 + 20 * 10) / 1e6)


def test_turns_that_the_server_does_not_count_are_told(ask):
    def answer(body, number):
        status, said = zooms_then_answers(body, number)
        return status, {**said, "usage": None}

    _, _, agent = ask(answer, ZOOM)
    assert agent.usage()["uncounted"] == agent.usage()["requests"] == 2


def test_the_key_is_sent_and_told_nowhere(ask, monkeypatch):
    def answer(body, number):
        return refusal(401, "the key sk-secret-1 is unknown")

    monkeypatch.setenv("MY_KEY", "sk-secret-1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EndpointError) as caught:
        ask(answer, ZOOM, key_env="MY_KEY")
    assert "sk-secret" not in str(caught.value) and "the key … is unknown" in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_elsewhere_wants_a_key(monkeypatch):
    from pixelis.agents.endpoint.agent import EndpointAgent
    from pixelis.agents.settings.endpoint import EndpointSettings

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="set the environment variable OPENAI_API_KEY"):
        EndpointAgent("openai:m@https://example.com/v1", EndpointSettings())


def test_bodies_are_json_and_no_more(ask):
    """Nothing of this machine goes out beside what the episode says."""
    _, server, _ = ask(zooms_then_answers, CODE)
    assert set(server.bodies[0]) == {"model", "messages", "max_tokens", "temperature"}
    assert json.dumps(server.bodies[0]["messages"]).count("role") == len(server.bodies[0]["messages"])
