"""Which metrics stand together in a chart, and which charts on a tab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Chart:
    """A chart of a tab.

    Attributes:
        title: above it.
        metrics: their names, ``*`` for any part between two ``/``, ``**`` for any rest.
        stacked: whether the metrics are parts of a sum, and lie on one another; then each run has its own.
        without: names that are left out though they match.
    """

    title: str
    metrics: tuple[str, ...]
    stacked: bool = False
    without: tuple[str, ...] = ()


TABS: dict[str, tuple[Chart, ...]] = {
    "Reward": (
        Chart("Paid by component (weighted)", ("reward_parts/*/weighted",), stacked=True),
        Chart("Terms of the environment, paid or measured", ("reward_terms/*",)),
        Chart("Reward of an episode", ("reward/mean",)),
        Chart("Its deviation, in the step and inside a group", ("reward/std", "groups/reward_std")),
        Chart("Components, raw", ("reward_parts/*/raw",)),
        Chart("Components, normalised", ("reward_parts/*/normalised",)),
        Chart("Weights", ("rewards/*/weight",)),
        Chart("Shaping held back", ("rewards/held", "rewards/stage")),
        Chart("Curiosity", ("rewards/curiosity/**",)),
        Chart("Watched, not paid", ("watch/*",), without=("watch/alarm",)),
    ),
    "Tools": (
        Chart("Actions", ("actions/*",), stacked=True, without=("actions/entropy",)),
        Chart("Entropy of the actions", ("actions/entropy",)),
        Chart("Calls in the step", ("tools/*/calls",)),
        Chart("Of these, refused or failed", ("tools/*/failures",)),
        Chart(
            "What the truth says of results", ("tools/*/*",), without=("tools/*/calls", "tools/*/failures")
        ),
        Chart("Calls of an episode", ("tools/per_episode",)),
        Chart("New and successful calls", ("exploration/efficiency",)),
        Chart("Repeats", ("loops/calls", "loops/episodes")),
        Chart("Looks at pixels", ("visual/episodes", "visual/calls")),
        Chart("Turns", ("turns/mean", "turns/p10", "turns/p90")),
        Chart("Turns cut off", ("turns/cut",)),
        Chart("Tokens of an episode", ("completion/mean", "completion/p10", "completion/p90")),
        Chart("Diversity of a group's answers", ("diversity/*",)),
    ),
    "Groups": (
        Chart("Groups without signal", ("groups/filter_rate", "levels/zero_variance")),
        Chart("All right, all wrong", ("groups/all_right", "groups/all_wrong")),
        Chart("Reward spread inside a group", ("groups/reward_std",)),
        Chart("Size of the advantages", ("advantage/mean_size", "advantage/max_size")),
        Chart(
            "Episodes",
            (
                "episodes/trained",
                "episodes/masked",
                "episodes/filtered",
                "episodes/invalid",
                "episodes/truncated",
            ),
        ),
        Chart("Gradient noise scale", ("policy/noise_scale",)),
    ),
    "Health": (
        Chart("Entropy", ("policy/entropy", "train/entropy")),
        Chart("KL", ("policy/kl_reference", "policy/kl_sampler", "train/approx_kl")),
        Chart("Size of the steps", ("policy/step_kl", "policy/step_kl_target", "policy/step_kl_rounding")),
        Chart("Mismatch of sampler and trainer", ("policy/mismatch",)),
        Chart("Clipped", ("policy/clip_low", "policy/clip_high", "policy/corrected", "train/clip_fraction")),
        Chart("Gradient norm", ("policy/grad_norm", "train/grad_norm")),
        Chart("Learning rate", ("policy/lr", "train/lr", "train/learning_rate")),
        Chart("Effective share of the samples", ("policy/effective_tokens", "policy/effective_sequences")),
        Chart("Loss", ("policy/loss", "train/loss", "held_out/loss")),
        Chart("Value", ("value/loss", "value/explained_variance", "train/value_loss")),
        Chart("Taken back, skipped", ("policy/steps_taken_back", "policy/skipped_updates")),
        Chart("Failures", ("episodes/failed_share", "rollout/timeouts", "rollout/forks")),
        Chart(
            "Seconds of a step",
            ("time/generation", "time/env", "time/rewards", "time/reference", "time/update"),
            stacked=True,
        ),
        Chart("Tokens a second", ("time/tokens_per_second",)),
        Chart("Memory (MiB)", ("system/memory", "system/device_memory", "system/device_memory_held")),
        Chart("Cores that the run keeps busy", ("system/cores",)),
        Chart("Use of the machine", ("system/machine_cpu", "system/machine_memory", "system/device_use")),
    ),
    "Levels": (
        Chart("Stages", ("rewards/stage", "curriculum/stage")),
        Chart("The buffer", ("levels/buffer", "levels/kept")),
        Chart("Score of what is in it", ("levels/buffer_score",)),
        Chart("Estimated success over all levels", ("levels/mean_success",)),
        Chart("Expected success of a draw", ("levels/expected_success", "levels/in_band")),
        Chart("Draws", ("levels/replayed", "levels/scored_only", "levels/edits", "levels/edits_dropped")),
        Chart("Held out, by level", ("held_out/accuracy/*", "held_out/loss/*")),
    ),
}
"""Tab → its charts. A chart none of whose metrics a run has is not shown."""

FIRST_CURVES = (
    "success/rate",
    "reward/mean",
    "evaluation/success",
    "policy/entropy",
    "completion/mean",
    "turns/mean",
    "train/loss",
    "held_out/accuracy",
    "expert/kept",
)
"""What the tab of free curves begins with, as far as a run has it."""

ALARMS = re.compile(r"(.*[/_])?(alarm|alert)")
"""Metrics that are not 0 while something is wrong."""


def chosen(chart: Chart, names: Iterable[str]) -> list[str]:
    """Return the metrics of a chart among those that there are, in the chart's order."""
    names = [name for name in names if not any(_pattern(each).fullmatch(name) for each in chart.without)]
    found = [name for pattern in chart.metrics for name in names if _pattern(pattern).fullmatch(name)]
    return list(dict.fromkeys(found))


def alarms(names: Iterable[str]) -> list[str]:
    """Return the metrics that are alarms."""
    return [name for name in names if ALARMS.fullmatch(name)]


def level_kinds(names: Sequence[str]) -> list[str]:
    """Return the kinds of levels that have a success of their own, such as ``difficulty=1``, in order."""
    found = [match[1] for name in names if (match := re.fullmatch(r"levels/(.+)/success", name))]
    return sorted(found, key=_by_number)


def _by_number(kind: str) -> list[tuple[int, float, str]]:
    parts = re.split(r"(\d+(?:\.\d+)?)", kind)
    return [(0, float(part), "") if place % 2 else (1, 0.0, part) for place, part in enumerate(parts)]


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    text = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", "[^/]+")
    return re.compile(text)
