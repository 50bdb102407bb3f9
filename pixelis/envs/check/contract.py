"""The contract of a ``ToolEnv``, one function a clause: spaces, seeds, actions, options, the end.

Each function plays real episodes and returns a ``Finding`` (or raises: a crash is a finding too, see
``run_clause``). ``pixelis.envs.check`` runs them all; ``pixelis.envs.check.tests`` makes tests of them.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import env_checker
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from pixelis.envs.actions import MAX_ACTION_LENGTH
from pixelis.envs.check.nasty_actions import BAD_CALLS, NASTY_ACTIONS, bad_calls_of
from pixelis.envs.check.playing import leader, mixed_actions, play, play_turns, same
from pixelis.envs.spaces import Utf8Text
from pixelis.envs.tasks import SPLITS
from pixelis.envs.tool_env import ToolEnv
from pixelis.errors import ActionTypeError, ConfigError, DifficultyError, SplitError, TaskError

MakeEnv = Callable[..., gym.Env[Any, Any]]

_TASK_KEYS = {"id", "family", "difficulty", "split", "hash"}
_NOT_DRAWN = "none: draws_tasks is False, the task is the one that was named"


@dataclass(frozen=True)
class Finding:
    """What one clause of the contract found.

    Attributes:
        clause: its name.
        ok: whether it holds.
        measured: what was seen, with numbers.
        remedy: what to do when it does not hold.
        expected: what the clause asks for, in a sentence.
        numbers: of what was measured, by name.
    """

    clause: str
    ok: bool
    measured: str
    remedy: str = ""
    expected: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """The environment under test.

    Attributes:
        make: returns a new environment; called with ``render_mode=`` when it renders, else without arguments.
        seeds: the seeds to play; more seeds, more certainty.
        floor: how far above the env's own ``chance`` the success of players that must fail may be.
        processes: whether to compare with environments in spawned processes, which takes seconds.
    """

    make: MakeEnv
    seeds: Sequence[int] = field(default_factory=lambda: range(10))
    floor: float = 0.05
    processes: bool = True

    def tool_env(self) -> ToolEnv[Any]:
        """Return a new environment without its wrappers.

        Raises:
            ConfigError: it is no ``ToolEnv``.
        """
        env = self.make().unwrapped
        if not isinstance(env, ToolEnv):
            raise ConfigError(f"the contract is for subclasses of ToolEnv, got {type(env).__name__}")
        return env


def run_clause(clause: Callable[[Subject], Finding], subject: Subject) -> Finding:
    """Return the clause's finding; an exception in it becomes a finding that names it.

    What it expects is the first sentence of its docstring.
    """
    try:
        found = clause(subject)
    except Exception as error:  # the environment under test is a stranger's: whatever it raises is a finding
        said = f"{type(error).__name__}: {error}"
        found = Finding(clause.__name__, False, said, "the environment must not raise here")
    return replace(found, expected=(clause.__doc__ or "").partition("\n")[0])


# ---------------------------------------------------------------------- clauses

_GYMNASIUM_DRESS = re.compile("\x1b\\[[0-9;]*m|WARN: ")  # its logger's colours and the word before a warning


def gymnasium_checker(subject: Subject) -> Finding:
    """Gymnasium's own check passes without a warning."""
    said = gymnasium_warnings(subject.tool_env())
    return Finding("gymnasium_checker", not said, shown_warnings(said), "do what the warnings say")


def gymnasium_warnings(env: gym.Env[Any, Any]) -> list[str]:
    """Return what Gymnasium's own check warns of, in plain text, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env_checker.check_env(env, skip_render_check=True)
    return list(dict.fromkeys(_GYMNASIUM_DRESS.sub("", str(warning.message)) for warning in caught))


def shown_warnings(said: Sequence[str]) -> str:
    """Return what a finding says of warnings, also where there are none."""
    return "; ".join(said)[:300] or ("a warning without words" if said else "no error, no warning")


def spaces_are_text(subject: Subject) -> Finding:
    """The spaces are those of every ``ToolEnv``, and observations lie in them."""
    env = subject.tool_env()
    observation, _ = env.reset(seed=0)
    space = env.observation_space
    right = (
        isinstance(space, gym.spaces.Dict)
        and isinstance(space["text"], Utf8Text)
        and all(isinstance(space[name], Utf8Text) for name in set(space) - {"image"})
        and isinstance(env.action_space, Utf8Text)
        and space.contains(observation)
    )
    return Finding(
        "spaces_are_text", right, f"{space}", "leave the spaces to ToolEnv; observe_image gives V×V×3"
    )


def tool_schemas(subject: Subject) -> Finding:
    """Every tool's schema is a JSON schema of an object, and its name and description are there."""
    env = subject.tool_env()
    wrong = []
    for schema in env.toolset.schemas():
        function = schema["function"]
        try:
            Draft202012Validator.check_schema(function["parameters"])
            json.dumps(schema)
        except (SchemaError, TypeError) as error:
            wrong.append(f"{function['name']}: {error}".splitlines()[0])
        if not function["name"] or not function["description"] or function["parameters"]["type"] != "object":
            wrong.append(f"{function['name']}: name, description or object type missing")
    measured = "; ".join(wrong) or f"{len(env.toolset.tools)} tools"
    return Finding("tool_schemas", not wrong, measured, "correct the tool's parameters")


