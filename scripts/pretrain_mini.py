"""Rebuild the shipped model ``pixelis-mini``: ``python scripts/pretrain_mini.py --output my-mini``.

Five stages, each written to ``--work`` so that the next can be run alone, the third on another machine too
(``python recipes/pixelis_mini/train.py`` imports nothing of pixelis):

1. play: demonstrators of mixed quality play the three text environments.
2. encode: the tokenizer is made of the episodes, and they become tokens.
3. train: next-token training from random weights.
4. web: which id belongs to which name of a page, taught apart.
5. topics: which words of a tweet belong to which topic, taught apart; an ordinary Hugging Face folder.

``--stage habits`` is none of them: a model that plays (``--start``) goes on, and takes up the habits
of demonstrations that are played anew.

See ``docs/reference/pixelis_mini.md`` for what it takes and gives.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from pixelis_mini import collect, train
from pixelis_mini.topics_stage import TopicSettings, teach_topics
from pixelis_mini.tweet_salad import Salad
from pixelis_mini.web_stage import HABITS, WebSettings, teach_web

from pixelis.agents.models.named_models import MINI_NAME, shipped_folder


def main() -> None:
    """Run the stages that were asked for."""
    parser = argparse.ArgumentParser(
        description="Rebuild pixelis-mini.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("runs/pixelis-mini"), help="the model's folder")
    parser.add_argument("--work", type=Path, default=Path("runs/pretrain-mini"), help="folder of the tokens")
    stages = ("all", "play", "encode", "train", "web", "topics", "habits")
    parser.add_argument("--stage", choices=stages, default="all")
    parser.add_argument("--start", type=Path, default=shipped_folder(MINI_NAME), help="of --stage habits")
    parser.add_argument("--processes", type=int, default=2, help="processes that play")
    parser.add_argument("--web", type=int, default=20_000, help="episodes of WebBrowse")
    parser.add_argument("--code", type=int, default=32_000, help="episodes of CodeProblem")
    parser.add_argument("--tweet", type=int, default=90_000, help="episodes of TweetReply")
    parser.add_argument("--minutes", type=float, default=5.0, help="of training, on the device there is")
    arguments = parser.parse_args()
    if arguments.stage in ("all", "play"):
        counts = {kind: getattr(arguments, kind) for kind in collect.KINDS}
        collect.play(arguments.work, counts, arguments.processes)
    if arguments.stage in ("all", "encode"):
        collect.encode(arguments.work)
    if arguments.stage in ("all", "train"):
        settings = train.TrainSettings(minutes=arguments.minutes)
        train.train(arguments.work, arguments.work / "trained", settings, partial(print, flush=True))
    pages = arguments.work / "pages"
    if arguments.stage in ("all", "web"):
        teach_web(
            arguments.work / "trained", arguments.work, pages, WebSettings(), partial(print, flush=True)
        )
    if arguments.stage == "habits":
        teach_web(arguments.start, arguments.work, arguments.output, HABITS, partial(print, flush=True))
    if arguments.stage in ("all", "topics"):
        salad = Salad(collect.tweet_topics(wide=True))
        teach_topics(pages, arguments.work, arguments.output, salad, TopicSettings())


if __name__ == "__main__":
    main()
