"""``scripts/compare_models.py``: two models on the same held-out tasks, and what one gains over the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pixelis.agents.options import check_options, option
from pixelis.agents.run_settings import MODEL, TASK
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console
from pixelis.cli.players import Loading, find_player, is_run
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from pixelis.agents.episode import Episode
    from pixelis.agents.paired import Comparison
    from pixelis.agents.policy import Policy
    from pixelis.agents.sb3.agent import Sb3Agent
    from pixelis.agents.task_env import TaskEnv

PROGRAM = "compare_models.py"
DESCRIPTION = """\
Let two models play the same held-out tasks and print what the second gains over the first: the difference of
their success rates with a 95 % interval for paired proportions and an exact test, and that of their rewards.
A model is a run folder, a model or adapter folder, a hub id, pixelis-tiny, smollm2 or a scripted policy."""
EXAMPLES = """\
examples:
  compare_models.py --b runs/zoomread-pixelis-tiny-seed0
  compare_models.py --a smollm2 --b runs/web-sft --difficulty 0,1 --output compared.json
  compare_models.py --a runs/web-sft/adapter --b runs/web --mode greedy"""
MODELS = "Models"
_TOKENS = 64


@dataclass(frozen=True)
class CompareSettings:
    """The flags of ``compare_models.py``."""

    a: str | None = option(MODELS, None, "the first; none: the model that the second was made from")
    b: str | None = option(MODELS, None, "the second, usually a run folder")
    mode: Literal["both", "greedy", "sampled"] = option(MODELS, "both", "how a model chooses tokens")
    temperature: float = option(MODELS, 1.0, "sampling temperature", "(0, 10]")
    top_p: float = option(MODELS, 1.0, "nucleus sampling", "(0, 1]")
    max_new_tokens: int | None = option(
        MODELS, None, "longest turn, in tokens; none: as the run had it, else 64", "[1, inf)"
    )

    env: str | None = option(TASK, None, "Gymnasium id of the environment; none: that of the run")
    env_kwargs: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        TASK, dict, "keyword arguments for gym.make, in place of those of the run"
    )
    difficulty: int | str | None = option(
        TASK, None, "difficulties, separated by commas, that tasks are of in turn; none: as the run had it"
    )
    split: Literal["train", "test"] = option(TASK, "test", "which tasks")
    episodes: int = option(TASK, 200, "how many tasks, one episode each", "[1, inf)")
    seed: int = option(TASK, 0, "decides what a sampling model says", "[0, inf)")

    device: str = option(MODEL, "auto", "auto, cpu, cuda or cuda:N")
    dtype: Literal["float32", "bfloat16", "float16"] | None = option(
        MODEL, None, "type of the weights; none: as the run had it, else float32"
    )
    batch_size: int = option(MODEL, 32, "episodes a model plays at the same time", "[1, inf)")

    output: str | None = option("Output", None, "JSON file for the tables and for how every task ended")

    def __post_init__(self) -> None:
        """Check every field."""
        check_options(self)


@dataclass(frozen=True)
class Plan:
    """What is played, when the settings of the runs have been looked at.

    Attributes:
        env: the environment.
        difficulties: those that tasks are of in turn; None: the environment's own.
        max_new_tokens: of a turn.
        dtype: of the weights.
    """

    env: TaskEnv
    difficulties: tuple[int | None, ...]
    max_new_tokens: int
    dtype: str


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_compare, words)


def _compare(words: Sequence[str]) -> int:
    settings = Arguments(PROGRAM, DESCRIPTION, CompareSettings, EXAMPLES).read(words)
    if settings.b is None:
        raise ConfigError("--b must name what is compared, e.g. a run folder")
    plan = make_plan(settings)
    second = find_player(settings.b, plan.env, Loading(settings.device, plan.dtype))
    name = settings.a or _base_of(settings.b, second)
    first = find_player(name, plan.env, Loading(settings.device, plan.dtype))

    from pixelis.agents.evaluate import evaluation_table, summarise
    from pixelis.agents.paired import compare

    rows, found, tasks = [], {}, []
    for mode in _modes(first, second, settings.mode):
        a, b = (_episodes(each, plan, mode, settings) for each in (first, second))
        for label, agent, played in ((name, first, a), (settings.b, second, b)):
            rows.append(summarise(played, agent=label, mode="scripted" if isinstance(agent, str) else mode))
        found[mode] = compare(a, b)
        tasks += [_task(mode, x, y) for x, y in zip(a, b, strict=True)]
    console = open_console()
    console.print(evaluation_table(rows, title=f"{plan.env.id}, {settings.split} tasks"))
    console.print(comparison_table(found, title=f"{settings.b} minus {name}, task by task"))
    if settings.output is not None:
        from pixelis.agents.evaluation_file import write_evaluations

        pairs = {mode: each.to_json() for mode, each in found.items()}
        chosen = {**asdict(settings), "a": name, "env": plan.env.id, "env_kwargs": dict(plan.env.kwargs)}
        write_evaluations(Path(settings.output), {"rows": rows}, pairs=pairs, settings=chosen, tasks=tasks)
        console.print(f"saved as {settings.output}", soft_wrap=True)
    return 0


def make_plan(settings: CompareSettings) -> Plan:
    """Return what is played: what the settings say, else what the runs were trained in.

    Raises:
        ConfigError: no environment is known, or the runs are of others than the one that is named.
        PixelisError: it cannot be made; see `TaskEnv.open`.
    """
    from pixelis.agents.saved_run import settings_of
    from pixelis.agents.task_env import TaskEnv

    runs = {name: settings_of(name) for name in (settings.a, settings.b) if name is not None and is_run(name)}
    env_id = _env_of(settings, runs)
    trained = runs.get(settings.b or "") or runs.get(settings.a or "") or {}
    difficulties = _difficulties(settings, trained)
    kwargs = {**(trained.get("env_kwargs") or {}), **settings.env_kwargs}
    tokens = settings.max_new_tokens or trained.get("max_new_tokens") or _TOKENS
    dtype = settings.dtype or trained.get("dtype") or "float32"
    options = [{} if each is None else {"difficulty": each} for each in difficulties]
    envs = [TaskEnv.open(env_id, kwargs, each) for each in options]  # all are tried before a model is loaded
    return Plan(envs[0], difficulties, int(tokens), str(dtype))


def _env_of(settings: CompareSettings, runs: Mapping[str, Mapping[str, Any]]) -> str:
    trained = {name: str(values["env"]) for name, values in runs.items() if values.get("env")}
    if settings.env is None and not trained:
        raise ConfigError("--env must be given: neither model is a run folder that knows its environment")
    env_id = settings.env or list(trained.values())[-1]
    for name, other in trained.items():
        if other != env_id:
            raise ConfigError(
                f"{name!r} was trained in {other}, and the comparison is in {env_id}; if that is meant, "
                "name its adapter folder in place of the run"
            )
    return env_id


def _difficulties(settings: CompareSettings, trained: Mapping[str, Any]) -> tuple[int | None, ...]:
    given = settings.difficulty if settings.difficulty is not None else trained.get("difficulty")
    if given is None:
        return (None,)
    try:
        found = tuple(int(part) for part in str(given).split(","))
    except ValueError:
        raise ConfigError(f"difficulty must be integers separated by commas, got {given!r}") from None
    if len(set(found)) < len(found):
        raise ConfigError(f"difficulty must name each difficulty once, got {given!r}")
    return found


def _base_of(name: str, player: Policy | Sb3Agent | str) -> str:
    from pixelis.agents.policy import Policy

    if isinstance(player, Policy) and player.has_adapter:
        return player.base_name
    if isinstance(player, Policy) and player.trained_from != player.base_name:
        return player.trained_from
    raise ConfigError(f"{name!r} is no adapter of another model, so --a must say what to compare it with")


def _modes(first: Any, second: Any, mode: str) -> tuple[str, ...]:
    if isinstance(first, str) and isinstance(second, str):
        return ("scripted",)
    return ("greedy", "sampled") if mode == "both" else (mode,)


def _episodes(
    player: Policy | Sb3Agent | str, plan: Plan, mode: str, settings: CompareSettings
) -> list[Episode]:
    """Return one episode a task, those of the first difficulty first."""
    from pixelis.agents.evaluate import play
    from pixelis.agents.policy import Policy
    from pixelis.agents.sampling import SamplingSettings
    from pixelis.agents.seat import EpisodeRequest

    sampling = SamplingSettings(settings.temperature, settings.top_p, plan.max_new_tokens)
    if mode == "greedy":
        sampling = SamplingSettings(max_new_tokens=plan.max_new_tokens, greedy=True)
    seeds, episodes = plan.env.held_out_seeds(settings.episodes), []
    for number, difficulty in enumerate(plan.difficulties):
        options = plan.env.options(settings.split)
        options |= {} if difficulty is None else {"difficulty": difficulty}
        chosen = seeds[number :: len(plan.difficulties)]
        if not chosen:
            continue
        if isinstance(player, Policy | str):
            size, seed = settings.batch_size, settings.seed
            episodes += play(
                player,
                plan.env.make,
                chosen,
                settings=sampling,
                options=options,
                batch_size=size,
                rng_seed=seed,
            )[0]
        else:
            requests = [EpisodeRequest(seed, group, 0, options) for group, seed in enumerate(chosen)]
            episodes += player.play(requests, greedy=mode == "greedy")
    return episodes


def _task(mode: str, a: Episode, b: Episode) -> dict[str, Any]:
    ends = [{"success": bool(x.success), "reward": x.reward, "valid": x.valid_for_training} for x in (a, b)]
    task = (a.info.get("task") or {}).get("id")
    return {"mode": mode, "seed": a.seed, "task": task, "a": ends[0], "b": ends[1]}


def comparison_table(found: Mapping[str, Comparison], title: str = "") -> Table:
    """Return a table for `rich.print`, a row a mode."""
    from rich.table import Table

    table = Table(title=title or None)
    heads = ("mode", "pairs", "both", "only first", "only second", "neither")
    for head in (*heads, "success (95 %)", "p (McNemar)", "reward (95 %)"):
        table.add_column(head, justify="left" if head == "mode" else "right", overflow="fold")
    for mode, one in found.items():
        pairs = f"{one.pairs}" + (f" (+{one.left_out} failed)" if one.left_out else "")
        counts = map(str, (one.both, one.only_a, one.only_b, one.neither))
        gain, paid = (
            _gain(one.difference, one.interval),
            _gain(one.reward_difference, one.reward_interval),
        )
        table.add_row(mode, pairs, *counts, gain, f"{one.p_value:.2g}", paid)
    return table


def _gain(value: float, interval: tuple[float, float]) -> str:
    return f"{value:+.3f} ({interval[0]:+.3f} to {interval[1]:+.3f})"
