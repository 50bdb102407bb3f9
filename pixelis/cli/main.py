"""The command ``pixelis``: a word for each thing that a person does; ``pixelis train --help`` tells flags.

Each word calls the ``main`` that a file of ``scripts/`` calls too; it is imported when the word is used.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from pixelis.errors import suggest

USER_MISTAKE, INTERRUPTED, READER_GONE = 2, 130, 141


class Subcommand(NamedTuple):
    """A word of the command line.

    Attributes:
        module: whose ``main`` takes the words that follow, and returns an exit code.
        summary: what it does, for the list of commands.
    """

    module: str
    summary: str


COMMANDS: Mapping[str, Subcommand] = {
    "train": Subcommand(
        "pixelis.cli.train", "train an agent: GRPO or PPO for language models, or stable-baselines3"
    ),
    "sft": Subcommand("pixelis.cli.sft", "supervised warm start on demonstrations or chats"),
    "launch": Subcommand(
        "pixelis.cli.launching.launch", "check this machine, train, and show it: monitor and TensorBoard"
    ),
    "pipeline": Subcommand(
        "pixelis.cli.launching.pipeline", "several commands in one file: SFT, GRPO, evaluate, export"
    ),
    "expert": Subcommand("pixelis.cli.expert", "expert iteration: play, keep what went well, learn it"),
    "evaluate": Subcommand("pixelis.cli.evaluate", "success of agents on held-out tasks, with intervals"),
    "compare": Subcommand("pixelis.cli.compare", "two models on the same tasks, task by task"),
    "play": Subcommand("pixelis.cli.play", "play an environment by hand"),
    "enjoy": Subcommand("pixelis.cli.enjoy", "watch an agent play, turn by turn or as a film"),
    "zoo": Subcommand("pixelis.cli.zoo", "trained agents that a command makes here, with card and curve"),
    "replay": Subcommand(
        "pixelis.cli.replay", "look at a run's episodes; prove recorded ones, or score them again"
    ),
    "analyze": Subcommand(
        "pixelis.cli.analyze", "what the episodes of runs say: where they are lost, what differs"
    ),
    "monitor": Subcommand("pixelis.cli.monitor", "training runs in the browser, also while they go on"),
    "export": Subcommand("pixelis.cli.export", "a run's model as a Hugging Face folder with its card"),
    "new": Subcommand("pixelis.cli.scaffold.new", "write a package of your own: env, tool, reward or loss"),
    "check-env": Subcommand("pixelis.envs.check.check", "hold an environment to the contract"),
    "verify": Subcommand("pixelis.cli.verify_solutions", "judge a file of code samples, with Pass@k"),
    "split-data": Subcommand("pixelis.cli.split_data", "split tweets for SFT, GRPO and evaluation"),
    "tweet-reward": Subcommand("pixelis.cli.tweet_reward", "train a reward model of replies"),
    "analyse-lora": Subcommand("pixelis.cli.analyse_lora", "what an adapter has learnt, layer by layer"),
}


def run() -> NoReturn:
    """Run as a program of its own: Ctrl-C ends it quietly, also while it is imported and while it ends."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        if not _reader_is_gone():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        code = READER_GONE
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end
    sys.exit(code)


def _reader_is_gone() -> bool:
    """Whether whoever reads what is printed, such as ``head``, has read enough; else it was another pipe."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that the first word names; return its exit code."""
    words = sys.argv[1:] if words is None else words
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if words else USER_MISTAKE
    if words[0] == "--version":
        from importlib.metadata import version

        print(version("pixelis"))
        return 0
    if words[0] not in COMMANDS:
        known = suggest(words[0], COMMANDS)
        print(
            f"error: pixelis has no command {words[0]!r:.80}.{known}; `pixelis --help` lists all",
            file=sys.stderr,
        )
        return USER_MISTAKE
    return importlib.import_module(COMMANDS[words[0]].module).main(list(words[1:]))


def usage() -> str:
    """Return the list of commands."""
    rows = "\n".join(f"  {name:13} {command.summary}" for name, command in COMMANDS.items())
    return f"usage: pixelis COMMAND [flags]; pixelis COMMAND --help tells the flags\n\n{rows}"


if __name__ == "__main__":
    run()
