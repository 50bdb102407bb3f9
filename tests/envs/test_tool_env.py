from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from pixelis.envs.spaces import TRUNCATION_MARK
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import MAX_TEXT_LENGTH, ToolEnv, Verdict
from pixelis.envs.tools import CallRefused, Tool, ToolOutput, Toolset
from pixelis.errors import ActionTypeError, ConfigError, DifficultyError, SplitError, TaskError


class Numbers:
    """Say the number that the tool shows."""

    family = "numbers"
    difficulties = range(1, 4)

    def sample(self, rng, difficulty, split):
        number = 2 * int(rng.integers(10**difficulty)) + (split == "test")
        return Task(f"n-{number}", self.family, difficulty, split, "Which number?", str(number))


def open_log(task):
    if task.data.get("broken"):
        raise TaskError("the task cannot be opened; mend it")
    return [task.answer]


def note(log, arguments):
    log.append(arguments["text"])
    return ToolOutput(f"Noted {arguments['text']}.")


TEXT = {"properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    Tool("NOTE", "Write.", TEXT, note),
    Tool("SHOW", "Show the number.", {}, lambda log, arguments: ToolOutput(log[0])),
    Tool("SHOUT", "A lot of text.", {}, lambda log, arguments: ToolOutput("A\ud800" * 9000)),
]


def judge(task, answer, log):
    right = answer == task.answer
    return Verdict(right, {"task": float(right), "notes": float(len(log) - 1)})


class NumbersEnv(ToolEnv[list]):
    def __init__(self, **keywords):
        toolset = Toolset(TOOLS, open_log)
        super().__init__(source=Numbers(), toolset=toolset, verifier=judge, **{"difficulty": 1} | keywords)


def call(name, text=None):
    arguments = "{}" if text is None else f'{{"text": "{text}"}}'
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


@pytest.fixture
def env():
    env = NumbersEnv()
    env.reset(seed=3)
    return env


# ---------------------------------------------------------------------- reset


def test_reset_asks_the_question_and_describes_the_task():
    observation, info = NumbersEnv().reset(seed=0)
    assert observation == {"text": "Which number?\nTools: NOTE, SHOW, SHOUT. Answer with <answer>…</answer>."}
    assert info["task"].keys() == {"id", "family", "difficulty", "split", "hash"}
    assert (info["tool_calls"], info["reward_terms"], info["view_changed"]) == ([], {}, True)
    assert "success" not in info


def test_options_override_the_constructor_for_one_episode():
    env = NumbersEnv(difficulty=1, split="train")
    _, info = env.reset(seed=0, options={"difficulty": 3, "split": "test"})
    assert (info["task"]["difficulty"], info["task"]["split"]) == (3, "test")
    _, info = env.reset(seed=0)
    assert (info["task"]["difficulty"], info["task"]["split"]) == (1, "train")


def test_a_given_task_is_played(env):
    observation, info = env.reset(options={"task": {"question": "One or two?", "answer": "2"}})
    assert observation["text"].startswith("One or two?\n")
    assert info["task"]["id"] == "given"
    assert env.step("<answer>2</answer>")[1:4] == (1.0, True, False)


def test_a_question_that_is_no_unicode_stays_in_the_space(env):
    observation, _ = env.reset(options={"task": {"question": "\ud800?", "answer": "2"}})
    assert observation in env.observation_space


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"difficulty": 0}, DifficultyError, "from 1 to 3, got 0"),
        ({"split": "dev"}, SplitError, "'train' or 'test', got 'dev'"),
        ({"task": {"question": 1, "answer": "2"}}, TaskError, "'question' must be text"),
        ({"dificulty": 1}, ConfigError, "Did you mean 'difficulty'"),
        ({3: 1}, ConfigError, "unknown reset option 3"),
        (["difficulty"], ConfigError, "must be a dict"),
    ],
)
def test_bad_options_are_clear_errors(env, options, error, words):
    with pytest.raises(error, match=words):
        env.reset(options=options)


def test_a_task_that_cannot_be_opened_leaves_the_episode_as_it_was(env):
    question, task = env.workspace, env.task
    with pytest.raises(TaskError, match="cannot be opened"):
        env.reset(options={"task": {"question": "?", "answer": "2", "data": {"broken": True}}})
    assert (env.workspace, env.task) == (question, task)
    assert env.step(f"<answer>{task.answer}</answer>")[1] == 1.0


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"max_turns": 0}, "at least 1, got 0"),
        ({"max_turns": True}, "got True"),
        ({"max_turns": 2.0}, "got 2.0"),
        ({"render_mode": "ansi"}, "got 'ansi'"),
    ],
)
def test_bad_constructor_arguments_are_clear_errors(keywords, words):
    with pytest.raises(ConfigError, match=words):
        NumbersEnv(**keywords)


def test_bad_difficulty_and_split_at_construction():
    with pytest.raises(DifficultyError):
        NumbersEnv(difficulty=9)
    with pytest.raises(SplitError):
        NumbersEnv(split="dev")


