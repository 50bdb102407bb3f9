"""Train a vision-language model on all pixel environments: ``scripts/pretrain_mini_vl.py --output my-model``.

Processes paint scenes and play them while the model learns from what they have written so far. None ships:
``docs/reference/pixelis_mini_vl.md`` says what was tried, and what came of it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import cast

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from pixelis_mini_vl import collect, corpus
from pixelis_mini_vl.architecture import MINI
from pixelis_mini_vl.patches import PatchHeads
from pixelis_mini_vl.rows import KINDS
from pixelis_mini_vl.tokenizer import build_tokenizer
from pixelis_mini_vl.train import Pool, TrainSettings, train
from pixelis_tiny.architecture import build_model, build_processor
from transformers import AutoProcessor, LlavaForConditionalGeneration, LlavaProcessor


def main() -> None:
    """Make the tokenizer, if there is none, then write shards and learn from them."""
    parser = argparse.ArgumentParser(
        description="Train a vision-language model on all pixel environments.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--output", type=Path, default=Path("runs/pixelis-mini-vl"), help="folder of the model"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("runs/pretrain-mini-vl"), help="folder of the shards"
    )
    parser.add_argument("--processor", type=Path, help="a folder with the tokenizer and processor to use")
    parser.add_argument("--start", type=Path, help="a model to go on with, instead of random weights")
    parser.add_argument(
        "--fresh-vision", action="store_true", help="of that model take the language model alone"
    )
    parser.add_argument("--minutes", type=float, default=9.0, help="of training")
    parser.add_argument("--collect-minutes", type=float, help="of playing; by default as long as training")
    parser.add_argument(
        "--processes", type=int, default=2, help="that play; 0: learn from the shards that are there"
    )
    parser.add_argument("--learning-rate", type=float, default=TrainSettings.learning_rate)
    parser.add_argument("--batch-tokens", type=int, default=TrainSettings.batch_tokens)
    parser.add_argument("--report-every", type=int, default=TrainSettings.report_every, help="steps")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    shards, processor = arguments.work / "shards", arguments.processor or arguments.work / "processor"
    if not processor.exists():
        build_processor(build_tokenizer(corpus.corpus(arguments.seed))).save_pretrained(processor)
    seconds = 60 * arguments.minutes
    collecting = seconds if arguments.collect_minutes is None else 60 * arguments.collect_minutes
    workers = collect.start(shards, processor, arguments.processes, collecting, 1000 + 100 * arguments.seed)
    loaded: LlavaProcessor = AutoProcessor.from_pretrained(processor)
    if arguments.start:
        model = LlavaForConditionalGeneration.from_pretrained(arguments.start, dtype=torch.float32)
        if arguments.fresh_vision:
            fresh = build_model(loaded.tokenizer, arguments.seed, MINI)
            model.model.vision_tower.load_state_dict(fresh.model.vision_tower.state_dict())
            model.model.multi_modal_projector.load_state_dict(fresh.model.multi_modal_projector.state_dict())
    else:
        model = build_model(loaded.tokenizer, arguments.seed, MINI)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {device}", flush=True)
    settings = TrainSettings(
        seconds,
        arguments.learning_rate,
        batch_tokens=arguments.batch_tokens,
        seed=arguments.seed,
        report_every=arguments.report_every,
    )
    pool = Pool(shards, device, settings.most_images)
    heads = PatchHeads(loaded.tokenizer, cast(torch.nn.Embedding, model.get_input_embeddings()).embedding_dim)
    train(
        model,
        heads,
        pool,
        settings,
        loaded.tokenizer.pad_token_id,
        model.config.image_token_index,
        KINDS,
        _say,
    )
    for worker in workers:
        worker.terminate()
    torch.nn.Module.to(model, "cpu", torch.bfloat16)
    model.save_pretrained(arguments.output)
    loaded.save_pretrained(arguments.output)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
