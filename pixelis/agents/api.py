"""Training and evaluating from Python: the same runs, folders and numbers as by the command ``pixelis``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pixelis.agents.episodes.function_agent import FunctionAgent
from pixelis.agents.evaluation.plan import plan_for
from pixelis.agents.evaluation.players import Loading, Player, find_player
from pixelis.agents.evaluation.playing import modes_of, play_plan
from pixelis.agents.models.named_models import CHOOSE, default_model
from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.callbacks import Callback, check_callback
from pixelis.agents.runs.evaluate import Evaluation, summarise
from pixelis.agents.runs.run import Run
from pixelis.agents.settings.endpoint import EndpointSettings
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.vote import read_vote
from pixelis.envs.rows.env import ENV_ID, RowReward, Rows, RowsEnv
from pixelis.envs.rows.rows import read_rows, write_rows
from pixelis.errors import ConfigError, shown
from pixelis.user_code import GIVEN, give, load_function, name_of_function

_ROWS_FILE = "rows.jsonl"


def train(
    *,
    env: str | None = None,
    rows: Rows | None = None,
    reward: RowReward | str | None = None,
    resume: str | Path | None = None,
    on_step: Callback | None = None,
    on_evaluation: Callback | None = None,
    **settings: Any,
) -> Run[Any, Any]:
    """Do a whole run: evaluate, train until the configured end, evaluate again.

    Either in an environment, or on rows of your own with a function that says what a reply is worth::

        run = train(env="Pixelis/ZoomRead-v0", minutes=5)
        run = train(model="smollm2", rows=[{"prompt": "2 + 2 = ", "answer": "4"}, ...],
                    reward=lambda row, text: float(row["answer"] in text))

    Args:
        env: Gymnasium id of the environment; the default of the settings where there are no rows.
        rows: a list of dicts with ``prompt``, a JSONL or CSV file, or a ``datasets.Dataset``; see `RowsEnv`.
            What is no file is kept in the run folder.
        reward: with rows, unless members vote (``rewards={"vote": {}}``): ``reward(row, text)``, a finite
            number; 1 or more is a success. Also as ``module:name``.
        resume: folder of a run to go on with, or one of its checkpoints. Its settings hold where none are
            given; a function that cannot be imported (a lambda) must be given again.
        on_step: is called after each training step with its metrics; where it returns True, training ends
            there and is evaluated.
        on_evaluation: likewise, after the steps with an evaluation (``eval_every``); see `EarlyStopping`.
        settings: any setting of `TrainConfig` (or, with ``agent="sb3-ppo"`` and kin, of `Sb3Config`), such as
            ``model``, ``steps``, ``minutes``, ``groups``, ``lr``, ``seed``, ``output``. A function in
            ``rewards`` is a reward term.

    Returns:
        The run, closed: ``folder``, ``policy``, ``evaluations`` (phase → `Evaluation` rows) and ``metrics``.

    Raises:
        ConfigError: a setting is wrong; rows without a reward, or the other way round; ``on_evaluation``
            without an evaluation.
        DatasetError: a row is wrong.
        PixelisError: see `Run.start`, `Run.resume`.
    """
    if "rewards" in settings:
        settings["rewards"] = _named_terms(settings["rewards"])
    if resume is not None:
        if env is not None or rows is not None:
            raise ConfigError("a run that is resumed has its env and rows; leave env= and rows= out")
        values = {**settings_of(resume), **settings}
        if reward is not None:
            _give_again(values, reward)
        kind, config = _kind_of_run(values)
        _check_callbacks(config, on_step, on_evaluation)
        run = kind.resume(resume, config)
    else:
        if rows is not None or reward is not None:
            settings |= _on_rows(rows, reward, env, settings)
        elif env is not None:
            settings["env"] = env
        kind, config = _kind_of_run(settings)
        _check_callbacks(config, on_step, on_evaluation)
        run = kind.start(config)
    with run:
        run.complete(on_step, on_evaluation)
    return run


def evaluate(
    agent: Policy | str | Callable[..., Any],
    *,
    env: str | None = None,
    rows: Rows | None = None,
    reward: RowReward | str | None = None,
    episodes: int = 200,
    mode: Literal["greedy", "sampled"] = "greedy",
    split: Literal["train", "test"] = "test",
    **settings: Any,
) -> Evaluation:
    """Play tasks that are not trained on, and say how many were solved.

    Args:
        agent: a policy; a function of your own from observation and info to a turn, or a class whose objects,
            one an episode, have such an ``act``; or what the command takes: a run folder, a model's folder,
            name or hub id, a model that others serve (``openai:MODEL@URL``), ``module:function``, a scripted
            player of the environment (``oracle``, ``random``).
        env: Gymnasium id; a run brings its own.
        rows: see `train`.
        reward: see `train`.
        episodes: how many tasks, one episode each.
        mode: how a model chooses tokens.
        split: which tasks.
        settings: ``env_kwargs``, ``difficulty``, ``max_new_tokens``, ``temperature``, ``top_p``, ``dtype``,
            ``quantization`` (each None: as the run had it), ``device``, ``batch_size``, ``seed``, and
            ``endpoint``, how a model at an address is asked (a dict of `EndpointSettings`).

    Raises:
        ConfigError: a setting is wrong, or no environment is known.
        PixelisError: the agent cannot be loaded, or no episode could be played to its end.
    """
    if rows is not None or reward is not None:
        given = {"rows": rows, "reward": reward}
        settings["env_kwargs"] = {
            **settings.get("env_kwargs", {}),
            **{name: value for name, value in given.items() if value is not None},
        }
        if rows is not None:
            env = _env_of_rows(env)
    try:
        asked = _Asked(env=env, **settings)
    except TypeError as error:
        raise ConfigError(f"evaluate: {error}") from None
    if isinstance(episodes, bool) or not isinstance(episodes, int) or episodes < 1:
        raise ConfigError(f"episodes must be an integer of at least 1, got {episodes!r}")
    named = isinstance(agent, str)
    plan = plan_for([agent] if named else [], asked)
    endpoint = EndpointSettings.from_mapping(asked.endpoint)
    loading = Loading(asked.device, plan.dtype, plan.quantization, endpoint)
    player = find_player(agent, plan.env, loading) if named else _player_of(agent)
    (how,) = modes_of(player, mode)
    try:
        played = play_plan(player, plan, how, split, episodes, batch_size=asked.batch_size, seed=asked.seed)
    finally:
        close = getattr(player, "close", None) if named else None
        if close is not None:  # an SB3 agent's environments, connections
            close()
    name = agent if isinstance(agent, str) else getattr(player, "base_name", "")
    return summarise(played, agent=name, mode=how)


@dataclass(frozen=True)
class _Asked:
    """What `evaluate` was asked for; None: as the run had it."""

    env: str | None = None
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    difficulty: int | None = None
    max_new_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    dtype: str | None = None
    quantization: str | None = None
    device: str = "auto"
    batch_size: int = 32
    seed: int = 0
    endpoint: Mapping[str, Any] = field(default_factory=dict)


def _player_of(agent: Any) -> Player:
    if isinstance(agent, Policy) or hasattr(agent, "play"):
        return agent
    if not callable(agent):
        hint = "; give the class, an object is made for each episode" if hasattr(agent, "act") else ""
        raise ConfigError(
            f"agent must be a policy, a name, a function or a class with act, got {shown(agent, 60)}{hint}"
        )
    return FunctionAgent(agent, getattr(agent, "__name__", type(agent).__name__))


def _check_callbacks(config: Any, on_step: Callback | None, on_evaluation: Callback | None) -> None:
    """Refuse a function that could not be called, or never would be."""
    check_callback("on_step", on_step)
    check_callback("on_evaluation", on_evaluation)
    if on_evaluation is not None and not getattr(config, "eval_every", 0):
        hint = "set eval_every" if hasattr(config, "eval_every") else f"{config.agent} has none"
        raise ConfigError(
            f"on_evaluation is called at the evaluations while it trains; {hint}, or give on_step"
        )


def _kind_of_run(values: Mapping[str, Any]) -> tuple[type[Run[Any, Any]], Any]:
    """Return the class of run for these settings, and the settings, checked."""
    if "agent" not in values:
        return TrainingRun, TrainConfig.from_mapping(values)
    from pixelis.agents.sb3.config import Sb3Config
    from pixelis.agents.sb3.run import Sb3Run

    return Sb3Run, Sb3Config.from_mapping(values)


def _on_rows(rows: Any, reward: Any, env: str | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a new run on rows; what is no file is written into its folder.

    Everything that can be wrong with rows, reward and settings is told before.
    """
    votes = read_vote(settings.get("rewards") or {}) is not None
    if rows is None or (reward is None and not votes):
        raise ConfigError(
            f"{'rows' if rows is None else 'reward'} is missing: own rows need a function, "
            "train(rows=[{'prompt': …}], reward=lambda row, text: …), or a vote, rewards={'vote': {}}"
        )
    function = None if reward is None else load_function(reward, "reward")
    in_file, found = isinstance(rows, str | Path), read_rows(rows)
    RowsEnv(rows=[row.values for row in found], reward=function).check_reward()
    kwargs = {
        **settings.get("env_kwargs", {}),
        "rows": str(Path(rows).resolve()) if in_file else "",
        "reward": reward if function is None or isinstance(reward, str) else name_of_function(function),
    }
    chosen = {**settings, "env": _env_of_rows(env), "env_kwargs": kwargs}
    if not in_file:
        config = TrainConfig.from_mapping(chosen)
        if config.model == CHOOSE:
            config = config.with_values(model=default_model(None, shows_images=False))
        output = Path(TrainingRun.with_output(config).output)
        RunFolder(output).check_free()
        write_rows(output / _ROWS_FILE, found)
        kwargs["rows"], chosen["output"] = str((output / _ROWS_FILE).resolve()), str(output)
    return chosen


def _env_of_rows(env: str | None) -> str:
    if env not in (None, ENV_ID):
        raise ConfigError(f"rows are played in {ENV_ID}, got env {env!r} too; leave one of them out")
    return ENV_ID


def _give_again(values: Mapping[str, Any], reward: Any) -> None:
    """Put a function in the place of the one that the settings of a run name."""
    known_as = (values.get("env_kwargs") or {}).get("reward")
    if values.get("env") != ENV_ID or not isinstance(known_as, str):
        raise ConfigError("reward= goes with rows, and this run has none; leave it out")
    if known_as.startswith(f"{GIVEN}:"):
        give(known_as, load_function(reward, "reward"))
    elif reward not in (known_as, load_function(known_as, "reward")):
        raise ConfigError(f"the run's reward is {known_as}; leave reward= out, or start a new run")


def _named_terms(rewards: Any) -> Any:
    """Return ``rewards`` with functions as their names, so that they can be written down."""
    if not isinstance(rewards, Mapping):
        return rewards
    named = {}
    for key, entry in rewards.items():
        if callable(entry):
            entry = {"function": entry}
        if isinstance(entry, Mapping) and callable(entry.get("function")):
            entry = {**entry, "function": name_of_function(entry["function"])}
        named[key] = entry
    return named
