"""``scripts/evaluate_agent.py``: play held-out tasks with any agent, print and save a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pixelis.agents.named_models import NAMED_MODELS
from pixelis.agents.options import check_options, option
from pixelis.agents.run_settings import MODEL, TASK
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console
from pixelis.cli.players import Loading, find_player
from pixelis.errors import ConfigError, suggest

if TYPE_CHECKING:
    from pixelis.agents.evaluate import Evaluation
    from pixelis.agents.policy import Policy
    from pixelis.agents.sb3.agent import Sb3Agent
    from pixelis.agents.task_env import TaskEnv

PROGRAM = "evaluate_agent.py"
DESCRIPTION = """\
Play held-out tasks with one or more agents and print their success with a 95 % interval.
An agent is a scripted policy of the env (oracle, random, nothing, ...), a run folder of train_agent.py,
a model or adapter folder, a hub id, pixelis-tiny or smollm2."""
EXAMPLES = """\
examples:
  evaluate_agent.py --agent oracle,random,nothing
  evaluate_agent.py --agent runs/zoomread-pixelis-tiny-seed0 --episodes 500
  evaluate_agent.py --agent pixelis-tiny --mode sampled --difficulty 2"""


@dataclass(frozen=True)
class EvaluateSettings:
    """The flags of ``evaluate_agent.py``."""

    agent: str = option("Agent", "oracle", "who plays; several are separated by commas")
    mode: Literal["both", "greedy", "sampled"] = option("Agent", "both", "how a model chooses tokens")
    temperature: float = option("Agent", 1.0, "sampling temperature", "(0, 10]")
    top_p: float = option("Agent", 1.0, "nucleus sampling", "(0, 1]")
    max_new_tokens: int = option("Agent", 64, "longest turn, in tokens", "[1, inf)")

    env: str = option(TASK, "Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included")
    env_kwargs: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        TASK, dict, "keyword arguments for gym.make, e.g. --env-kwargs.max_turns 4"
    )
    difficulty: int | None = option(TASK, None, "the env's difficulty dial; none keeps the env's default")
    split: Literal["train", "test"] = option(TASK, "test", "which tasks")
    episodes: int = option(TASK, 200, "how many tasks, one episode each", "[1, inf)")
    seed: int = option(TASK, 0, "decides what a sampling model says", "[0, inf)")

    device: str = option(MODEL, "auto", "auto, cpu, cuda or cuda:N")
    dtype: Literal["float32", "bfloat16", "float16"] = option(MODEL, "float32", "type of the weights")
    quantization: Literal["none", "8bit", "4bit"] = option(
        MODEL, "none", "load the weights in fewer bits: bitsandbytes, CUDA only"
    )
    batch_size: int = option(MODEL, 32, "episodes a model plays at the same time", "[1, inf)")

    output: str | None = option(
        "Output", None, "JSON file for the table; none makes one under runs/evaluations/"
    )

    def __post_init__(self) -> None:
        """Check every field."""
        check_options(self)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_evaluate, words)


def _evaluate(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, EvaluateSettings, EXAMPLES).read(words)

    from pixelis.agents.evaluate import evaluation_table, oracle_gaps
    from pixelis.agents.task_env import TaskEnv

    options = {} if settings.difficulty is None else {"difficulty": settings.difficulty}
    env = TaskEnv.open(settings.env, settings.env_kwargs, options)
    names = [name.strip() for name in settings.agent.split(",") if name.strip()]
    if not names:
        raise ConfigError(
            f"--agent must name at least one agent.{suggest('', [*env.policies, *NAMED_MODELS])}"
        )
    loading = Loading(settings.device, settings.dtype, settings.quantization)
    agents = [(name, find_player(name, env, loading)) for name in names]
    rows = oracle_gaps([row for name, agent in agents for row in _rows(name, agent, env, settings)])
    console = open_console()
    console.print(evaluation_table(rows, title=f"{env.id}, {settings.split} tasks"))
    path = _save(rows, settings)
    console.print(f"saved as {path}", soft_wrap=True)
    return 0


def _rows(
    name: str, agent: Policy | Sb3Agent | str, env: TaskEnv, settings: EvaluateSettings
) -> list[Evaluation]:
    from pixelis.agents.evaluate import evaluate
    from pixelis.agents.policy import Policy
    from pixelis.agents.sampling import SamplingSettings

    if not isinstance(agent, Policy | str):
        return _rows_of_sb3(name, agent, env, settings)
    greedy = SamplingSettings(max_new_tokens=settings.max_new_tokens, greedy=True)
    sampled = SamplingSettings(settings.temperature, settings.top_p, settings.max_new_tokens)
    modes = {"greedy": [greedy], "sampled": [sampled], "both": [greedy, sampled]}[settings.mode]
    return [
        evaluate(
            agent,
            env.make,
            env.held_out_seeds(settings.episodes),
            settings=mode,
            options=env.options(settings.split),
            name=name,
            batch_size=settings.batch_size,
            rng_seed=settings.seed,
        )
        for mode in (modes[:1] if isinstance(agent, str) else modes)
    ]


def _rows_of_sb3(name: str, agent: Sb3Agent, env: TaskEnv, settings: EvaluateSettings) -> list[Evaluation]:
    from pixelis.agents.sb3.run import evaluate_agent

    seeds, options = env.held_out_seeds(settings.episodes), env.options(settings.split)
    modes = {"greedy": [True], "sampled": [False], "both": [True, False]}[settings.mode]
    try:
        return [evaluate_agent(agent, seeds, options, name=name, greedy=mode) for mode in modes]
    finally:
        agent.close()


def _save(rows: Sequence[Evaluation], settings: EvaluateSettings) -> Path:
    """Write the rows and the settings that made them; return the file.

    Raises:
        OutputError: it cannot be written.
    """
    from pixelis.agents.evaluation_file import write_evaluations

    words = f"{settings.env.rpartition('/')[2]}-{settings.agent}"
    default = Path("runs", "evaluations", f"{re.sub(r'[^A-Za-z0-9.]+', '-', words).strip('-').lower()}.json")
    path = Path(settings.output) if settings.output else default
    write_evaluations(path, {"rows": rows}, settings=asdict(settings))
    return path
