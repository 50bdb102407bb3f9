"""Whether a reward still tells the replies of a group apart. Only that difference teaches a policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.envs.tweet.reward.settings import TweetScore


def group_spread(groups: Sequence[Sequence[TweetScore]]) -> dict[str, float]:
    """Return how much scores differ within their groups.

    ``constant_groups`` is the share in [0, 1] of groups whose totals are all equal, ``total_std`` the mean
    over groups of their population standard deviation, ``<part>_std`` the same of each part, ``gated`` the
    share of replies that a gate stopped. Groups of fewer than two replies are left out, and without any other
    there is nothing to report: {}.
    """
    kept = [group for group in groups if len(group) > 1]
    if not kept:
        return {}
    totals = [np.std([score.total for score in group]) for group in kept]
    parts = {
        f"{name}_std": float(np.mean([np.std([score.parts[name] for score in group]) for group in kept]))
        for name in kept[0][0].parts
    }
    gated = np.mean([bool(score.gates) for group in kept for score in group])
    constant = np.mean([std < 1e-9 for std in totals])
    return {
        "constant_groups": float(constant),
        "total_std": float(np.mean(totals)),
        "gated": float(gated),
        **parts,
    }
