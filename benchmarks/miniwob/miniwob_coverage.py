"""Which MiniWoB++ tasks the scripted solvers, which read observations alone, solve through ids and tools.

    python benchmarks/miniwob/miniwob_coverage.py [--seeds 5] [--first 0] [--tasks click-test login-user]

prints one line a task (solved, played, tools used) and a summary; docs/reference/web_miniwob.md has the
table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from miniwob_player import NotThere, Player
from miniwob_table import SOLVERS

from pixelis.envs.web.miniwob.env import MiniWoBEnv, miniwob_tasks


def play_task(task: str, seeds: range) -> tuple[int, str]:
    """Return how many seeds were solved, and the tools that were called."""
    env = MiniWoBEnv(task=task, max_turns=200, page_tokens=1600)
    solved, tools = 0, dict[str, None]()
    for seed in seeds:
        player = Player(env, seed)
        try:
            SOLVERS[task](player)
        except (NotThere, StopIteration, IndexError, ValueError, KeyError) as error:
            player.errors.append(f"{type(error).__name__}: {str(error)[:80]}")
        solved += player.success
        tools.update(dict.fromkeys(result.tool for result in env.results))
    env.close()
    return solved, " ".join(tools)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Solve MiniWoB++ tasks by script.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tasks", nargs="*", default=list(SOLVERS))
    options = parser.parse_args(arguments)
    always = 0
    for task in options.tasks:
        solved, tools = play_task(task, range(options.first, options.first + options.seeds))
        always += solved == options.seeds
        print(f"| {task} | {solved}/{options.seeds} | {tools} |", flush=True)
    without = sorted(set(miniwob_tasks()) - set(SOLVERS))
    print(
        f"solved every time: {always} of {len(options.tasks)} that have a solver, of {len(miniwob_tasks())}"
    )
    print(f"no solver: {', '.join(without)}")


if __name__ == "__main__":
    main()
