"""Agents: language-model policies with GRPO and SFT, scripted policies, rollouts and evaluation."""
