"""Recorded episodes under other rewards: values by hand, pictures from files or from the env."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from recorded_envs import edit, play, record

from pixelis.errors import RecordingError, RewardError
from pixelis.rewards.stack.stack import RewardStack, build_stack
from pixelis.wrappers import RecordTrajectory, Replayer, read_trajectories, rescore
from pixelis.wrappers.recording.images import ImageFolder
from pixelis.wrappers.recording.rescore import task_reward
from pixelis.wrappers.vector import RecordTrajectory as VectorRecordTrajectory


class Term:
    """Scores a transition by a function of it; notes what it was shown, per episode and between learnings."""

    def __init__(self, name="term", value=lambda step: 1.0):
        self.name, self.value = name, value
        self.episodes, self.learnt = [], []

    def begin(self):
        self.episodes.append([])
        return self.episodes[-1]

    def score(self, steps):
        for memory, step in steps:
            memory.append(step)
        return [self.value(step) for _, step in steps]

    def learn(self):
        self.learnt.append(sum(map(len, self.episodes)))
        return {"seen": float(self.learnt[-1])}

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def only(trajectories, term, weight=1.0, **keywords):
    return list(rescore(trajectories, RewardStack([term], None, {term.name: weight}), **keywords))


def brightness(step):
    return float(step.next_observation["image"].mean()) / 255


def test_returns_by_hand(tmp_path):
    env = RecordTrajectory(gym.make("Toy/Echo-v0", turns=2), tmp_path)
    for seed, right in ((3, True), (4, False)):
        letter = env.reset(seed=seed)[0]["text"]
        for _ in range(2):
            letter = env.step(letter if right else "no")[0]["text"]
    env.close()
    failed = Term("failed", lambda step: -float(sum(not call["ok"] for call in step.calls)))
    length = Term("length", lambda step: len(step.action) / 8)
    stack = RewardStack([failed, length], None, {"failed": 0.5, "length": 0.25})
    first, second = rescore(read_trajectories(tmp_path), stack)
    # two right letters: task 2, no failed call, length 2/8; two wrong words: task 0, 2 failed, length 4/8
    assert (first.old_return, first.new_return) == (2.0, 2.0 + 0.25 * 0.25)
    assert (second.old_return, second.new_return) == (0.0, -0.5 * 1 + 0.25 * 0.5)  # a sum is held in ±1
    assert first.new_rewards == (1.03125, 1.03125) and second.new_rewards == (-0.4375, 0.0625)
    assert first.terms == {"task": 2.0, "failed": 0.0, "length": 0.25}
    assert second.terms == {"task": 0.0, "failed": -2.0, "length": 0.5}
    assert second.parts["failed"].to_json() == {"raw": -2.0, "normalised": -1.0, "weighted": -0.5}
    assert (first.seed, first.steps, first.success, second.success) == (3, 2, True, False)
    assert first.images_from is second.images_from is None
    assert length.learnt == [2, 4]  # after each episode


def test_transitions_are_those_that_were_played(tmp_path):
    seen = play(RecordTrajectory(gym.make("Toy/Album-v0"), tmp_path), [(2, None)])
    term = Term()
    (row,) = only(read_trajectories(tmp_path), term)
    (steps,) = term.episodes
    assert [dict(step.observation)["text"] for step in steps] == ["turn 0", "turn 1", "turn 2"]
    shown = [seen[0], *(observation for observation, _ in seen[1:])]
    for step, before, after in zip(steps, shown, shown[1:], strict=False):
        assert np.array_equal(step.observation["image"], before["image"])
        assert np.array_equal(step.next_observation["image"], after["image"])
        assert "image" in step.observation and "sound" not in step.observation and len(step.observation) == 2
    assert [step.ended for step in steps] == [False, False, True] and row.steps == 3


def test_pictures_come_from_files_where_there_are_some_else_from_the_env(tmp_path):
    starts = [(1, None), (None, None)]
    stored = record(tmp_path / "stored", "Toy/Picture-v0", starts, settings={"images": True})
    hashes = record(tmp_path / "hashes", "Toy/Picture-v0", starts)
    from_files = only(stored, Term("b", brightness), replayer=Replayer(make=None))  # no env can be made
    from_env = only(hashes, Term("b", brightness))
    assert [row.images_from for row in (*from_files, *from_env)] == ["files", "files", "env", "env"]
    assert [row.new_return for row in from_files] == [row.new_return for row in from_env]
    observations = [step.row["observation"]["image"]["$image"] for step in stored[0].steps]
    folder = ImageFolder(tmp_path / "stored" / "images")
    by_hand = sum(float(folder.load(about).mean()) / 255 for about in observations)
    assert from_files[0].terms["b"] == pytest.approx(by_hand, abs=1e-12)
    unseen = only(hashes, Term(), replayer=Replayer(make=None))  # a term that looks at no picture
    assert [row.images_from for row in unseen] == [None, None]


def test_large_arrays_come_from_the_env(tmp_path):
    episodes = record(tmp_path, "Recorded/Map-v0")
    (row,) = only(episodes, Term("size", lambda step: float(step.observation["map"].size)))
    assert row.terms["size"] == 2000 and row.images_from == "env"


def test_a_vector_that_resets_in_the_same_step_is_played_in_order(tmp_path):
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("Toy/Picture-v0")] * 2, autoreset_mode="SameStep")
    envs = VectorRecordTrajectory(envs, tmp_path)
    envs.reset(seed=1)
    for _ in range(6):
        envs.step(("a", "b"))
    envs.close()
    looks_late = Term("late", lambda step: brightness(step) if late else 0.0)
    late = False
    rows = []
    for row in rescore(read_trajectories(tmp_path), RewardStack([looks_late])):
        rows.append(row)
        late = True  # from the second episode on
    assert len(rows) == 6 and all(row.images_from == "env" for row in rows)


def test_what_is_no_dict_and_no_text(tmp_path):
    episodes = record(tmp_path, "CartPole-v1")
    term = Term("angle", lambda step: float(step.next_observation["value"][2]))
    (row,) = only(episodes, term)
    assert row.old_return == row.steps and {step.action for step in term.episodes[0]} <= {"0", "1"}
    observations = [step.row["observation"]["$array"]["data"] for step in episodes[0].steps]
    assert row.terms["angle"] == pytest.approx(sum(data[2] for data in observations), abs=1e-9)


def test_an_unfinished_episode_gets_no_last_step(tmp_path):
    episodes = record(tmp_path, "CartPole-v1", steps=3)
    term = Term()
    (row,) = only(episodes, term)
    assert not row.finished and not any(step.ended for step in term.episodes[0])
    assert row.parts == {} and row.new_return == 4.0 and term.learnt == []
    (row,) = rescore(episodes, build_stack({"task_gap": 1.0}))
    assert row.new_rewards == (0.0, 0.0, 0.0)  # an orchestrator pays at the end


def test_records_of_calls_are_decoded_when_they_are_looked_at(tmp_path):
    record(tmp_path, turns=2)

    def spoil(row):
        calls = row["steps"][0]["info"]["tool_calls"]
        calls[0].update(data={"$opaque": "a.Picture"}, arguments={"at": {"$tuple": [1, 2]}})
        row["steps"][1]["info"]["tool_calls"] = {"$tuple": calls}

    episodes = edit(tmp_path, spoil)
    term = Term("at", lambda step: float(step.calls[0]["arguments"]["at"] == (1, 2)) / 4)
    (row,) = only(episodes, term)
    assert row.terms["at"] == 0.5
    with pytest.raises(RecordingError, match=r"only the type of a value was recorded: a\.Picture"):
        only(episodes, Term("data", lambda step: float(bool(step.calls[0]["data"]))))


def test_a_term_that_needs_tool_calls_says_so_as_its_wrapper_does(tmp_path):
    episodes = record(tmp_path, "CartPole-v1")
    with pytest.raises(RewardError, match=r"line 1, step 1: penalty: info has no 'tool_calls'"):
        list(rescore(episodes, build_stack({"penalty": {}, "task_gap": 1.0})))


# ---------------------------------------------------------------------- the task's own reward


def test_below_reward_wrappers_of_ours_the_tasks_part_counts(tmp_path):
    record(tmp_path)

    def shape(row):
        wrapper = {"name": "X", "entry_point": "somebodys.wrappers:X", "kwargs": {}}
        row["env"]["wrappers"].append(wrapper)
        row["steps"][0].update(reward=7.5)
        row["steps"][0]["info"].update(reward_task=1.0, reward_terms={"task": 3.0, "curiosity": 9.0})

    (row,) = only(edit(tmp_path, shape), Term(value=lambda step: 0.25))
    assert (row.old_return, row.new_return, row.terms["task"]) == (7.5, 1.25, 1.0)
    (row,) = only(edit(tmp_path, lambda row: row["env"]["wrappers"].clear()), Term())
    assert row.terms["task"] == 7.5  # what an env itself calls so means nothing
    edit(tmp_path, lambda row: row["env"].update(id=None))  # not made by gymnasium.make
    assert task_reward(next(read_trajectories(tmp_path)).steps[0], next(read_trajectories(tmp_path))) == 1.0
    edit(tmp_path, lambda row: row["steps"][0]["info"].update(reward_task="1"))
    with pytest.raises(RecordingError, match="line 1: reward_task must be a number, got '1'"):
        only(read_trajectories(tmp_path), Term())


def test_numbers_that_are_not_finite_are_refused_by_name(tmp_path):
    episodes = record(tmp_path / "good")
    with pytest.raises(RewardError, match=r"line 1, step 1: term: expected a finite number .*, got nan"):
        only(episodes, Term(value=lambda step: float("nan")))
    episodes = record(tmp_path / "bad", "Recorded/Walk-v0", pay=float("inf"))
    with pytest.raises(RewardError, match=r"line 1, step 1: task: expected a finite number .*, got inf"):
        only(episodes, Term())


def test_an_env_that_shows_other_pictures_is_told(tmp_path):
    (episode,) = record(tmp_path, "Toy/Picture-v0")
    other = Replayer(make=lambda description: gym.make("Toy/Album-v0"))
    edit(tmp_path, lambda row: row["reset"].update(seed=2))
    with pytest.raises(RecordingError, match="does not show the picture"):
        only(read_trajectories(tmp_path), Term("b", brightness))
    with pytest.raises(RecordingError, match=r"step\(\) raised"):
        bad = edit(tmp_path, lambda row: row["steps"][0].update(action=5))
        only(bad, Term("b", brightness), replayer=other)
    assert episode.start.seed == 3
