"""Group relative policy optimisation (GRPO) for episodes of tool use.

The algorithm is four separate choices, each a pure function registered by name in a file of its own:
`advantages`, `ratio`, `surrogate`, `kl` and `aggregation` are composed by `loss`; `trainer` plays, scores
and updates.
"""
