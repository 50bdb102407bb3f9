"""Letting a player play what a plan says, whoever the player is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.agents.evaluation.plan import Plan

if TYPE_CHECKING:
    from pixelis.agents.episodes.episode import Episode
    from pixelis.agents.evaluation.players import Player
    from pixelis.agents.evaluation.settings import EvaluationSettings
    from pixelis.agents.runs.evaluate import Listener


def modes_of(player: Player, mode: str) -> list[str]:
    """Return how a player plays where ``mode`` is asked for: scripted players and DQN have one way alone."""
    from pixelis.agents.episodes.function_agent import FunctionAgent

    if isinstance(player, str | FunctionAgent):
        return ["scripted"]
    known = getattr(player, "modes", ("greedy", "sampled"))
    return list(known) if mode == "both" or mode not in known else [mode]


def play_plan(
    player: Player,
    plan: Plan,
    mode: str,
    split: str,
    episodes: int,
    *,
    batch_size: int,
    seed: int,
    listener: Listener | None = None,
) -> list[Episode]:
    """Return one episode a task, those of the first difficulty first.

    Args:
        player: who plays.
        plan: what is played.
        mode: ``greedy``, ``sampled`` or ``scripted``.
        split: which tasks.
        episodes: how many.
        batch_size: episodes that a language model plays at the same time.
        seed: decides what a sampling model says.
        listener: is told of the episodes.

    Raises:
        EpisodesFailedError: no episode could be played to its end.
    """
    from pixelis.agents.endpoint.agent import EndpointAgent
    from pixelis.agents.episodes.episode_runner import EpisodeRequest
    from pixelis.agents.episodes.function_agent import FunctionAgent
    from pixelis.agents.models.policy import Policy
    from pixelis.agents.runs.evaluate import AtOnce, Taken, play

    seeds, played = plan.env.held_out_seeds(episodes), []
    for number, difficulty in enumerate(plan.difficulties):
        options = plan.env.options(split) | ({} if difficulty is None else {"difficulty": difficulty})
        chosen = seeds[number :: len(plan.difficulties)]
        if not chosen:
            continue
        if isinstance(player, EndpointAgent | FunctionAgent):
            requests = [
                EpisodeRequest(each, group, 0, options, plan.pictures) for group, each in enumerate(chosen)
            ]
            taken = Taken(f"the evaluation of {player.base_name}", listener)
            if isinstance(player, FunctionAgent):
                played += player.play(requests, plan.env.make, taken.add)
            else:
                how = plan.sampling(mode)
                told = {"rng_seed": seed, "on_episodes": taken.add}
                played += player.play(requests, plan.env.make, how, at_once=batch_size, **told)
            taken.all()
            continue
        if not isinstance(player, Policy | str):
            from pixelis.agents.sb3.run import play_small  # needs stable-baselines3

            played += play_small(player, chosen, options, greedy=mode == "greedy", listener=listener)
            continue
        found, _ = play(
            player,
            plan.env.make,
            chosen,
            settings=plan.sampling(mode),
            options=options,
            at_once=AtOnce(batch_size, pictured=len(chosen) * plan.pictures),
            rng_seed=seed,
            listener=listener,
        )
        played += found
    return played


def play_asked(
    player: Player, plan: Plan, mode: str, settings: EvaluationSettings, listener: Listener | None = None
) -> list[Episode]:
    """Return what `play_plan` does, of the tasks that a command's settings ask for."""
    return play_plan(
        player,
        plan,
        mode,
        settings.split,
        settings.episodes,
        batch_size=settings.batch_size,
        seed=settings.seed,
        listener=listener,
    )
