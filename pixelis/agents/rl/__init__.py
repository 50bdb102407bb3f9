"""Group relative policy optimisation (GRPO) for episodes of tool use.

The loss is separate choices, each a pure function registered by name in a file of its own: `advantages`,
`ratio`, `surrogate`, `kl`, `aggregation` and, for samples of another policy, `correction`. `loss` composes
them, ``docs/guide/new_loss.md`` shows how to add one; `trainer` plays, scores and updates.
"""
