"""How ``lr: auto`` finds the learning rate of GRPO and PPO."""

from __future__ import annotations

from pixelis.agents.settings.base import Section, setting


class StepSize(Section):
    """What steers the learning rate where lr is auto."""

    target: float = setting(0.01, "KL of policy before to after an update, in nats a token, aimed at", gt=0)
    entropy_share: float | None = setting(
        0.04, "and at most this share of the policy's entropy; null: whatever that is", gt=0
    )
    start: float | None = setting(None, "learning rate to begin with; null: by the model's size", gt=0)
    lowest: float = setting(0.01, "the rate never falls below this many times its start", gt=0, le=1)
    highest: float = setting(10.0, "the rate never rises above this many times its start", ge=1)
    take_back: float | None = setting(
        4.0, "an update of more than this many targets is taken back; null: never", gt=1
    )
    retries: int = setting(2, "how often one taken back is done again, smaller, before it is left out", ge=0)
    share: float = setting(
        0.15, "what is read to measure the KL, as a share of what a gradient pass reads", gt=0, le=1
    )
