"""The card of a trained model: every number in it is read from the run's files."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pixelis.agents.episodes.task_env import NO_SPLIT
from pixelis.agents.models.loading import find_folder
from pixelis.agents.models.named_models import NAMED_MODELS
from pixelis.agents.publish.run_kinds import RunKind, kind_of
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.evaluate import Evaluation, success_text
from pixelis.agents.runs.evaluation_file import read_evaluations
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.settings.base import changed
from pixelis.agents.settings.run_settings import RunSettings
from pixelis.errors import ModelLoadError

NOT_MEASURED = "not measured"
_LEFT_OUT = ("output", "device")  # places of one machine


@dataclass(frozen=True)
class CardFacts:
    """What a card tells.

    Attributes:
        name: title of the card.
        base_model: hub id of the base model, or the name of its folder.
        licence: of the base model as its own card says, or None.
        kind: what kind of run it was.
        config: its settings.
        step: the training step of the weights.
        seconds: training time up to it.
        episodes: how many were played in training up to it; None if the metrics are not complete.
        tokens: how many tokens were sampled in them; likewise.
        evaluations: phase → rows, of the run's ``evaluation.json``.
        sees_images: whether the model has vision.
        model_class: name of its transformers class.
        adapter_only: whether the folder holds the adapter and not the whole model.
    """

    name: str
    base_model: str
    licence: str | None
    kind: RunKind
    config: RunSettings
    step: int
    seconds: float | None
    episodes: int | None
    tokens: int | None
    evaluations: Mapping[str, Sequence[Evaluation]]
    sees_images: bool
    model_class: str
    adapter_only: bool


def read_facts(
    run: RunFolder, settings: Mapping[str, Any], progress: Mapping[str, Any], base: str, **model: Any
) -> CardFacts:
    """Read a card's facts from a run.

    Args:
        run: its folder.
        settings: its settings.
        progress: ``step`` and, if known, ``elapsed_seconds``, as in a checkpoint's ``progress.json``.
        base: what the base model was loaded from.
        **model: ``sees_images``, ``model_class`` and ``adapter_only`` of `CardFacts`.

    Raises:
        CheckpointError, ConfigError: a file of the run is damaged.
    """
    kind = kind_of(settings)
    step, seconds = int(progress["step"]), progress.get("elapsed_seconds")
    rows = [row for row in read_metrics(run.metrics) if row["step"] <= step]
    whole = [row["step"] for row in rows] == list(range(1, step + 1))
    return CardFacts(
        name=run.path.resolve().name,
        base_model=shown_model(base),
        licence=licence_of(base),
        kind=kind,
        config=kind.settings.from_mapping(settings),
        step=step,
        seconds=float(seconds) if seconds is not None else None,
        episodes=_total(rows, "episodes/count") if whole else None,
        tokens=_total(rows, "tokens/sampled") if whole else None,
        evaluations=read_evaluations(run.evaluation),
        **model,
    )


def shown_model(source: str) -> str:
    """Return a hub id as it is and a folder's name without the folders it lies in."""
    return Path(source).name if Path(source).is_absolute() or Path(source).is_dir() else source


