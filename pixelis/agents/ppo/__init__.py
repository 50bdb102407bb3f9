"""Proximal policy optimisation with a value head: what GRPO is compared with.

Rollout, policy loss, checkpoints and metrics are GRPO's; only the advantages come from elsewhere.
"""
