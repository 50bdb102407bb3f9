"""Scores that training is never paid by, and an alarm when they part from the reward."""
