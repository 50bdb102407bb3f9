"""Whole runs: their folder, exact resume, the same numbers in processes, what is on the disk."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.saved_run import newest_adapter
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.sb3.config import AGENTS
from pixelis.agents.sb3.episodes import play
from pixelis.agents.sb3.grpo import minibatches
from pixelis.agents.sb3.run import Sb3Run, load_agent, train
from pixelis.errors import CheckpointError, ConfigError


@pytest.fixture(params=AGENTS)
def agent(request) -> str:
    return request.param


@pytest.mark.slow
def test_a_run_writes_what_every_run_writes(tiny, agent):
    run = train(tiny(agent=agent))
    rows = read_metrics(run.folder.metrics)
    assert [row["step"] for row in rows] == [1, 2]
    assert all(row["episodes/count"] > 0 and row["env_steps/total"] > 0 for row in rows)
    assert {"success/rate", "success/ma10", "reward/mean", "tools/per_episode", "train/loss"} <= set(rows[-1])
    assert any(run.folder.tensorboard.iterdir()) and (run.folder.path / "log.txt").is_file()
    text = (run.folder.trajectories / "step-00000002.jsonl").read_text()
    samples = [json.loads(line) for line in text.splitlines()]
    assert samples and all(sample["turns"] == len(sample["exchanges"]) <= 3 for sample in samples)
    assert all("<" in turn["action"] for sample in samples for turn in sample["exchanges"])
    for phase in ("before", "after"):
        for row in run.evaluations[phase]:
            assert row.episodes == 2 and 0 <= row.interval[0] <= row.success_rate <= row.interval[1] <= 1
    assert len(list_checkpoints(run.folder.checkpoints)) == 2


@pytest.mark.slow
def test_a_resumed_run_has_the_numbers_of_one_that_never_stopped(tiny, agent, tmp_path):
    whole = tiny(agent=agent, steps=3, eval_episodes=0, output=str(tmp_path / "whole"))
    train(whole)
    halves = whole.with_values(output=str(tmp_path / "halves"))
    train(halves.with_values(steps=2))
    with Sb3Run.resume(tmp_path / "halves", halves) as run:
        assert run.trainer.finished_steps == 2
        run.train()
    assert weights(tmp_path / "whole") == weights(tmp_path / "halves")
    metrics = [comparable_metrics(tmp_path / name / "metrics.jsonl") for name in ("whole", "halves")]
    assert metrics[0] == metrics[1] and len(metrics[0]) == 3


@pytest.mark.slow
def test_a_rate_that_an_alarm_lowered_is_what_updates_take_and_is_resumed(tiny, agent):
    config = tiny(agent=agent, steps=3, eval_episodes=0, on_alarm="lower_lr")
    with Sb3Run.start(config) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps == 1)
        run.trainer.lower_rate(1 / 3)
        run.train(should_stop=lambda: run.trainer.finished_steps == 2)
        (group,) = run.trainer.learner.policy.optimizer.param_groups
        assert group["lr"] == pytest.approx(config.lr / 3)
    with Sb3Run.resume(run.folder.path, config) as again:
        again.train()
        (group,) = again.trainer.learner.policy.optimizer.param_groups
        assert group["lr"] == pytest.approx(config.lr / 3)


def weights(path: Path) -> dict[str, list]:
    return {
        name: value.tolist()
        for name, value in load_file(newest_adapter(path)[0] / "policy.safetensors").items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["fork", "spawn"])
def test_processes_change_no_number(tiny, processes, tmp_path):
    for name in ("none", processes):
        train(tiny(steps=1, eval_episodes=0, processes=name, output=str(tmp_path / name)))
    assert weights(tmp_path / "none") == weights(tmp_path / processes)


def test_a_saved_agent_plays_alike_and_evaluation_disturbs_nothing(tiny, tmp_path):
    with Sb3Run.start(tiny()) as run:
        requests = [EpisodeRequest(seed, seed, 0, run.task_env.options("test")) for seed in range(3)]
        state = torch.get_rng_state()
        played = run.policy.play(requests, greedy=False)
        assert torch.equal(torch.get_rng_state(), state)
        agent = load_agent(tmp_path / "run", run.task_env)
        again = agent.play(requests, greedy=False)
        agent.close()
    assert [episode.seed for episode in played] == [0, 1, 2]
    assert [episode.info["turns"] for episode in played] == [episode.info["turns"] for episode in again]


def test_the_log_says_how_large_a_full_buffer_is(tiny):
    """Two observations of two pictures of 96 · 96 · 3 bytes are most of each of the 40 transitions."""
    with Sb3Run.start(tiny(agent="sb3-dqn", steps=1, eval_episodes=0)) as run:
        run.train()
        size, text = run.policy.replay_bytes, (run.folder.path / "log.txt").read_text()
    assert 40 * 4 * 96 * 96 * 3 < size < 41 * 4 * 96 * 96 * 3
    assert f"in every checkpoint: up to {size / 2**20:.0f} MiB" in text


def test_no_pickles_on_the_disk(tiny, tmp_path):
    with Sb3Run.start(tiny(agent="sb3-dqn")):
        pass
    checkpoint = list_checkpoints(tmp_path / "run" / "checkpoints")[0]
    names = {path.relative_to(checkpoint).as_posix() for path in checkpoint.rglob("*") if path.is_file()}
    assert names == {
        *("adapter/policy.safetensors", "adapter/agent.json", "replay.safetensors", "manifest.json"),
        *("optimiser.pt", "random.pt", "progress.json"),
    }
    for name in ("optimiser.pt", "random.pt"):
        torch.load(checkpoint / name, weights_only=True)


def test_other_settings_are_refused(tiny):
    config = tiny()
    with Sb3Run.start(config) as run:
        path = run.folder.path
    with pytest.raises(CheckpointError, match=r"agent\.gamma was 0.95 and is 0.5"):
        Sb3Run.resume(path, config.with_values(agent={"gamma": 0.5}))


def test_weights_of_another_network_are_refused(tiny, tmp_path):
    with Sb3Run.start(tiny()) as run:
        saved = run.folder.path
    other = tiny(features=9, output=str(tmp_path / "other"))
    with Sb3Run.start(other) as run:
        shutil.copytree(newest_adapter(saved)[0], tmp_path / "adapter")
        with pytest.raises(CheckpointError, match="same network"):
            run.policy.load_adapter(tmp_path / "adapter")


@pytest.mark.parametrize("agent", ["sb3-ppo", "sb3-dqn"])
def test_a_training_step_that_is_shorter_than_an_episode_is_refused(tiny, agent):
    short = tiny(agent, {"n_steps": 2, **({"train_every": 1} if agent == "sb3-dqn" else {})}, batch_size=4)
    with pytest.raises(ConfigError, match=r"at least the longest episode .*, 3 turns, got 2"):
        Sb3Run.start(short)


def test_an_environment_without_pictures_is_refused(tiny):
    with pytest.raises(ConfigError, match="needs a ToolEnv with an image"):
        Sb3Run.start(tiny(env="toy_env:Toy/Echo-v0", env_kwargs={}, difficulty=None))


def test_terms_that_learn_nothing_are_paid(tiny):
    """What an episode earns is its success and the term's sum, held in ±1, times the weight."""
    rewards = {"orchestrate": False, "penalty": {"weight": 0.5}}
    with Sb3Run.start(tiny(rewards=rewards)) as run:
        requests = [EpisodeRequest(seed, seed, 0, run.task_env.options("train")) for seed in range(4)]
        steps = play(run.policy.vector, requests, lambda seen: run.policy._choose(seen, greedy=False))
        episodes = [step.record for step in steps if step.record is not None]
        evaluated = run.policy.play(requests, greedy=False)
    assert all(each.reward == float(each.success) and not each.reward_parts for each in evaluated)
    assert not any("penalty" in each.reward_terms for each in evaluated)
    for episode in episodes:
        paid = max(-1.0, episode.reward_terms["penalty"])
        assert episode.reward == pytest.approx(float(episode.success) + 0.5 * paid)
    assert any(episode.reward_terms["penalty"] < 0 for episode in episodes)


