"""Every configuration in ``configs/`` is one that the trainer accepts."""

from __future__ import annotations

import pytest

from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.named_models import NAMED_MODELS
from pixelis.agents.playing.term_rewards import build_rewards
from pixelis.agents.settings.files import SHIPPED, loaded, shipped_names
from pixelis.cli import sft, train
from pixelis.envs.registration import check_env_id
from pixelis.rewards.terms.registry import TERMS
from pixelis.rewards.terms.weights import ALONE_GAP

LESSONS = sorted(SHIPPED.glob("lessons/*.yaml"))
CONFIGS = [*sorted(SHIPPED.glob("*.yaml")), *LESSONS]


def _is_own(name):
    return ":" in name


def test_there_is_one_for_the_main_job():
    assert "zoom_read.yaml" in [path.name for path in CONFIGS]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_it_is_accepted(path):
    read = sft.COMMAND.read if path.stem.endswith("_sft") else train.COMMAND.read
    config, resume = read(["--config", str(path)])
    assert resume is None
    assert check_env_id(config.env) == config.env
    rewards = getattr(config, "rewards", {})  # agents without language have none
    assert (build_rewards(rewards) is not None) == ("rewards:" in path.read_text())


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_a_lesson_sets_nothing_but_model_difficulty_and_lengths(path):
    """So that what it shows is what a stranger's run does, and `make demo ENV=…` finds it by name."""
    given = loaded(path.read_text(encoding="utf-8"))
    assert given["env"] == f"Pixelis/{path.stem}-v0" and given["model"] in NAMED_MODELS
    assert set(given) - {"env", "model", "env_kwargs"} <= {
        "difficulty",
        "steps",
        "minutes",
        "eval_episodes",
        "max_new_tokens",
    }
    assert set(given.get("env_kwargs", {})) <= {"max_turns", "tools"}


@pytest.mark.parametrize(
    "path", [path for path in CONFIGS if "rewards:" in path.read_text()], ids=lambda path: path.name
)
def test_its_rewards_fit_its_environment(path):
    """The task's gap is the environment's own, and no term is off; nor has coherence its similarity part.

    That part does not tell good play from bad (docs/results/index.md).
    """
    config, _ = train.COMMAND.read(["--config", str(path)])
    env = TaskEnv.open(config.env, config.env_kwargs, config.reset_options)
    stack = build_rewards(config.rewards, env.traits)
    assert stack is not None and "task_gap" not in config.rewards
    if config.rewards.get("orchestrate", True):
        assert stack.orchestrator.task_gap == env.traits.task_gap
    else:
        assert env.traits.task_gap >= ALONE_GAP  # shipped weights keep the order
    assert len(stack.terms) == len(set(config.rewards) & {*TERMS, *filter(_is_own, config.rewards)})
    assert "encoder" not in (config.rewards.get("coherence") or {})


def test_all_are_found_by_name_and_those_beside_the_package_are_the_same():
    assert {"zoom_read", "tweet/sft", "web_browse_sft"} <= set(shipped_names())
    link = SHIPPED.parents[1] / "configs"
    assert not link.exists() or link.resolve() == SHIPPED.resolve()
