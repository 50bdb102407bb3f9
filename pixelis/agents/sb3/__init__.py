"""Agents without a language model: stable-baselines3's PPO and DQN, and GRPO for the same small network.

They see pixel environments through ``pixelis.wrappers.DiscreteToolActions``; everything else (run folder,
metrics, evaluation, checkpoints) is that of the other trainers. Needs the extra ``sb3``.
"""
