"""The commands: train, evaluate, play, export. The files in ``scripts/`` only call the ``main`` of each."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pixelis.cli.interrupts import INTERRUPTED, interruptible
from pixelis.errors import EndpointError, OutputError, PixelisError, RewardError, TrainingError, UserCodeError

USER_MISTAKE, FAILED = 2, 1
ALARMED = 3
"""Exit code of a training that an alarm has ended (``on_alarm: stop``)."""
SCRIPTS = {
    "train_agent.py": "train",
    "launch_rft_training.sh": "launch",
    "train_sft.py": "sft",
    "expert_iteration.py": "expert",
    "evaluate_agent.py": "evaluate",
    "compare_models.py": "compare",
    "play.py": "play",
    "replay.py": "replay",
    "launch_monitor.py": "monitor",
    "analyze_trajectories.py": "analyze",
    "export_model.py": "export",
    "verify_solutions.py": "verify",
    "split_data.py": "split-data",
    "train_tweet_reward.py": "tweet-reward",
    "analyse_lora.py": "analyse-lora",
}
"""File of ``scripts/`` → the word of ``pixelis`` that does the same."""
_SCRIPT = re.compile(rf"(?<![\w/.])(?:python )?(?:scripts/)?({'|'.join(map(re.escape, SCRIPTS))})(?!:\d)")


def run_command(command: Callable[[Sequence[str]], int], arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; an error raised on purpose is one line, no stack trace.

    Args:
        command: takes the command-line words, returns an exit code.
        arguments: those words; ``sys.argv[1:]`` by default.
    """
    try:
        with interruptible():
            return command(sys.argv[1:] if arguments is None else arguments)
    except PixelisError as error:
        log = error.log if isinstance(error, UserCodeError) else None
        where = f"; the traceback is in {log}" if log else ""
        print(in_words_of_caller(f"error: {' '.join(str(error).split())}{where}"), file=sys.stderr)
        failed = isinstance(error, (OutputError, TrainingError, UserCodeError, RewardError, EndpointError))
        return FAILED if failed else USER_MISTAKE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        sys.stderr.close()
        return FAILED


def called_as(program: str) -> list[str]:
    """Return the words that called this command, such as ``pixelis train``.

    Args:
        program: the name to give where there is none, as in a test.
    """
    path = Path(sys.argv[0] or program)
    if path.stem == "pixelis" and len(sys.argv) > 1:
        return ["pixelis", sys.argv[1]]
    if path.name == "__main__.py" and path.parent.name == "pixelis" and len(sys.argv) > 1:
        return ["python", "-m", "pixelis", sys.argv[1]]
    return ["python", str(sys.argv[0] or program)]


def in_words_of_caller(text: str) -> str:
    """Return what a command says, with its scripts' names as whoever called it knows them.

    Help and messages name the files of ``scripts/``; to whom has typed ``pixelis`` those are its words.
    """
    path = Path(sys.argv[0])
    if path.stem != "pixelis" and path.parts[-2:] != ("pixelis", "__main__.py"):
        return text
    return _SCRIPT.sub(lambda found: f"pixelis {SCRIPTS[found[1]]}", text)
