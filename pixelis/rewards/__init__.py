"""Reward terms: pure functions of what happened, with no import of an environment or of Gymnasium."""