def same_seed_same_bytes(subject: Subject) -> Finding:
    """The same seed and turns give the same bytes: in one environment again, and in a new one."""
    first, second = subject.tool_env(), subject.tool_env()
    seeds, differ = list(subject.seeds)[:3], []
    for seed in seeds:
        actions = mixed_actions(first, seed)
        episodes = [play_turns(env, actions, seed) for env in (first, first, second)]
        if not (same(episodes[0], episodes[1]) and same(episodes[0], episodes[2])):
            differ.append(seed)
    measured = f"seeds {differ} differ" if differ else f"{len(seeds)} seeds, 3 episodes each, all equal"
    return Finding("same_seed_same_bytes", not differ, measured, "draw only from rng / self.np_random")


def seeds_differ(subject: Subject) -> Finding:
    """Other seeds give other tasks, where tasks are drawn."""
    env = subject.tool_env()
    if not env.draws_tasks:
        return Finding("seeds_differ", True, _NOT_DRAWN)
    hashes = {env.reset(seed=seed)[1]["task"]["hash"] for seed in subject.seeds}
    enough = len(hashes) > 1 or len(subject.seeds) == 1
    measured = f"{len(hashes)} tasks of {len(subject.seeds)} seeds"
    return Finding("seeds_differ", enough, measured, "use the rng that sample() is given")


def options_are_obeyed(subject: Subject) -> Finding:
    """``difficulty``, ``split`` and ``task`` override the constructor; bad ones are clear errors."""
    env = subject.tool_env()
    wrong = []
    for difficulty, split in itertools.product(env.source.difficulties, SPLITS):
        task = env.reset(seed=1, options={"difficulty": difficulty, "split": split})[1]["task"]
        if (task["difficulty"], task["split"]) != (difficulty, split):
            wrong.append(f"difficulty {difficulty}, {split}: got {task['difficulty']}, {task['split']}")
    assert env.task is not None  # reset() above has set it
    given = env.task.to_json()
    _, info = env.reset(seed=2, options={"task": json.loads(json.dumps(given))})
    if info["task"]["hash"] != env.task.content_hash or env.task.question != given["question"]:
        wrong.append("a task given as JSON is not the task that is played")
    for options, error in (
        ({"difficulty": env.source.difficulties[-1] + 1}, DifficultyError),
        ({"difficulty": "hard"}, DifficultyError),
        ({"split": "validation"}, SplitError),
        ({"task": {"question": 3}}, TaskError),
        ({"no_such_option": 1}, ConfigError),
    ):
        if not _raises(error, lambda options=options: env.reset(options=options)):
            wrong.append(f"{options} raises no {error.__name__}")
    measured = "; ".join(wrong) or f"{len(env.source.difficulties)} difficulties, 2 splits, 5 bad options"
    return Finding("options_are_obeyed", not wrong, measured, "use the arguments that sample() is given")


def _raises(error: type[Exception], function: Callable[[], Any]) -> bool:
    try:
        function()
    except error:
        return True
    return False


def splits_are_disjoint(subject: Subject) -> Finding:
    """No task that is drawn is in both splits: question, answer and data decide, not the id."""
    env = subject.tool_env()
    if not env.draws_tasks:
        return Finding("splits_are_disjoint", True, _NOT_DRAWN)
    tasks: dict[str, set[str]] = {split: set() for split in SPLITS}
    draws = 5 * len(subject.seeds)
    for difficulty, split, seed in itertools.product(env.source.difficulties, SPLITS, range(draws)):
        task = env.source.sample(np.random.default_rng(seed), difficulty, split)
        tasks[split].add(json.dumps([task.question, task.answer, dict(task.data)], sort_keys=True))
    shared = len(tasks["train"] & tasks["test"])
    measured = f"{shared} in both of {len(tasks['train'])} train and {len(tasks['test'])} test tasks"
    remedy = "give every task to one split, for example by a hash of its content"
    return Finding("splits_are_disjoint", not shared, measured, remedy)