def licence_of(source: str) -> str | None:
    """Return the licence that a base model's own card (a local file) declares, or None."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        folder = find_folder(source)
        found = folder / "README.md" if folder is not None else try_to_load_from_cache(source, "README.md")
    except (ModelLoadError, HFValidationError):
        return None
    if not isinstance(found, (str, Path)) or not Path(found).is_file():
        return None
    _, mark, rest = Path(found).read_text(encoding="utf-8").partition("---\n")
    try:
        header = yaml.safe_load(rest.partition("\n---")[0]) if mark else None
    except yaml.YAMLError:
        return None
    licence = header.get("license") if isinstance(header, dict) else None
    return licence if isinstance(licence, str) else None


def training_command(config: RunSettings, script: str = "train_agent.py") -> str:
    """Return the command that starts the same training: the env, the model and what is not a default."""
    words: list[str] = []
    told = {("env",): config.env, ("model",): shown_model(config.model), **dict(changed(config))}
    told[("model",)] = shown_model(config.model)
    for (first, *rest), value in told.items():
        name = ".".join((first.replace("_", "-"), *rest))
        if isinstance(value, bool) and not rest:
            words.append(f"--{name}" if value else f"--no-{name}")
        elif first not in _LEFT_OUT:
            words += [f"--{name}", value if isinstance(value, str) else json.dumps(value)]
    return shlex.join(["python", f"scripts/{script}", *words])


def model_card(facts: CardFacts) -> str:
    """Return the card as Markdown with a YAML header."""
    return "\n".join(
        [_header(facts), _intro(facts), _use(facts), _training(facts), _evaluation(facts), _end(facts)]
    )


def _header(facts: CardFacts) -> str:
    values = {
        "base_model": facts.base_model,
        "base_model_relation": "adapter" if facts.adapter_only else "finetune",
        "library_name": "peft" if facts.adapter_only else "transformers",
        "license": facts.licence or "unknown",
        "pipeline_tag": "image-text-to-text" if facts.sees_images else "text-generation",
        "tags": [*facts.kind.tags, *(["lora"] if facts.config.train == "lora" else []), "pixelis"],
    }
    return f"---\n{yaml.safe_dump(values, sort_keys=False)}---\n"


def _intro(facts: CardFacts) -> str:
    what = "A LoRA adapter for" if facts.adapter_only else "The weights of"
    merged = ", a LoRA adapter merged into them" if facts.config.train == "lora" else ""
    config: Any = facts.config
    data = getattr(config, "data", None)
    place = f" in the environment `{config.env}`" if config.env else ""
    place += f" (`{Path(data).name}`)" if data else ""
    intro = (
        f"# {facts.name}\n\n{what} `{facts.base_model}`{'' if facts.adapter_only else merged}, "
        f"{facts.kind.method}{place} by Pixelis.\n"
    )
    if not config.system_prompt:
        return intro
    return f"{intro}\nEvery conversation began with this system message:\n\n{_quoted(config.system_prompt)}\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _use(facts: CardFacts) -> str:
    auto = "AutoModelForImageTextToText" if facts.sees_images else "AutoModelForCausalLM"
    reader = "AutoProcessor" if facts.sees_images else "AutoTokenizer"
    lines = [f"from transformers import {auto}, {reader}", ""]
    if facts.adapter_only and facts.base_model in NAMED_MODELS:  # no hub has it: it comes with the package
        lines = ["from pixelis.agents import Policy", "", 'policy = Policy.load("path/to/this/folder")']
        lines.append("model, processor = policy.model, policy.processor  # of peft and of transformers")
    elif facts.adapter_only:
        lines.insert(0, "from peft import PeftModel")
        lines.append(f'base = {auto}.from_pretrained("{facts.base_model}")')
        lines.append('model = PeftModel.from_pretrained(base, "path/to/this/folder")')
        lines.append(f'processor = {reader}.from_pretrained("{facts.base_model}")')
    else:
        lines.append(f'model = {auto}.from_pretrained("path/to/this/folder")')
        lines.append(f'processor = {reader}.from_pretrained("path/to/this/folder")')
    return "\n".join(["## Use", "", "```python", *lines, "```", ""])


def _training(facts: CardFacts) -> str:
    config = facts.config
    minutes = f"{facts.seconds / 60:.1f} minutes" if facts.seconds is not None else NOT_MEASURED
    settings = {**config.to_mapping(), "model": shown_model(config.model)}
    kept = {name: value for name, value in settings.items() if name not in _LEFT_OUT}
    rows = {
        "model class": f"`{facts.model_class}`",
        "environment": f"`{config.env}`" if config.env else "none",
        "steps": f"{facts.step:,}",
        "episodes": f"{facts.episodes:,}" if facts.episodes is not None else NOT_MEASURED,
        "sampled tokens": f"{facts.tokens:,}" if facts.tokens is not None else NOT_MEASURED,
        "training time": minutes,
        "trained": _trained(config),
        "seed": str(config.seed),
    }
    table = [f"| {name} | {value} |" for name, value in rows.items()]
    lines = [
        "## Training",
        "",
        "| | |",
        "|---|---|",
        *table,
        "",
        "```",
        training_command(config, facts.kind.script),
    ]
    lines += ["```", ""]
    return "\n".join(
        [*lines, "All settings:", "", "```yaml", yaml.safe_dump(kept, sort_keys=False) + "```", ""]
    )


def _trained(config: RunSettings) -> str:
    if config.train == "full":
        return "all weights of the language part"
    return f"LoRA adapter, rank {config.adapter.rank}, alpha {config.adapter.alpha}"


def _evaluation(facts: CardFacts) -> str:
    rows = [
        (_who(phase, row, facts.step), row)
        for phase in ("before", "after", "baselines")
        for row in facts.evaluations.get(phase, ())
    ]
    shown = [(who, row) for who, row in rows if who is not None]
    lines = ["## Evaluation", ""]
    if not any(who == "this model" for who, _ in shown):
        lines += [f"This model, step {facts.step:,}: {NOT_MEASURED}.", ""]
    if shown:
        lines += [f"{_tasks_of([row for _, row in shown])}; in brackets Wilson's 95 % interval.", ""]
        lines += ["| who | mode | episodes | success | reward | turns |", "|---|---|---|---|---|---|"]
        lines += [_cells(who, row) for who, row in shown]
        lines.append("")
    return "\n".join(lines)


def _tasks_of(rows: Sequence[Evaluation]) -> str:
    """Return what the tasks of an evaluation are called; runs of earlier versions did not write it down."""
    named = sorted({row.tasks for row in rows if row.tasks is not None})
    text = " and ".join(named) or "tasks of the evaluation"
    if NO_SPLIT in named:
        text += ": the environment holds no tasks out, these are of training's distribution with other seeds"
    return text[0].upper() + text[1:]


def _who(phase: str, row: Evaluation, step: int) -> str | None:
    """Return whose numbers a row holds, or None where they are of weights that are not in the folder."""
    if phase == "baselines":
        return f"scripted player `{row.agent}`"
    if row.step is not None and row.step == step:
        return "this model"
    if row.step == 0 or (row.step is None and phase == "before"):
        return "before training"
    return "after training (which step was not recorded)" if row.step is None else None


def _cells(who: str, row: Evaluation) -> str:
    planned = f" of {row.planned}" if row.is_partial else ""
    counted = f"{row.episodes}{planned}" + (f" (and {row.failed} failed)" if row.failed else "")
    numbers = [_number(row.mean_reward), _number(row.mean_turns, 2)]
    cells = [who, row.mode, counted, success_text(row), *numbers]
    return f"| {' | '.join(cells)} |"


def _end(facts: CardFacts) -> str:
    licence = (
        f"The base model's card declares `{facts.licence}`."
        if facts.licence
        else "The base model's files name no licence: look it up before you publish these weights."
    )
    limits = "Trained and measured on the tasks above and on nothing else."
    return f"## Limits\n\n{limits}\n\n## Licence\n\n{licence}\n"


def _number(value: float, digits: int = 3) -> str:
    return NOT_MEASURED if math.isnan(value) else f"{value:.{digits}f}"


def _total(rows: Sequence[Mapping[str, Any]], name: str) -> int | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return sum(map(int, values)) if len(values) == len(rows) else None