# ---------------------------------------------------------------------- step


def test_calls_run_in_document_order(env):
    observation, reward, terminated, truncated, info = env.step(call("NOTE", "a") + call("NOTE", "b"))
    assert observation["text"] == "Noted a.\nNoted b."
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert env.workspace[1:] == ["a", "b"]
    assert [result["arguments"] for result in info["tool_calls"]] == [{"text": "a"}, {"text": "b"}]


def test_calls_before_the_answer_run_and_calls_after_it_do_not(env):
    *_, info = env.step(call("NOTE", "a") + "<answer>x</answer>" + call("NOTE", "b"))
    assert env.workspace[1:] == ["a"]
    assert info["success"] is False
    assert info["reward_terms"] == {"task": 0.0, "notes": 1.0}


def test_the_first_answer_counts(env):
    right = env.task.answer
    assert env.step(f"<answer>{right}</answer><answer>0</answer>")[1] == 1.0
    env.reset(seed=3)
    assert env.step(f"<answer>no</answer><answer>{right}</answer>")[1] == 0.0


def test_terms_without_a_weight_are_metrics(env):
    env.step(call("NOTE", "a"))
    assert env.step(f"<answer>{env.task.answer}</answer>")[1] == 1.0


def test_weights_add_up():
    terms = {"task": 1.0, "style": 0.5, "length": 3.0}
    assert Verdict(True, terms, {"task": 0.8, "style": 0.2}).reward == pytest.approx(0.9)


def test_a_bad_call_does_not_stop_the_others(env):
    observation, *_, info = env.step(call("NOPE") + call("SHOW"))
    assert observation["text"].endswith(f"\n{env.task.answer}")
    assert [result["ok"] for result in info["tool_calls"]] == [False, True]


def test_silence_is_told_what_to_write(env):
    observation, *_, info = env.step("hm")
    assert "<tool_call>" in observation["text"]
    assert info["tool_calls"][0]["error_code"] == "no_action"


def test_long_results_are_cut_with_a_mark_and_stay_in_the_space(env):
    observation, *_ = env.step(call("SHOUT"))
    assert len(observation["text"]) == MAX_TEXT_LENGTH
    assert observation["text"].endswith(TRUNCATION_MARK)
    assert observation in env.observation_space


def test_the_turn_limit_truncates():
    env = NumbersEnv(max_turns=2)
    env.reset(seed=0)
    assert env.step("")[2:4] == (False, False)
    *_, terminated, truncated, info = env.step(call("SHOW"))
    assert (terminated, truncated, info["success"]) == (False, True, False)
    with pytest.raises(gym.error.ResetNeeded):
        env.step("")


def test_an_answer_at_the_limit_terminates():
    env = NumbersEnv(max_turns=1)
    env.reset(seed=0)
    assert env.step("<answer>x</answer>")[2:4] == (True, False)


def test_step_needs_an_episode():
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        NumbersEnv().step("")


@pytest.mark.parametrize("action", [None, 3, b"<answer>", ["<answer>"], np.array("x")])
def test_an_action_that_is_no_string_is_the_callers_mistake(env, action):
    with pytest.raises(ActionTypeError, match="as a str"):
        env.step(action)
    assert env.turn == 0
    assert env.step("")[0] in env.observation_space


def test_a_numpy_string_is_a_string(env):
    assert env.step(np.str_(f"<answer>{env.task.answer}</answer>"))[1] == 1.0


# ---------------------------------------------------------------------- subclasses


def test_an_image_becomes_part_of_the_observation():
    class Seen(NumbersEnv):
        def observe_image(self):
            return np.full((4, 4, 3), self.turn, np.uint8)

    env = Seen(image_size=4)
    assert env.reset(seed=0)[0] in env.observation_space
    assert env.step("")[0]["image"].max() == 1


def test_instructions_may_be_left_out():
    class Terse(NumbersEnv):
        instructions = ""

    assert Terse().reset(seed=0)[0]["text"] == "Which number?"


def test_a_refusal_keeps_its_code(env):
    def refuse(log, arguments):
        raise CallRefused("no_power", "the lamp has no power; plug it in.")

    env.toolset = Toolset([Tool("LAMP", "Light.", {}, refuse)], open_log)
    *_, info = env.step(call("LAMP"))
    assert info["tool_calls"][0]["error_code"] == "no_power"


def test_a_method_in_the_place_of_a_property_is_refused_where_the_class_is_written():
    """It would count as true: an episode would be over after its first turn, whatever it says."""
    with pytest.raises(ConfigError, match=r"Ends\.is_over must be a property, got a method; put @property"):

        class Ends(NumbersEnv):
            def is_over(self):
                return False

    with pytest.raises(
        ConfigError, match=r"Nears\.nearness must be a method, got a property; leave @property"
    ):

        class Nears(NumbersEnv):
            @property
            def nearness(self):
                return 0.0

    class Says(NumbersEnv):
        instructions = "Say a number."

    assert "Say a number." in Says().reset(seed=0)[0]["text"]
