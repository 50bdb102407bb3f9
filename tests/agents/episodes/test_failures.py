"""Where an exception of a user's code comes from, and when failures end a run."""

from __future__ import annotations

import json
import logging
import sys

import gymnasium as gym
import pytest

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.episodes.failures import PATIENCE, FailureWatch, failed_share, reason_of
from pixelis.errors import ConfigError, EpisodesFailedError, UserCodeError
from pixelis.rewards.terms.weights import as_number
from pixelis.user_code import described, place_of, place_of_function, user_code


def episodes(*valid: bool, reason: str = "step raised OSError: no disk", place: str | None = "mine.py:7"):
    return [
        Episode("E-v0", seed, seed, 0, valid_for_training=good)
        if good
        else Episode(
            "E-v0",
            seed,
            seed,
            0,
            valid_for_training=False,
            failure_reason=reason,
            failure_place=place,
            failure_trace="Traceback: all of it",
        )
        for seed, good in enumerate(valid)
    ]


def test_the_first_step_decides_at_once_and_later_ones_after_a_while(caplog):
    with pytest.raises(
        EpisodesFailedError, match=r"all 2 episodes of step 1 failed: .*no disk \(mine\.py:7\)"
    ):
        FailureWatch().note(episodes(False, False), "step 1")
    watch = FailureWatch()
    watch.note(episodes(True, False), "step 1")
    for step in range(2, PATIENCE + 1):
        watch.note(episodes(False, False), f"step {step}")
    watch.note(episodes(True, True), "a good step")
    for step in range(1, PATIENCE):
        watch.note(episodes(False), f"step {step}")
    with pytest.raises(EpisodesFailedError, match=f"of the last {PATIENCE} steps failed"):
        watch.note(episodes(False), "step 10")


def test_each_reason_is_told_once_with_its_line_and_its_traceback(caplog):
    watch = FailureWatch()
    with caplog.at_level(logging.INFO, "pixelis"):
        for step in (1, 2, 3):
            watch.note(
                [*episodes(True, False, False), *episodes(False, reason="late", place=None)], f"step {step}"
            )
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 2
    assert warned[0].startswith(
        "3 of 4 episodes of step 1 failed and are left out; the first: step raised OSError"
    )
    assert warned[0].endswith("(mine.py:7)") and warned[1].endswith("late")
    assert "Traceback: all of it" in caplog.text
    assert failed_share(episodes(True, False, False, False)) == 0.75 and failed_share([]) is None


def divide(row, text):
    return 1 / 0


def test_code_that_an_environment_calls_is_named_once_with_its_line():
    env = gym.make("Pixelis/Rows-v0", rows=[{"prompt": "a"}], reward=divide)
    runner = EpisodeRunner(env, EpisodeRequest(0, 0, 0, {}))
    runner.reset()
    runner.step("a")
    place = place_of_function(divide)
    assert place is not None
    file, line = place.rsplit(":", 1)
    expected = f"the reward of row 1 raised ZeroDivisionError: division by zero ({file}:{int(line) + 1})"
    assert reason_of(runner.episode) == expected
    assert "return 1 / 0" in (runner.episode.failure_trace or "")


def test_the_line_is_the_users_and_not_the_librarys(tmp_path, monkeypatch):
    (tmp_path / "plug_of_mine.py").write_text("import json\n\ndef read():\n    return json.loads('{')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    import plug_of_mine

    with (
        pytest.raises(
            UserCodeError, match=r"^the reader raised JSONDecodeError: .* \(plug_of_mine\.py:4\)$"
        ) as told,
        user_code("the reader"),
    ):
        plug_of_mine.read()
    assert "json/decoder.py" in told.value.trace
    sys.modules.pop("plug_of_mine")


def test_an_installed_plugins_line_is_found_too(tmp_path, monkeypatch):
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "installed_plug.py").write_text("def fail():\n    return {}['x']\n")
    monkeypatch.syspath_prepend(str(folder))
    import installed_plug

    with pytest.raises(KeyError) as raised:
        installed_plug.fail()
    raised.value.__traceback__ = raised.value.__traceback__.tb_next  # without this test's own line
    assert place_of(raised.value).endswith("installed_plug.py:2")
    sys.modules.pop("installed_plug")


def test_our_own_errors_pass_and_long_messages_are_cut():
    with pytest.raises(ConfigError, match=r"^plain$"), user_code("a reader"):
        raise ConfigError("plain")
    assert len(described(ValueError("x" * 10_000))) < 400
    assert described(KeyError()) == "KeyError"

    class Wordless(OSError):
        def __str__(self) -> str:
            raise RuntimeError

    assert described(Wordless()) == "Wordless"


class Answering(gym.Env):
    """Returns what it is told to, from `reset` or from `step`."""

    def __init__(self, start=None, later=None, **info) -> None:
        self.start = {"text": "go"} if start is None else start
        self.later, self.info = later, info

    def reset(self, *, seed=None, options=None):
        return self.start, {}

    def step(self, action):
        return self.later, 1.0, self.later is None, False, self.info


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (
            Answering(start=["text"]),
            "reset returned the observation list, expected a dict whose 'text' is a text",
        ),
        (
            Answering(start={"text": 3}),
            "reset returned the observation a dict with ['text'], expected a dict whose",
        ),
        (Answering(later={"image": 1}), "step returned the observation a dict with ['image'], expected"),
        (Answering(success="no"), "the info of step cannot be read: success is 'no', expected true or false"),
        (
            Answering(tool_calls=["oops"]),
            "the info of step cannot be read: TypeError: tool_calls holds 'oops'",
        ),
    ],
)
def test_what_cannot_be_read_fails_the_episode_alone_and_names_the_line(env, reason):
    runner = EpisodeRunner(env, EpisodeRequest(0))
    runner.reset()
    if not runner.done:
        runner.step("x")
    assert runner.done and not runner.episode.valid_for_training
    assert runner.episode.failure_reason.startswith(reason)
    assert "test_failures.py:" in runner.episode.failure_place


def test_half_a_surrogate_in_what_an_env_says_is_a_question_mark():
    runner = EpisodeRunner(Answering(start={"text": "go \ud83d"}), EpisodeRequest(0))
    runner.reset()
    assert (runner.seen()[0], runner.episode.asked) == ("go ?", "go ?")


@pytest.mark.parametrize("success", [None, True, 0])
def test_a_success_that_is_none_is_not_known(success):
    runner = EpisodeRunner(Answering(success=success), EpisodeRequest(0))
    runner.reset()
    runner.step("x")
    assert runner.done and runner.episode.valid_for_training
    assert runner.episode.success is (None if success is None else bool(success))


@pytest.mark.parametrize(
    "value", [None, "1.0", b"1", float("nan"), float("inf"), [1.0, 2.0], 1j, object(), {}]
)
def test_what_is_no_reward(value):
    assert as_number(value) is None


def test_what_is_a_reward():
    import numpy as np
    import torch

    given = [1, True, 0.5, np.float32(0.5), np.array([2.0]), np.array(3), torch.tensor(4.0)]
    assert [as_number(value) for value in given] == [1.0, 1.0, 0.5, 0.5, 2.0, 3.0, 4.0]
    assert as_number(torch.tensor([1.0, 2.0])) is None
    assert json.dumps(as_number(np.float64(1))) == "1.0"