def bad_actions_are_observations(subject: Subject) -> Finding:
    """No text raises; a bad call is a result that is not ok, with a code, and words for the model."""
    env = subject.tool_env()
    must_fail = {**BAD_CALLS, **bad_calls_of(env.toolset.tools)}
    wrong = []
    for name, action in {**must_fail, **NASTY_ACTIONS}.items():
        env.reset(seed=0)
        observation, reward, _, _, info = env.step(action)
        results = info["tool_calls"]
        bad = [result for result in results if not result["ok"]]
        if observation not in env.observation_space or not math.isfinite(reward):
            wrong.append(f"{name}: observation or reward out of its space")
        elif not all(isinstance(result["error_code"], str) and result["text"] for result in bad):
            wrong.append(f"{name}: a failed result without code or words")
        elif name in must_fail and not bad:
            wrong.append(f"{name}: no failed result")
    count = len(must_fail) + len(NASTY_ACTIONS)
    remedy = "raise CallRefused(code, what would be right) in the tool, check arguments in its schema"
    return Finding("bad_actions_are_observations", not wrong, "; ".join(wrong) or f"{count} actions", remedy)


def only_text_is_an_action(subject: Subject) -> Finding:
    """An action that is no string is the caller's mistake: ``ActionTypeError``, and the episode goes on."""
    env = subject.tool_env()
    env.reset(seed=0)
    accepted = [
        repr(action)
        for action in (None, 3, b"x", ["x"], {"text": "x"})
        if not _raises(ActionTypeError, lambda action=action: env.step(action))  # type: ignore[arg-type]
    ]
    goes_on = env.step("x" * (MAX_ACTION_LENGTH + 1))[0] in env.observation_space
    measured = f"accepted: {', '.join(accepted)}" if accepted else "5 kinds refused"
    return Finding("only_text_is_an_action", not accepted and goes_on, measured, "do not override step()")


def the_end(subject: Subject) -> Finding:
    """Silence is truncated at ``max_turns``, answers terminate; then ``step`` raises ``ResetNeeded``.

    Where an answer is answered (a conversation), more of them must come to an end before ``max_turns``.
    """
    env = subject.tool_env()
    wrong = []
    if not _raises(gym.error.ResetNeeded, lambda: env.step("")):
        wrong.append("step before reset does not raise ResetNeeded")
    turns = play_turns(env, itertools.repeat(""), 0)
    if len(turns) - 1 != env.max_turns or not turns[-1][3] or turns[-1][2]:
        wrong.append(f"silence ended after {len(turns) - 1} turns, terminated={turns[-1][2]}")
    if turns[-1][4].get("success") is not False:
        wrong.append("silence has no success=False at the end")
    if not _raises(gym.error.ResetNeeded, lambda: env.step("")):
        wrong.append("step after truncation does not raise ResetNeeded")
    answered = play_turns(env, itertools.repeat("<answer>?</answer>"), 0)[-1]
    if not answered[2] or answered[3] or not _raises(gym.error.ResetNeeded, lambda: env.step("")):
        wrong.append("answers do not terminate the episode")
    measured = "; ".join(wrong) or f"truncated at {env.max_turns}, terminated by an answer"
    return Finding("the_end", not wrong, measured, "leave step() to ToolEnv")


def info_is_complete(subject: Subject) -> Finding:
    """``info`` has its keys at every turn, ``success`` and finite reward terms at the end, and is JSON."""
    env = subject.tool_env()
    turns = play(env, env.players()[leader(env)](env), 0)
    wrong = []
    for index, (_, reward, terminated, truncated, info) in enumerate(turns):
        json.dumps(info)
        if set(info["task"]) != _TASK_KEYS or not isinstance(info["tool_calls"], list):
            wrong.append(f"turn {index}: task or tool_calls are not as they should be")
        if ("success" in info) != (terminated or truncated):
            wrong.append(f"turn {index}: success belongs to the last turn, and only there")
        if not isinstance(reward, float) or not all(map(math.isfinite, info["reward_terms"].values())):
            wrong.append(f"turn {index}: reward or its terms are no finite floats")
    if not isinstance(turns[-1][4].get("success"), bool) or not turns[-1][4]["reward_terms"]:
        wrong.append("the end has no success (bool) or no reward terms")
    measured = "; ".join(wrong) or f"{len(turns)} turns, all keys, JSON"
    return Finding("info_is_complete", not wrong, measured, "return plain JSON values in ToolOutput.data")


def frames(subject: Subject) -> Finding:
    """``rgb_array``, where the environment has it, gives uint8 pictures of one size."""
    if "rgb_array" not in subject.tool_env().metadata["render_modes"]:
        return Finding("frames", True, "no rgb_array mode")
    env = subject.make(render_mode="rgb_array").unwrapped
    assert isinstance(env, ToolEnv)  # as tool_env() has checked
    env.reset(seed=0)
    pictures: list[Any] = [env.render()]
    env.step(next(iter(NASTY_ACTIONS.values())))
    pictures.append(env.render())
    env.close()
    kinds = {(picture.shape, str(picture.dtype)) for picture in pictures if isinstance(picture, np.ndarray)}
    right = len(kinds) == 1 and all(len(shape) == 3 and shape[2] == 3 and t == "uint8" for shape, t in kinds)
    return Finding("frames", right, f"frames {kinds}", "render() returns uint8 (H, W, 3), one size always")
