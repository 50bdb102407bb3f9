"""Short real runs that, together, log every metric there is; see `test_metrics_page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.sb3.config import Sb3Config
from pixelis.agents.sb3.run import Sb3Run
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.expert.run import ExpertRun
from pixelis.agents.sft.run import SftRun

_REWARDS = {
    "coherence": {"encoder": "hashed"},
    "curiosity": {"fresh_size": 2},  # steps are few
    "penalty": {},
    "curriculum": {"stages": {"one": {"weights": {"curiosity": 0.3}, "steps": 1}, "two": {"weights": {}}}},
}
_DIALS = {"env": "dial_env:Toy/Dial-v0", "max_new_tokens": 3, "temperature": 3.0}
_ZOOM = {
    "env": "Pixelis/ZoomRead-v0",
    "env_kwargs": {"max_turns": 2, "reader": "truth"},
    "model": "pixelis-tiny",
    "max_new_tokens": 24,
}
GRPO: dict[str, dict[str, Any]] = {
    "plain": {"smoothed": ["reward/mean"], "diversity": "ngrams", "algorithm": {"replay": {"ratio": 0.5}}},
    "evaluated": {"eval_every": 1, "eval_episodes": 2},
    "no penalty": {"beta": 0.0},
    "far answers": {"diversity": "far_answers:far", "steps": 1, "group_size": 24},
    "penalty in the reward": {"loss": {"kl": {"place": "reward", "estimator": "k1"}}},
    "reward terms": {**_ZOOM, "groups": 2, "rewards": _REWARDS},  # curiosity learns from calls carried out
    "vote": {"rewards": {"vote": {"pattern": "[a-z]", "threshold": 0.0}}, "group_size": 24},
    "ppo": {"algorithm": "ppo"},
    "steered": {"lr": "auto", "micro_batch_size": 2},
    "learnability": {**_DIALS, "levels": "learnability"},
    "accel": {**_DIALS, "levels": {"type": "accel", "buffer": 2}},
    "sfl": {**_DIALS, "levels": {"type": "sfl", "candidates": 2, "keep": 1}},
    "watch": {"steps": 4, "watch": {"window": 2, "scores": {"watch_scorers:Variety": {}}}},
    "pictures": {**_ZOOM, "groups": 2},
    "workers": {"workers": 1, "max_staleness": 1},
}
_SMALL = {
    "env": "Pixelis/SizeCompare-v0",
    "env_kwargs": {"reader": "truth", "max_turns": 3},
    **{
        "difficulty": 0,
        "action_kwargs": {"grid": 2},
        "channels": 2,
        "features": 8,
        "hidden": 16,
        "n_envs": 2,
    },
    **{"batch_size": 6, "steps": 2, "eval_episodes": 0},
}
_AGENTS = (
    {"type": "sb3-ppo", "n_steps": 6, "epochs": 1},
    {
        "type": "sb3-dqn",
        "n_steps": 6,
        "train_every": 3,
        "learning_starts": 6,
        "buffer_size": 40,
        "exploration_steps": 30,
    },
    {"type": "sb3-grpo", "epochs": 1, "groups": 1, "group_size": 4},
)


def every_run(model: Path, folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the name and the rows of each run.

    Args:
        model: a tiny model's folder.
        folder: where runs go.
    """
    base = {"eval_episodes": 0, "steps": 2, "model": str(model), "max_new_tokens": 2, "lr": 0.003}
    played = {**base, "env": "toy_env:Toy/Echo-v0", "groups": 4, "group_size": 4}
    for name, more in GRPO.items():
        config = TrainConfig(**{**played, "beta": 0.01, **more, "output": str(folder / name)})
        yield name, read_metrics(TrainingRun.whole(config).folder.metrics)
    expert = ExpertConfig(**played, min_reward=-1.0, output=str(folder / "expert"))
    yield "expert iteration", read_metrics(ExpertRun.whole(expert).folder.metrics)
    sft = SftConfig(
        **{**base, **_ZOOM, "demonstrations": 4, "held_out": 0.5, "eval_every": 1, "batch_size": 2},
        curriculum={"stages": {"all": {"mix": {0: 1, 1: 1}}}},
        diversity={"measure": "ngrams", "weight": 0.1, "samples": 2, "prompts": 1},
        output=str(folder / "sft"),
    )
    yield "sft", read_metrics(SftRun.whole(sft).folder.metrics)
    for agent in _AGENTS:
        small = Sb3Config(**_SMALL, agent=agent, output=str(folder / str(agent["type"])))
        yield str(agent["type"]), read_metrics(Sb3Run.whole(small).folder.metrics)
