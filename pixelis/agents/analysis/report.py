"""An analysis as one HTML file, with examples side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.agents.analysis.analysis import Analysis
from pixelis.agents.analysis.tables import joined, subject_rows
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.viewing.page import diff_pairs, render
from pixelis.agents.viewing.pictures import Pictures, Stage
from pixelis.agents.viewing.sheet import sheet_of
from pixelis.pictures import data_url


def report_page(
    analysis: Analysis, title: str, *, picture: bytes | None, stages: Mapping[str, Stage], examples: int
) -> str:
    """Return the report.

    Args:
        analysis: what was found.
        title: of the page.
        picture: PNG of `pixelis.agents.analysis.plot.draw`, None for none.
        stages: run → where its episodes are played again for their pictures; a run without one has none.
        examples: most pairs of a failure and a success on the same task.
    """
    address = None if picture is None else data_url(picture)
    return render(
        "report.html",
        title=title,
        analysis=analysis,
        rows=_table([_with_interval(row) for row in subject_rows(analysis)]),
        picture=address,
        examples=_examples(analysis, stages, examples),
        joined=joined,
    )


# ---------------------------------------------------------------------- private


def _with_interval(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in which success stands with its interval, and without failures where there are none."""
    rate, low, high = row["success"], row["success low"], row["success high"]
    told = "–" if rate is None else f"{rate:.3f} ({low:.3f}–{high:.3f})"
    left_out = {
        "success low",
        "success high",
        *(() if row["infrastructure failed"] else ("infrastructure failed",)),
    }
    return {name: value for name, value in row.items() if name not in left_out} | {"success": told}


def _table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return names of columns in which something is known, and the rows."""
    known = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in known if any(row.get(name) is not None for row in rows)]
    return {"names": names, "rows": rows}


def _examples(analysis: Analysis, stages: Mapping[str, Stage], most: int) -> list[dict[str, Any]]:
    runs = {report.subject.name: report.subject.run for report in analysis.reports}
    found = []
    for name, lost in analysis.examples(most):
        failed, succeeded = lost.examples[0]
        stage = stages.get(runs[name])
        sheets = [
            sheet_of(episode, _pictures(stage, episode), f"{word} · seed {episode.seed}")
            for word, episode in (("failed", failed), ("succeeded", succeeded))
        ]
        found.append({"subject": name, "lost": lost, "sheets": sheets, "pairs": diff_pairs(*sheets)})
    return found


def _pictures(stage: Stage | None, episode: StoredEpisode) -> Pictures:
    return Pictures() if stage is None else stage.pictures(episode)
