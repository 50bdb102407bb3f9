"""Which id belongs to which name: WebBrowse apart.

What the first training leaves open is copying: the model says the right name and then another element's id,
where names of several words stand in a list, and answers from another row of a table. Demonstrations show
that once or twice an episode, so drills show it for everything on a page, and for lists in which names differ
in one word. Muon takes the inner matrices; the other environments go along, so that nothing is forgotten.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from transformers import AutoTokenizer

from pixelis_mini import collect, train
from pixelis_mini.list_drills import lists, words_of
from pixelis_mini.web_drills import drills_of

WORK = "web_again"
SEED = 30_000_000
"""First reset seed of the episodes, which no earlier stage has played."""


@dataclass(frozen=True)
class WebSettings:
    """How much is shown, and how long it is learnt.

    Attributes:
        episodes: of WebBrowse, each also written with other names.
        code: episodes of CodeProblem, of those that the first stage wrote.
        tweet: of TweetReply, likewise.
        drills: of pages of the first stage's episodes.
        lists: drills of lists.
        steps: of training, 4,096 tokens each.
        half: see `train.TrainSettings.half`.
    """

    episodes: int = 6000
    code: int = 3000
    tweet: int = 10_000
    drills: int = 8000
    lists: int = 8000
    steps: int = 2300
    half: bool = False


HABITS = WebSettings(episodes=2000, code=3000, tweet=5000, drills=0, lists=0, steps=400, half=True)
"""Demonstrations alone, by which a model that plays already takes up other habits."""


def teach_web(
    source: Path, work: Path, output: Path, settings: WebSettings, report: Callable[[str], None] = print
) -> None:
    """Go on with the model in ``source`` and write it to ``output``; the same folder may be both.

    Args:
        source: an ordinary Hugging Face folder.
        work: with ``code.jsonl`` and ``tweet.jsonl``; gets a folder of its own for this stage.
        output: made if it is not there.
        settings: see there.
        report: is told how it goes.
    """
    folder = work / WORK
    (folder / "tokenizer").mkdir(parents=True, exist_ok=True)
    for name in train.TOKENIZER_FILES:
        shutil.copyfile(source / name, folder / "tokenizer" / name)
    seen = collect.texts_of(work / "web.jsonl")
    texts = {
        "web": [
            *collect.played_texts(collect.play_web, range(SEED, SEED + settings.episodes)),
            *drills_of(seen[: settings.drills]),
            *lists(words_of(seen), settings.lists),
        ],
        "code": collect.texts_of(work / "code.jsonl")[: settings.code],
        "tweet": collect.texts_of(work / "tweet.jsonl")[: settings.tweet],
    }
    collect.write_tokens(folder, AutoTokenizer.from_pretrained(source), texts, collect.KINDS)
    plan = train.TrainSettings(
        steps=settings.steps,
        minutes=float("inf"),
        batch_tokens=4096,
        learning_rate=6e-4,
        muon=2.0,
        warm_up=50,
        start=str(source),
        report_every=50,
        half=settings.half,
    )
    train.train(folder, output, plan, report)
