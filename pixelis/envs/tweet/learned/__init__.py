"""Rewards learnt from preferences: one to train on (alone or with the gates), one for evaluation only."""
