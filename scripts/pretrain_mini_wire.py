"""Train an adapter that plays WireTrace by words: ``python scripts/pretrain_mini_wire.py --output adapter``.

pixelis-mini-tools stays as it is: an adapter on it learns from demonstrators of mixed quality, of whose
episodes nothing is rendered. ``docs/reference/pixelis_mini_wire.md`` has what came of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from pixelis_mini.habits import CAREFUL
from pixelis_mini.tokenizer import as_text
from pixelis_mini_tools.wire import rendered
from pixelis_mini_tools.wire_measure import right_steps
from pixelis_mini_tools.wire_words import from_the_port_on, lookups, unrendered

from pixelis.agents import Episode, LoraSettings, Policy
from pixelis.agents.episodes.episode import Segment
from pixelis.agents.models.chat import ChatFormat
from pixelis.agents.models.named_models import TOOLS_NAME
from pixelis.agents.sft import SftSettings, SftStep, sft
from pixelis.agents.sft.demonstrate import add_observation, add_turn

FIRST_SEED = 1_000_000
"""Of the demonstrations."""
WHOLE = 2
"""One in so many episodes is whole, the others begin where the port was found: half as many tokens."""
DRILL = 4
"""One in so many is a drill in their place, of those that would be whole."""


def main() -> None:
    """Make the demonstrations, learn from each once, and write the adapter."""
    parser = argparse.ArgumentParser(
        description="Train pixelis-mini-wire.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("runs/pixelis-mini-wire"), help="its folder")
    parser.add_argument(
        "--start", default=TOOLS_NAME, help="an adapter to go on with, or what a new one is on"
    )
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=4, help="episodes a step")
    parser.add_argument("--learning-rate", type=float, default=4e-3, help="at its peak")
    parser.add_argument("--rank", type=int, default=16, help="of a new adapter")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="of the demonstrations")
    parser.add_argument("--play", type=int, help="only let care play so many rendered tasks, and say how")
    parser.add_argument("--measure", type=int, help="only say which steps of so many episodes are right")
    parser.add_argument("--reader", choices=("ocr", "truth"), default="truth", help="of --play")
    arguments = parser.parse_args()
    if arguments.play:
        play(arguments.play, arguments.reader)
        return
    if arguments.measure:
        for name, (right, of) in right_steps(Policy.load(arguments.start), range(arguments.measure)).items():
            print(f"{name}: {right / of:.2f} of {of} right")
        return
    policy = Policy.load(arguments.start, lora=LoraSettings(arguments.rank, 2 * arguments.rank))
    count = arguments.steps * arguments.batch_size
    episodes = demonstrations(policy.chat, range(arguments.first_seed, arguments.first_seed + count))
    print(f"{len(episodes)} episodes of {sum(map(len, episodes)) / len(episodes):.0f} tokens", flush=True)
    started = time.monotonic()

    def report(step: SftStep) -> None:
        if step.step % 10 == 9:
            minutes = (time.monotonic() - started) / 60
            print(f"step {step.step + 1}, {minutes:.1f} min: loss {step.loss:.4f}", flush=True)

    # Two rows a pass: episodes have 50 to 1,200 tokens, and the shorter are filled up to the longest.
    settings = SftSettings(
        batch_size=arguments.batch_size, learning_rate=arguments.learning_rate, micro_batch_size=2
    )
    sft(policy, episodes, settings, report)
    policy.save_adapter(arguments.output)


def play(count: int, reader: str) -> None:
    """Print how care plays tasks of the test split, READ_TEXT by ``reader``."""
    played = list(rendered(range(count), CAREFUL, reader, "test"))
    tokenizer = Policy.load(TOOLS_NAME).tokenizer
    lengths = [len(tokenizer(as_text(each.turns))["input_ids"]) for each in played]
    said = max(len(tokenizer(turn)["input_ids"]) for each in played for _, turn in each.turns)
    turns = [len(each.turns) for each in played]
    right = sum(bool(each.success) for each in played)
    print(
        f"{right} of {count} right, {sum(lengths) / count:.0f} tokens (at most {max(lengths)}), "
        f"{sum(turns) / count:.1f} turns (at most {max(turns)}), at most {said} tokens a turn"
    )


def demonstrations(chat: ChatFormat, seeds: range) -> list[Episode]:
    """Return an episode for each seed, some without their beginning, and print what each habit solves."""
    episodes, shown, solved = [], Counter[str](), Counter[str]()
    for played, seed in zip(unrendered(seeds), seeds, strict=True):
        turns = played.turns if seed % WHOLE == 0 else from_the_port_on(played.turns)
        if seed % DRILL == 0:
            episodes.append(drill(chat, seed))
        if seed % DRILL == 0 or not turns:
            continue
        episode = Episode("", seed=seed, group=seed, member=0)
        for read, said in turns:
            add_observation(chat, episode, read)
            add_turn(chat, episode, said)
        episodes.append(episode)
        shown[played.habit] += 1
        solved[played.habit] += bool(played.success)
    print(", ".join(f"{habit} {solved[habit] / n:.2f} of {n}" for habit, n in shown.items()), flush=True)
    return episodes


def drill(chat: ChatFormat, seed: int) -> Episode:
    """Return look-ups as one turn, of which the lines to look in are given and what is found is said."""
    asked, steps = lookups(np.random.default_rng([seed, 9]))
    episode = Episode("", seed=seed, group=seed, member=0)
    add_observation(chat, episode, asked)
    for step in steps:
        for text, make in zip(step, (Segment.given, Segment.written), strict=True):
            tokens = np.array(chat.tokenizer(text, add_special_tokens=False)["input_ids"])
            episode.segments.append(make(tokens, text=text))
    return episode


if __name__ == "__main__":
    main()