def test_terms_that_learn_are_refused(tiny):
    with pytest.raises(ConfigError, match="curiosity learns while it pays"):
        Sb3Run.start(tiny(rewards={"orchestrate": False, "curiosity": {}}))


def test_failed_episodes_are_left_out_of_groups(tiny):
    """A group of which one member failed learns from the others; alone, a failure is no zero reward."""
    with Sb3Run.start(tiny("sb3-grpo", {"groups": 2, "group_size": 2})) as run:
        learner = run.trainer.learner
        episodes, steps = learner._play(1)
        for episode, reward in zip(episodes, (1.0, 0.0, 1.0, 0.0), strict=True):
            episode.reward = reward
        by_place = sorted(zip(episodes, steps, strict=True), key=lambda pair: (pair[0].group, pair[0].member))
        for (episode, _), reward in zip(by_place, (1.0, 0.0, 1.0, 0.0), strict=True):
            episode.reward = reward
        by_place[2][0].valid_for_training = False
        batch, row = learner._batch([pair[0] for pair in by_place], [pair[1] for pair in by_place])
    assert row == {"groups/count": 2, "groups/dropped": 1}
    assert len(batch) == len(by_place[0][1]) + len(by_place[1][1])
    size = (1 - 0.5) / (math.sqrt(0.5) + 1e-4)
    expected = [size] * len(by_place[0][1]) + [-size] * len(by_place[1][1])
    assert batch.advantages.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_learning_rate_falls_to_a_tenth_and_stays(tiny, agent):
    rates = []
    with Sb3Run.start(tiny(agent=agent, lr=0.01, decay_steps=2, steps=4, eval_episodes=0)) as run:
        optimiser = run.trainer.learner.policy.optimizer
        run.train(lambda row: rates.append(optimiser.param_groups[0]["lr"]))
    assert rates == pytest.approx([0.01, 0.0055, 0.001, 0.001])


def test_a_wrong_setting_is_told_in_one_line_where_environments_have_processes(tiny):
    with pytest.raises(ConfigError, match="grid must be an integer from 2 to 64, got 0"):
        Sb3Run.start(tiny(action_kwargs={"grid": 0}, processes="forkserver"))


@pytest.mark.parametrize(("steps", "sizes"), [(129, [65, 64]), (128, [128]), (5, [5]), (0, [])])
def test_every_step_counts_as_much_as_any_other(steps, sizes):
    found = minibatches(steps, size=128, epochs=2, seeds=(0, 1))
    assert [len(each) for each in found] == 2 * sizes
    epochs = found[: len(sizes)], found[len(sizes) :]
    orders = [[int(index) for each in epoch for index in each] for epoch in epochs]
    assert [sorted(order) for order in orders] == [list(range(steps))] * 2
    assert orders[0] != orders[1] or not steps
