"""Settings: what is refused, and that they come back from plain data."""

from __future__ import annotations

import pytest

from pixelis.agents.sb3.config import AGENTS, Sb3Config
from pixelis.cli.train import COMMAND as TRAIN
from pixelis.errors import ConfigError


def test_they_come_back():
    config = Sb3Config(agent="sb3-dqn", action_kwargs={"grid": 4})
    assert Sb3Config.from_mapping(config.to_mapping()) == config
    assert config.with_values(processes="spawn", steps=7).digest == config.digest
    assert config.with_values(agent={"gamma": 0.5}).digest != config.digest


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"agent": "sb3-pop"}, "agent must be one of sb3-ppo, sb3-dqn, sb3-grpo, got 'sb3-pop'"),
        ({"agent": {"type": "sb3-grpo", "group_size": 1}}, "agent.group_size must be"),
        ({"action_kwargs": {"flat": True}}, "action_kwargs cannot hold flat"),
        (
            {"n_envs": 2, "agent": {"n_steps": 4}, "batch_size": 9},
            "at most n_envs · agent.n_steps = 8, got 9",
        ),
        ({"agent": {"gamma": 1.5}}, "agent.gamma must be"),
        ({"agent": {"type": "sb3-grpo", "advantage": "nonsense"}}, "advantage.*'nonsense'"),
        (
            {"agent": {"type": "sb3-grpo", "n_steps": 6}},
            "agent.n_steps is not read with agent sb3-grpo, only with",
        ),
        (
            {"agent": {"type": "sb3-dqn", "n_steps": 10}},
            "agent.n_steps must be a multiple of agent.train_every, 4, got 10",
        ),
        ({"rewards": {"coherence": {}}}, "add orchestrate: false"),
        ({"rewards": {"orchestrate": False, "coherance": {}}}, "unknown name 'coherance'"),
    ],
)
def test_mistakes(values, message):
    with pytest.raises(ConfigError, match=message):
        Sb3Config(**values)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_command_line_names_the_agent(agent):
    config, resume = TRAIN.read(["--agent", agent, "--n-envs", "32", "--action-kwargs.grid", "4"])
    assert isinstance(config, Sb3Config) and resume is None
    assert (config.agent.type, config.n_envs, config.action_kwargs) == (agent, 32, {"grid": 4})


def test_so_does_a_file_and_the_flag_wins(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("agent: sb3-dqn\nn_envs: 3\n")
    config, _ = TRAIN.read(["--config", str(path)])
    assert isinstance(config, Sb3Config) and (config.agent.type, config.n_envs) == ("sb3-dqn", 3)
    config, _ = TRAIN.read(["--config", str(path), "--agent=sb3-grpo"])
    assert isinstance(config, Sb3Config) and (config.agent.type, config.n_envs) == ("sb3-grpo", 3)


def test_without_one_it_is_a_language_model():
    config, _ = TRAIN.read(["--group-size", "4"])
    assert not isinstance(config, Sb3Config) and config.group_size == 4


def test_an_unknown_agent_is_told():
    with pytest.raises(ConfigError, match=r"got 'sb3-pp'. Did you mean 'sb3-ppo'"):
        TRAIN.read(["--agent", "sb3-pp"])
