"""What other libraries call our settings: every row leads to a setting that a command has."""

from __future__ import annotations

from importlib import import_module

import pytest

from pixelis.cli.foreign_names import _COMMANDS, _OURS, about_unknown, names_of


def _kind(command: str):
    module, _, kind = _COMMANDS[command].partition(":")
    return getattr(import_module(module), kind)


def _settings(command: str) -> set[str]:
    return set(names_of(_kind(command)))


def test_every_row_is_of_a_setting_that_some_command_has():
    every = {name for command in _COMMANDS for name in _settings(command)} | {"resume"}
    assert not [ours for ours in _OURS if not {ours.strip(), ours.partition(".")[0]} & every]


def test_no_row_lists_a_name_twice():
    for ours, others in _OURS.items():
        assert len(set(others.split())) == len(others.split()) and ours not in others.split()


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_foreign_name_is_answered_with_a_setting_of_the_command(command: str):
    known = _settings(command)
    for others in _OURS.values():
        for name in set(others.split()) - known:
            said = about_unknown(name, _kind(command), command, flags=False)
            if "Here it is" in said:
                named = said.split("'")[1]
                assert named.partition(".")[0] in known


@pytest.mark.parametrize(
    ("command", "name", "said"),
    [
        ("evaluate_agent.py", "model", " Here it is --agent. --model belongs to train_agent.py"),
        ("evaluate_agent.py", "n_eval_episodes", " Here it is --episodes."),
        ("train_sft.py", "num_train_epochs", " Here it is --epochs."),
        ("train_sft.py", "learning_rate", " Here it is --lr."),
        ("train_sft.py", "group_size", " --group-size belongs to train_agent.py"),
        ("train_agent.py --agent sb3-ppo", "ent_coef", " Here it is --agent.entropy."),
        ("train_agent.py --agent sb3-ppo", "total_timesteps", " Here it is --steps."),
        ("expert_iteration.py", "num_generations", " Here it is --group-size."),
        ("play.py", "env_id", " Here it is --env."),
        ("train_agent.py", "max_turns", " Here it is --env-kwargs.max_turns."),
    ],
)
def test_what_is_said(command: str, name: str, said: str):
    assert about_unknown(name, _kind(command), command, flags=True).startswith(said)
