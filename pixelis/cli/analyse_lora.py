"""``scripts/analyse_lora.py``: what adapters have learnt, layer by layer and side by side."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelis.agents.settings.base import Settings, setting
from pixelis.cli import run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console
from pixelis.errors import ConfigError, MissingDependencyError

if TYPE_CHECKING:
    from rich.table import Table

    from pixelis.agents.publish.lora_analysis import LayerReport, LayerUpdate

PROGRAM = "analyse_lora.py"
DESCRIPTION = """\
Measure the update ΔW = (alpha / r) B A of every layer of one or more LoRA adapters: Frobenius norm, the same
relative to the weight, effective rank, stable rank, and the cosine to the first adapter's update.
Give run folders (their newest checkpoint is read) or adapter folders: analyse_lora.py RUN_OR_ADAPTER..."""
EXAMPLES = """\
examples:
  analyse_lora.py runs/sft
  analyse_lora.py runs/sft/adapter runs/grpo --output compared"""

_MEASURES = {
    "norm": "‖ΔW‖",
    "relative_norm": "‖ΔW‖ / ‖W‖",
    "effective_rank": "effective rank",
    "stable_rank": "stable rank",
}


class AnalyseSettings(Settings):
    """The flags of ``analyse_lora.py``."""

    device: str = setting("cpu", "auto, cpu, cuda or cuda:N")
    output: str = setting("lora", "folder for layers.json, layers.csv and layers.png")
    plot: bool = setting(True, "draw layers.png, which needs matplotlib")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_analyse, words)


def _analyse(words: Sequence[str]) -> int:
    places = _leading(words)
    settings = Arguments(PROGRAM, DESCRIPTION, AnalyseSettings, EXAMPLES).read(words[len(places) :])
    if not places:
        raise ConfigError("give at least one run or adapter folder before the flags; see --help")
    if settings.plot:
        _require_matplotlib()

    from pixelis.agents.publish.lora_analysis import compare
    from pixelis.files import write_atomically, writing

    reports = compare({name: _updates(name, settings.device) for name in dict.fromkeys(places)})
    folder = Path(settings.output)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        plain = {name: [asdict(layer) for layer in layers] for name, layers in reports.items()}
        write_atomically(folder / "layers.json", json.dumps(plain, indent=1, allow_nan=False) + "\n")
        write_atomically(folder / "layers.csv", csv_of(reports))
        if settings.plot:
            draw(reports, folder / "layers.png")
    console = open_console()
    console.print(table_of(reports))
    console.print(f"saved in {folder}", soft_wrap=True)
    return 0


def csv_of(reports: Mapping[str, Sequence[LayerReport]]) -> str:
    """Return one line for each adapter and layer, with a head line; a missing cosine is empty."""
    from pixelis.agents.publish.lora_analysis import LayerReport

    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    columns = [item.name for item in fields(LayerReport)]
    rows.writerow(["adapter", *columns])
    for name, layers in reports.items():
        rows.writerows([name, *(getattr(layer, column) for column in columns)] for layer in layers)
    return text.getvalue()


def table_of(reports: Mapping[str, Sequence[LayerReport]]) -> Table:
    """Return the layers as lines, with the adapters' relative norms and effective ranks side by side."""
    from rich.table import Table

    table = Table()
    table.add_column("layer", overflow="fold")
    for number in range(1, len(reports) + 1):
        for head in ("‖ΔW‖/‖W‖", "rank"):
            table.add_column(
                f"{head} ({number})" if len(reports) > 1 else head, justify="right", no_wrap=True
            )
    by_name = [{layer.name: layer for layer in layers} for layers in reports.values()]
    names = list(dict.fromkeys(name for layers in by_name for name in layers))
    for name, short in zip(names, short_names(names), strict=True):
        cells = [cell for layers in by_name for cell in _cells(layers.get(name))]
        table.add_row(short, *cells)
    listed = ", ".join(f"({number}) {name}" for number, name in enumerate(reports, start=1))
    table.caption = "rank: effective rank" + (f"; {listed}" if len(reports) > 1 else "")
    return table


def short_names(names: Sequence[str]) -> list[str]:
    """Return dotted names without the parts that all of them begin with."""
    parts = [name.split(".") for name in names]
    same = 0
    while all(len(part) > same + 1 and part[same] == parts[0][same] for part in parts):
        same += 1
    return [".".join(part[same:]) for part in parts]


def draw(reports: Mapping[str, Sequence[LayerReport]], path: Path) -> None:
    """Draw each measure against the layer, one line an adapter.

    Raises:
        MissingDependencyError: there is no matplotlib.
    """
    _require_matplotlib()
    from matplotlib.figure import Figure

    from pixelis.files import write_atomically

    names = list(dict.fromkeys(layer.name for layers in reports.values() for layer in layers))
    figure = Figure(figsize=(max(7.0, 0.16 * len(names)), 9.0), dpi=120, layout="constrained")
    panels = figure.subplots(len(_MEASURES), 1, sharex=True)
    for axes, (measure, title) in zip(panels, _MEASURES.items(), strict=True):
        for name, layers in reports.items():
            places = [names.index(layer.name) for layer in layers]
            axes.plot(places, [getattr(layer, measure) for layer in layers], "o-", ms=3, lw=1, label=name)
        axes.set_ylabel(title)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
    panels[0].legend(fontsize=8)
    panels[-1].set_xticks(range(len(names)), short_names(names), rotation=90, fontsize=6)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_atomically(path, picture.getvalue())


def _leading(words: Sequence[str]) -> list[str]:
    """Return the words before the first flag."""
    places: list[str] = []
    for word in words:
        if word.startswith("-"):
            break
        places.append(word)
    return places


def _updates(place: str, device: str) -> list[LayerUpdate]:
    from pixelis.agents.models.policy import Policy
    from pixelis.agents.publish.lora_analysis import layer_updates

    return layer_updates(Policy.load(_adapter(place), device=device))


def _adapter(place: str) -> Path:
    """Return the adapter folder of a run's newest checkpoint, of a checkpoint, or the folder itself.

    Raises:
        ConfigError: there is none.
    """
    from pixelis.agents.run_files.saved_run import weights_of

    path = weights_of(place) or Path(place)
    found = next(
        (each for each in (path, path / "adapter") if (each / "adapter_config.json").is_file()), None
    )
    if found is not None:
        return found
    if (path / "config.json").is_file():
        raise ConfigError(f"{place!r} holds whole weights and no adapter: there is no update to analyse")
    raise ConfigError(
        f"{place!r} is neither a run nor an adapter folder (no config.yaml, no adapter_config.json)"
    )


def _cells(layer: Any) -> list[str]:
    if layer is None:
        return ["–"] * 2
    return [f"{layer.relative_norm:.4f}", f"{layer.effective_rank:.2f}"]


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "the plot needs matplotlib: pip install 'pixelis[plot]', or give --no-plot"
        ) from error
