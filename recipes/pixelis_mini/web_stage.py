"""Which id belongs to which name: WebBrowse apart, after the other environments.

What the first training leaves open is copying: the model says the right name and then another element's id,
where names of several words stand in a list, and answers from another row of a table. Ordinary demonstrations
teach it, in a few hundred steps of Muon on the inner matrices; the other environments go along, so that
nothing is forgotten.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from transformers import AutoTokenizer

from pixelis_mini import collect, train

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
        steps: of training, 4,096 tokens each.
    """

    episodes: int = 4000
    code: int = 4000
    tweet: int = 12_000
    steps: int = 500


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
    texts = {
        "web": collect.played_texts(collect.play_web, range(SEED, SEED + settings.episodes)),
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
    )
    train.train(folder, output, plan, report)
